"""Shapes that layers compute: their values known to inference, compared with OpenVINO's inference of the same model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec.core.types import PartialShape

ov = pytest.importorskip("openvino")
o = pytest.importorskip("openvino.opset13")

Node = Any


def i64(*values: int) -> Node:
    return o.constant(np.array(values, np.int64))


def scalar(value: int) -> Node:
    return o.constant(np.array(value, np.int64))


def axis_of(x: Node, *axes: int) -> Node:
    """Return the extents of x at these axes."""
    return o.gather(o.shape_of(x), i64(*axes), scalar(0))


def flatten(x: Node) -> Node:
    return o.reshape(x, o.concat([axis_of(x, 0), i64(-1)], 0), False)


def swap_by_shape(x: Node) -> Node:
    return o.reshape(x, o.concat([axis_of(x, 1), axis_of(x, 0), axis_of(x, 2)], 0), False)


def double_the_rows(x: Node) -> Node:
    rows = o.multiply(axis_of(x, 0), i64(2))
    return o.broadcast(o.constant(np.float32(0)), o.concat([rows, axis_of(x, 2)], 0))


def pad_up_to_eight(x: Node) -> Node:
    short = o.subtract(i64(8), axis_of(x, 0))
    zero = i64(0)
    return o.pad(x, i64(0, 0, 0), o.concat([short, zero, zero], 0), "constant", np.float32(0))


def half_by_slice(x: Node) -> Node:
    half = o.divide(axis_of(x, 2), i64(2))
    return o.slice(x, i64(0), half, i64(1), i64(2))


def tile_by_shape(x: Node) -> Node:
    return o.tile(o.constant(np.zeros((1, 2), np.float32)), axis_of(x, 0, 1))


def strided_shape(x: Node) -> Node:
    tail = o.strided_slice(o.shape_of(x), i64(1), i64(3), i64(1), [0], [0])
    return o.reshape(x, o.concat([i64(-1), tail], 0), False)


def squeezed_extent(x: Node) -> Node:
    one = o.squeeze(axis_of(x, 0), i64(0))
    return o.range(scalar(0), one, scalar(1), "i64")


def squared(x: Node) -> Node:
    n = o.unsqueeze(o.gather(o.shape_of(x), scalar(2), scalar(0)), i64(0))
    return o.broadcast(o.constant(np.float32(1)), o.concat([n, n], 0))


def split_shape(x: Node) -> Node:
    a, _, c = o.split(o.shape_of(x), scalar(0), 3).outputs()
    return o.broadcast(o.constant(np.float32(1)), o.concat([c, a], 0))


def the_larger(x: Node) -> Node:
    return o.broadcast(o.constant(np.float32(1)), o.maximum(axis_of(x, 0), i64(3)))


def the_smaller(x: Node) -> Node:
    return o.broadcast(o.constant(np.float32(1)), o.minimum(axis_of(x, 0), i64(3)))


def converted(x: Node) -> Node:
    shape = o.convert(o.convert(o.shape_of(x), "i32"), "i64")
    return o.reshape(x, o.concat([o.gather(shape, i64(2, 0), scalar(0)), i64(-1)], 0), False)


def product(x: Node) -> Node:
    return o.reshape(x, o.reduce_prod(o.shape_of(x), i64(0), True), False)


def chosen(x: Node) -> Node:
    wanted = o.select(o.constant(np.array([True, False, True])), o.shape_of(x), i64(1, 1, 1))
    return o.broadcast(o.constant(np.float32(1)), wanted)


def scattered(x: Node) -> Node:
    shape = o.scatter_elements_update(o.shape_of(x), i64(1), i64(7), scalar(0))
    return o.broadcast(o.constant(np.float32(1)), shape)


def resized(x: Node) -> Node:
    twice = o.multiply(axis_of(x, 2), i64(2))
    return o.interpolate(x, twice, "nearest", "sizes", axes=i64(2))


def from_an_extent_less_three(x: Node) -> Node:
    return o.slice(x, o.subtract(axis_of(x, 0), i64(3)), i64(100), i64(1), i64(1))


def between_two_extents(x: Node) -> Node:
    return o.slice(x, axis_of(x, 0), axis_of(x, 1), i64(1), i64(2))


def backwards_from_an_extent(x: Node) -> Node:
    return o.slice(x, axis_of(x, 0), i64(0), i64(-1), i64(2))


SHAPES = ["2,3,8", "?,3,8", "1..4,3,8", "2,?,6..10", "..3,2..,8", "?,?,?"]
GRAPHS: list[Callable[[Node], Node]] = [
    flatten, swap_by_shape, double_the_rows, pad_up_to_eight, half_by_slice, tile_by_shape, strided_shape,
    squeezed_extent, squared, split_shape, the_larger, the_smaller, converted, product, chosen, scattered, resized,
    between_two_extents, backwards_from_an_extent,
]  # fmt: skip
# OpenVINO knows intervals of negative numbers; irexec drops a value that may be negative.
MAY_BE_NEGATIVE = [from_an_extent_less_three]


def both(graph: Callable[[Node], Node], shape: str, folder: Path) -> tuple[PartialShape, PartialShape]:
    """Return the shapes that irexec and OpenVINO infer for the graph's output."""
    x = o.parameter(ov.PartialShape(shape), ov.Type.f32)
    model = ov.Model([graph(x)], [x])
    ov.serialize(model, folder / "m.xml")
    read = irexec.read_model(folder / "m.xml", mode="openvino")
    return read.outputs[0].partial_shape, PartialShape.parse(model.output(0).get_partial_shape().to_string())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.__name__)
