"""Text to XML and back, and XML to text and back, give equal models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import grown
from support.amounts import amount
from support.graphs import RandomGraph, candidates
from support.text_trips import fault, saved

import irexec
from irexec.frontends.reading import read
from irexec.frontends.text.printer import print_text

ops: Any = irexec.opset15
SAMPLES = Path(__file__).parents[3] / "samples"
MODELS = [path for path in sorted(SAMPLES.rglob("*.xml")) if "<net" in path.read_text("utf-8")[:200]]


@pytest.mark.parametrize("file", MODELS, ids=lambda file: file.relative_to(SAMPLES).as_posix())
def test_samples(file: Path) -> None:
    assert fault(file) is None


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_random_graphs(dynamic: bool, tmp_path: Path) -> None:
    pool, wrong, file = candidates(), {}, tmp_path / "model.xml"
    for seed in range(amount(100, 30)):
        irexec.save_model(RandomGraph(pool, seed, dynamic=dynamic).model, file)
        if (found := fault(file)) is not None:
            wrong[seed] = found
    assert wrong == {}


GROWN = [
    grown.bodies, grown.chain, grown.constants, grown.extents, grown.fan_in, grown.fan_out, grown.metadata,
    grown.one_name, grown.parameters, grown.results, grown.skips, grown.states,
    grown.tensor_names, grown.unreachable,
]  # fmt: skip


@pytest.mark.parametrize("make", GROWN, ids=lambda make: make.__name__)
def test_nets_of_every_kind(make: Callable[[int], str], tmp_path: Path) -> None:
    file = tmp_path / "model.xml"
    file.write_text(make(6), "utf-8")
    assert fault(file, bytes(1 << 16)) is None


NAMES = [
    "", " ", "a b", "a.1", "1", "-1", "1.0", "a:0", "a,b", "a#b", "(x)", "[x]", "{x}", "x=1", "@0", "a->b", "->", "-",
    "_", "as", "model", "body", "in", "Constant", "seed", "hex", '"', "\\", 'a"b', "a\\", "\\n", "a\nb", "\t", "\u202e",
    "\u2028", "é", "日本", "🙂", "<a>", "&amp;", "a'b", "unnamed", "x~2", "y/result",
    "..", "?", "nan", "1e5", "a" * 5000,
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_hostile_names(name: str, tmp_path: Path) -> None:
    """As the name of an input, of a layer with two outputs, of a result, of a model, of a tensor and of metadata."""
    x = ops.parameter([2, 4], np.float32, name=name)
    parts = ops.split(x, ops.constant(np.int64(1)), 2)
    parts.set_friendly_name(f"{name}.1")
    relu = ops.relu(parts.output(0), name=name)
    store = ops.assign(ops.read_value(relu, name or "v", np.float32, [2, 2]), name or "v")
    model = irexec.Model([relu, parts.output(1)], [store], [x], name)
    model.results[0].set_friendly_name(name)
    for value in (x.output(0), parts.output(0), relu.output(0)):
        value.set_names({name, f"{name}2"} - {""} if not name.endswith("\\") else {f"{name}2"})
    model.set_rt_info(name, ["info", "key"])
    file = tmp_path / "model.xml"
    irexec.save_model(model, file)
    assert fault(file) is None


BYTES = [
    (kind, shape)
    for kind in ("boolean", "bf16", "f16", "f32", "f64", "i4", "i8", "i16", "i32", "i64", "u1", "u2", "u3", "u4", "u6",
                 "u8", "u16", "u32", "u64", "nf4", "f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1")
    for shape in ((), (3,), (2, 3), (4, 4), (0, 2))
]  # fmt: skip


@pytest.mark.parametrize(("kind", "shape"), BYTES, ids=[f"{kind}-{shape}" for kind, shape in BYTES])
def test_constants_of_every_type_keep_their_bits(kind: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    """Random bits: also NaNs with a payload, denormal numbers, negative zeros."""
    element_type = irexec.Type.by_name[kind]
    size = element_type.nbytes(int(np.prod(shape)))
    rng = np.random.default_rng(len(shape))
    for raw in (rng.bytes(size), bytes(size), b"\xff" * size, rng.bytes(size)):
        raw = bytes(byte & 1 for byte in raw) if kind == "boolean" else raw
        file = tmp_path / "model.xml"
        file.write_text(
            f'<net name="m" version="11"><layers><layer id="0" name="c" type="Const" version="opset1">'
            f'<data element_type="{kind}" shape="{",".join(map(str, shape))}" offset="0" size="{size}"/>'
            f'<output><port id="0" precision="{element_type.port_name}">'
            + "".join(f"<dim>{extent}</dim>" for extent in shape)
            + '</port></output></layer><layer id="1" name="r" type="Result" version="opset1"><input><port id="0" '
            f'precision="{element_type.port_name}"/></input></layer></layers><edges><edge from-layer="0" from-port="0" '
            'to-layer="1" to-port="0"/></edges></net>'
        )
        assert fault(file, raw) is None


def test_a_model_that_was_built_is_printed() -> None:
    x = ops.parameter([-1, 3], np.float32, name="x")
    model = irexec.Model([ops.relu(x, name="y")], [x], "built")
    text = irexec.text(model)
    assert text == "model built (x: f32[?,3]) -> (y: f32[?,3] as y/result)\n  y = ReLU-1(x)  # f32[?,3]\n"
    assert saved(irexec.parse(irexec.text(model, full=True))) == saved(model)


def test_a_text_that_was_written_by_hand_is_printed_as_written() -> None:
    text = """model hand (x: f32[?,3,8,8], n: i64[]) -> (relu: f32[?,4,4,4], parts.1: f32[?,1,8,8])
  w     = Constant f32[4,3,3,3] 0.5
  conv  = Convolution-1(x, w) strides=[2,2] pads=[1,1]:[1,1] dilations=[1,1]  # f32[?,4,4,4]
  relu  = ReLU-1(conv)                                                        # f32[?,4,4,4]
  axis  = Constant i64[] 1
  parts = Split-1(x, axis) num_splits=3                                       # f32[?,1,8,8], f32[?,1,8,8], f32[?,1,8,8]
"""
    reading = read(text.encode())
    assert reading.model is not None
    assert print_text(reading.model, reading.document) == text
