"""Loops in scripts: what they build is the model, and they have the names and numbers of its layers."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.frontends.reading import read
from irexec.tools.script.script import save_script

ops: Any = irexec.opset13
SAMPLES = Path(__file__).parents[3] / "samples"


def blocks(count: int, first: int = 0, *, states: bool = False) -> irexec.Model:
    """Return a model of equal blocks, each of which reads an input of its own and returns a result."""
    draw = np.random.default_rng(0).standard_normal
    x = ops.parameter([1, 40], np.float32, name="x")
    caches = [ops.parameter([1, 40], np.float32, name=f"past.{n}") for n in range(count)]
    value, results, sinks = x, [], []
    for n, cache in enumerate(caches, first):
        name = f"block.{n}"
        product = ops.matmul(
            value, ops.constant(draw((40, 40)).astype(np.float32), name=f"{name}/weights"), False, False
        )
        kept = ops.add(product, cache, name=f"{name}/kept")
        if states:
            read = irexec.opset6.read_value(kept, f"state.{n}", irexec.Type.f32, [1, 40])
            sinks.append(irexec.opset6.assign(read, f"state.{n}"))
        value = ops.add(ops.multiply(kept, np.float32(n + 2)), value, name=f"{name}/sum")
        results.append(kept)
    return irexec.Model([value, *results], sinks, [x, *caches], "blocks")


def script_of(model: irexec.Model, folder: Path) -> str:
    irexec.save_model(model, folder / "model.xml")
    again = read(folder / "model.xml").model
    assert again is not None
    save_script(again, folder / "script.py")
    return (folder / "script.py").read_text("utf-8")


def differences(folder: Path, runtime: str) -> str:
    """Return what differs between the model and what its script builds in a runtime."""
    module: Any = importlib.import_module(runtime)
    text = (folder / "script.py").read_text("utf-8").replace("import openvino as ov", f"import {runtime} as ov")
    names: dict[str, Any] = {"__name__": "script", "__file__": str(folder / "script.py")}
    exec(compile(text, "script.py", "exec"), names)
    options = {} if runtime == "irexec" else {"compress_to_fp16": False}
    module.save_model(names["build"](), folder / "built.xml", **options)
    return str(irexec.diff(folder / "model.xml", folder / "built.xml"))


@pytest.mark.parametrize("runtime", ["irexec", "openvino"])
@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("first", [0, 3])
def test_equal_blocks_are_a_loop(first: int, states: bool, runtime: str, tmp_path: Path) -> None:
    pytest.importorskip(runtime)
    text = script_of(blocks(6, first, states=states), tmp_path)
    numbers = "range(5)" if first == 0 else f"range({first}, {first + 5})"
    assert f"    for i in {numbers}:\n" in text
    assert "name=f'block.{i}/kept')" in text and "name='block.2/kept'" not in text
    assert differences(tmp_path, runtime).startswith("no difference")


def test_a_loop_is_shorter_and_counts(tmp_path: Path) -> None:
    lines = script_of(blocks(24), tmp_path).splitlines()
    assert len(lines) < 100
    assert "        past.output(0).get_tensor().set_names({f'past.{i}'})" in lines
    assert any("constant(6400 * i, 6400, [40, 40], ov.Type.f32, f'block.{i}/weights')" in line for line in lines)
    assert any("all_past[i]" in line for line in lines)
    assert differences(tmp_path, "irexec").startswith("no difference")


def test_blocks_that_differ_are_no_loop(tmp_path: Path) -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    value = x
    for n, function in enumerate([ops.relu, ops.tanh, ops.sigmoid, ops.exp, ops.abs]):
        value = function(ops.add(value, np.float32(n), name=f"add.{n}"), name=f"layer.{n}")
    assert "for i in" not in script_of(irexec.Model([value], [x], "m"), tmp_path)
    assert differences(tmp_path, "irexec").startswith("no difference")


NAMES = {
    "braces": ["{0}", "{1}", "{2}", "{3}", "{4}"],
    "leading zeros": ["l01", "l02", "l03", "l04", "l05"],
    "downwards": ["l9", "l8", "l7", "l6", "l5"],
    "quotes": ["a'0", "a'1", "a'2", "a'3", "a'4"],
    "both quotes": ["'0\"", "'1\"", "'2\"", "'3\"", "'4\""],
    "backslashes": ["a\\0", "a\\1", "a\\2", "a\\3", "a\\4"],
    "others": ["one", "two", "three", "four", "five"],
    "the loop's own": ["i", "i_1", "i_2", "i_3", "i_4"],
    "attributes": ["axis1", "name2", "name3", "name4", "output5"],
    "large": [f"l{n}" for n in range(10**20, 10**20 + 5)],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names(names: list[str], tmp_path: Path) -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    value = x
    for n, name in enumerate(names):
        value = ops.relu(ops.add(ops.softmax(value, axis=1), np.float32(-n / 2)), name=name)
    script_of(irexec.Model([value, x], [x], "m"), tmp_path)
    assert differences(tmp_path, "irexec").startswith("no difference")


@pytest.mark.by_hand(0)
def test_a_language_model(tmp_path: Path) -> None:
    model = read(SAMPLES / "text_to_text" / "model" / "openvino_model.xml").model
    assert model is not None
    irexec.save_model(model, tmp_path / "model.xml")
    save_script(model, tmp_path / "script.py")
    assert differences(tmp_path, "irexec").startswith("no difference")


@pytest.mark.parametrize(("width", "is_loop"), [(8, True), (250, False)])
def test_names_that_do_not_count_are_listed_if_they_are_short(width: int, is_loop: bool, tmp_path: Path) -> None:
    x, draw = ops.parameter([1, 4], np.float32, name="x"), np.random.default_rng(0)
    value = x
    for n in range(8):
        names = ["".join(map(chr, draw.integers(97, 123, width))) for _ in range(2)]
        value = ops.relu(ops.softmax(ops.add(value, np.float32([[n]]), name=names[0]), axis=1), name=names[1])
    assert ("for i in range(" in script_of(irexec.Model([value], [x], "m"), tmp_path)) == is_loop
    assert differences(tmp_path, "irexec").startswith("no difference")