def test_as_much_is_inferred_as_openvino_does(graph: Callable[[Node], Node], shape: str, tmp_path: Path) -> None:
    own, their = both(graph, shape, tmp_path)
    assert own.merge(their) == own, f"irexec {own}, OpenVINO {their}"


@pytest.mark.parametrize("graph", GRAPHS + MAY_BE_NEGATIVE, ids=lambda g: g.__name__)
@pytest.mark.parametrize("extents", [(2, 3, 8), (4, 2, 6), (1, 5, 10)])
def test_what_is_inferred_is_so(graph: Callable[[Node], Node], extents: tuple[int, ...], tmp_path: Path) -> None:
    """Every inferred shape admits the results for extents that the parameter's shape admits."""
    x = o.parameter(ov.PartialShape("?,?,?"), ov.Type.f32)
    ov.serialize(ov.Model([graph(x)], [x]), tmp_path / "m.xml")
    model = irexec.read_model(tmp_path / "m.xml", mode="openvino")
    result = irexec.compile_model(model)([np.zeros(extents, np.float32)])[0]
    for shape in SHAPES:
        if PartialShape.parse(shape).accepts(extents):
            assert both(graph, shape, tmp_path)[0].accepts(result.shape)


NUMBERS = np.array([-9, -2, 0, 1, 7])
ARITHMETIC = ["add", "subtract", "multiply", "divide", "mod", "floor_mod", "maximum", "minimum", "squared_difference"]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("type", ARITHMETIC)
def test_an_input_may_hold_negative_numbers(type: str, swapped: bool) -> None:
    """Facts about a result do not assume that the input is an extent."""
    operator = getattr(irexec.opset15, type)
    for number in (-3, -1, 0, 1, 3):
        x = irexec.opset15.parameter([5], np.int64, name="x")
        made = irexec.opset15.reduce_sum(operator(*(number, x)[:: -1 if swapped else 1]), [0], keep_dims=True)
        given = operator(*(np.array(number), NUMBERS)[:: -1 if swapped else 1])
        found = irexec.compile_model(irexec.Model([made], [x], "m"))([NUMBERS])[0]
        assert found.tolist() == [given.sum()], number
