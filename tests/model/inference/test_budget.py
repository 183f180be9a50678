"""The memory of inference is bounded whatever a file declares, and a MemoryError becomes a finding."""

from __future__ import annotations

import inspect
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import Node
from irexec.api.opsets.nodes import constant_node, make_node
from irexec.model.inference import infer
from irexec.ops.spec import operator as declared
from irexec.ops.spec.contents import find

MOST_BYTES = 32 << 20
FAR = 1 << 26  # Elements; as f32 a quarter of a gigabyte.
IMAGE = np.ones((1, 1, 4, 4), np.float32)
PLAIN: dict[str, Any] = {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "dilations": (1, 1)}
FAR_TAPS = PLAIN | {"dilations": (FAR, 1), "pads_begin": (FAR, 0)}

# Operators on constants with small results, which inference might compute to know their values.
COSTLY: dict[str, tuple[str, str, list[Any], dict[str, Any]]] = {
    "dilations of a convolution": ("Convolution", "opset1", [IMAGE, np.ones((1, 1, 2, 2), np.float32)], FAR_TAPS),
    "dilations of a pool": (
        "MaxPool",
        "opset8",
        [IMAGE],
        FAR_TAPS | {"kernel": (2, 2)},
    ),
    "pads of an interpolation": (
        "Interpolate",
        "opset11",
        [IMAGE, np.array([2, 2]), np.array([2, 3])],
        {"mode": "linear", "shape_calculation_mode": "sizes", "pads_begin": (0, 0, FAR, 0)},
    ),
    "rates of patches": (
        "ExtractImagePatches",
        "opset3",
        [IMAGE],
        {"sizes": (2, 2), "strides": (4, 4), "rates": (FAR, 1), "auto_pad": "same_upper"},
    ),
    "a broadcast that is reduced again": ("Broadcast", "opset3", [np.float32(1), np.array([FAR])], {}),
    "a long range": ("Range", "opset4", [np.float32(0), np.float32(FAR), np.float32(1)], {"output_type": "f32"}),
}


def file_of(node: Node, path: Path) -> Path:
    """Write a model whose only result has the shape given by the node's values: a file of a few kilobytes."""
    ops: Any = irexec.opset13
    x = ops.parameter([-1], np.float32, name="x")
    flat = ops.convert(ops.reduce_sum(node.outputs[0], np.array([0]), keep_dims=True), "i64")
    shape = ops.reshape(flat, np.array([-1]), special_zero=False)
    irexec.save_model(irexec.Model([ops.broadcast(x, shape)], [x]), path)
    return path


@pytest.mark.parametrize("case", COSTLY)
def test_a_small_file_stays_within_a_budget(case: str, tmp_path: Path) -> None:
    type, version, arrays, attributes = COSTLY[case]
    operator = find(type, version)
    assert operator is not None
    node = make_node(irexec.Node, operator, [constant_node(irexec.Node, array) for array in arrays], attributes)
    path = file_of(node, tmp_path / "m.xml")
    assert path.stat().st_size < 10_000
    tracemalloc.start()
    try:
        report = irexec.validate(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.ok
    assert peak < MOST_BYTES


def squared(value: Any, ops: Any) -> Any:
    """Return the value squared forty times: a number of 10^12 digits, if it did not wrap."""
    for _ in range(40):
        value = ops.multiply(value, value)
    return value


# Layers on values of which one element is an extent of the input, and another a number in the file.
PARTLY_KNOWN: dict[str, Callable[[Any, Any], Any]] = {
    "squares of squares": squared,
    "a large power": lambda value, ops: ops.power(value, np.array([10**12, 1])),
    "powers of powers": lambda value, ops: ops.power(ops.power(value, np.array([10**6])), np.array([10**6])),
    "a long product": lambda value, ops: ops.reduce_prod(ops.tile(value, np.array([2000])), np.array([0]), True),
    "tiles": lambda value, ops: ops.tile(value, np.array([1 << 40])),
    "a broadcast": lambda value, ops: ops.broadcast(value, np.array([1 << 30, 2])),
    "pads": lambda value, ops: ops.pad(value, np.array([1 << 40]), np.array([0]), "constant", np.array(0)),
    "a quotient by zero": lambda value, ops: ops.divide(value, np.array([0])),
    "a rest of zero": lambda value, ops: ops.floor_mod(value, np.array([0])),
}


@pytest.mark.parametrize("case", PARTLY_KNOWN)
def test_values_known_in_part_stay_within_a_budget(case: str, tmp_path: Path) -> None:
    ops: Any = irexec.opset13
    x = ops.parameter([-1, 2], np.float32, name="x")
    rows = ops.gather(ops.shape_of(x), np.array([0]), np.array(0))
    node = PARTLY_KNOWN[case](ops.concat([np.array([3]), rows], 0), ops)
    irexec.save_model(irexec.Model([node], [x]), tmp_path / "m.xml")
    tracemalloc.start()
    try:
        model = irexec.read_model(tmp_path / "m.xml")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MOST_BYTES
    known = model.results[0].inputs[0].type.partial
    assert known is None or all(abs(v) <= 1 << 63 for v in known if isinstance(v, int))


@pytest.mark.parametrize(
    ("case", "kind"),
    [
        ("squares of squares", "i32"),
        ("squares of squares", "i64"),
        ("a long product", "i32"),
        ("a large power", "i64"),
        ("powers of powers", "i64"),
    ],
)
def test_numbers_known_in_part_wrap_as_the_layer_computes_them(case: str, kind: str) -> None:
    ops: Any = irexec.opset13

    def graph(rows: int) -> Any:
        x = ops.parameter([rows, 2], np.float32, name="x")
        extent = ops.gather(ops.shape_of(x, kind), np.array([0]), np.array(0))
        return irexec.Model(
            [PARTLY_KNOWN[case](ops.concat([np.array([3], {"i32": np.int32, "i64": np.int64}[kind]), extent], 0), ops)],
            [x],
        )

    partial = graph(-1).results[0].inputs[0].type.partial
    computed = irexec.compile_model(graph(5))(np.zeros((5, 2), np.float32))[0]
    assert partial is not None
    for known, value in zip(partial, computed, strict=True):
        assert known in (value, irexec.Dimension(-1))


def test_a_memory_error_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    ops: Any = irexec.opset13
    operator = find("Tanh", "opset1")
    x = ops.parameter([2], np.float32)
    one = ops.tanh(constant_node(irexec.Node, np.ones(2, np.float32)))
    model = irexec.Model([ops.add(x, one)], [x])

    def kernel(*_: Any, **__: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(operator, "kernel", kernel)
    [finding] = infer(model).report
    assert finding.code == "O011"
    assert "no room" in finding.message
    assert finding.layer.type == "Tanh"


def test_a_rule_that_fails_raises_here_and_is_a_finding_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    ops: Any = irexec.opset13
    operator = find("Tanh", "opset1")
    x = ops.parameter([2], np.float32)
    model = irexec.Model([ops.tanh(x)], [x])

    def rule(*_: Any, **__: Any) -> Any:
        raise KeyError("a bug")

    monkeypatch.setattr(operator, "rule", rule)
    with pytest.raises(KeyError, match="a bug"):
        infer(model)
    monkeypatch.setattr(declared, "failed_rule", inspect.unwrap(declared.failed_rule))
    [finding] = infer(model).report
    assert finding.code == "O007"
    assert "the shape rule of Tanh-1 failed" in finding.message
