"""`compare --search`: inputs on which two models part, and the smallest of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset13 as ops
from irexec.cli.main import main

Build = Callable[[Any, bool], Any]


def of_nan(x: Any, other: bool) -> Any:
    return ops.select(ops.equal(x, x), np.float32(1), np.float32(1 + other))


def of_negative_zero(x: Any, other: bool) -> Any:
    return ops.divide(np.float32(1), ops.add(x, np.float32(0)) if other else x)


def of_top(x: Any, other: bool) -> Any:
    top = np.iinfo(x.element_type.dtype).max
    return ops.minimum(x, np.array(top - other, x.element_type.dtype))


def of_length_one(x: Any, other: bool) -> Any:
    count = ops.convert(ops.reduce_prod(ops.shape_of(x), np.int64([0]), keep_dims=True), "f32")
    return ops.divide(x, ops.maximum(count, np.float32(1 + other)))


def of_ties(x: Any, other: bool) -> Any:
    return ops.round(x, "half_away_from_zero" if other else "half_to_even")


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def save(build: Build, kind: str, shape: list[int]) -> None:
    for name, other in (("a", False), ("b", True)):
        x = ops.parameter(shape, kind, name="x")
        irexec.save_model(irexec.Model([build(x, other)], [x]), f"{name}.xml")


def searched(capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    code = main(["compare", "a.xml", "--with", "b.xml", "--search", "120", "--format", "json", *more])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("build", "kind", "shape"),
    [
        (of_nan, "f32", [3, 5]),
        (of_negative_zero, "f32", [7]),
        (of_top, "i32", [2, 3]),
        (of_top, "i64", [4]),
        (of_top, "i8", [9]),
        (of_length_one, "f32", [-1]),
        (of_ties, "f32", [6]),
    ],
)
def test_an_input_is_found_and_made_small(
    build: Build, kind: str, shape: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    save(build, kind, shape)
    code, found = searched(capsys)
    assert code == 1
    assert found["notes"][0].startswith("input ")
    assert " parts the runtimes; the smallest such input: x = [" in found["notes"][0]
    (array,) = np.load("search/0.npz").values()
    others = [bytes(v.tobytes()) for v in array.reshape(-1) if v.tobytes() != np.zeros((), array.dtype).tobytes()]
    assert len(others) == 1


def test_models_that_agree(capsys: pytest.CaptureFixture[str]) -> None:
    save(lambda x, other: ops.relu(x), "f32", [4])
    code, found = searched(capsys)
    assert (code, found["notes"][0]) == (0, "none of 120 inputs parts the runtimes")
    assert not Path("search").exists()


def test_inputs_that_are_given_stay(capsys: pytest.CaptureFixture[str]) -> None:
    save(of_nan, "f32", [2])
    assert searched(capsys, "--input", "x=[1, 2]")[0] == 0


def test_inputs_that_irexec_does_not_accept_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    save(lambda x, other: ops.gather_nd(np.float32([1, 2]), x, 0), "i32", [1])
    code, found = searched(capsys)
    assert code == 0
    assert "; irexec does not accept " in found["notes"][0]


@pytest.mark.parametrize("more", [["--inputs", "x"], ["--dump", "d"], ["--with", "c.xml"], ["-j", "2"]])
def test_options_that_exclude_a_search(more: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    save(of_nan, "f32", [2])
    assert main(["compare", "a.xml", "--with", "b.xml", "--search", "1", *more]) == 2
    assert "--search cannot be combined with" in capsys.readouterr().err
