"""The costs of a dynamic model: polynomials of its sizes."""

from __future__ import annotations

import numpy as np
import pytest
from support.dynamic_nets import MODELS

import irexec
from irexec import opset13 as op
from irexec.core.types import PartialShape, TensorType
from irexec.model.inference import infer
from irexec.tools.inspect.costs import Polynomial, costs
from irexec.tools.inspect.summary import summarize


@pytest.mark.by_hand(2)
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("unet", "2092*batch*H*W"),
        ("tokens", "16*batch*seq*seq"),
        ("cache", "16*batch*seq*past + 16*batch*seq*seq"),
        ("added", "0"),
    ],
)
def test_multiply_adds(name: str, expected: str) -> None:
    shapes = irexec.shapes(MODELS[name]())
    found = costs(shapes).multiply_adds
    assert found is not None and found.text(shapes.symbols) == expected


def test_a_stride_rounds_up_so_that_multiples_have_the_polynomial() -> None:
    image = op.parameter([-1, 3, -1, -1], np.float32, name="image")
    weights = op.constant(np.ones((8, 3, 3, 3), np.float32))
    model = irexec.Model([op.convolution(image, weights, [2, 2], [1, 1], [1, 1], [1, 1])], [image], "strided")
    shapes = irexec.shapes(model)
    found = costs(shapes).multiply_adds
    assert found is not None and found.text(shapes.symbols) == "54*batch*H*W for multiples of 32"


def test_patches_cost_a_polynomial_of_multiples_only() -> None:
    """Neighbouring sizes have the same number of patches, and give no information about others."""
    image = op.parameter([-1, 3, -1, -1], np.float32, name="image")
    patches = op.convolution(image, op.constant(np.ones((4, 3, 8, 8), np.float32)), [8, 8], [0, 0], [0, 0], [1, 1])
    flat = op.reshape(patches, np.array([0, 4, -1]), special_zero=True)
    shapes = irexec.shapes(irexec.Model([op.matmul(flat, flat, True, False)], [image], "patches"))
    found = costs(shapes).multiply_adds
    assert found is not None
    assert found.text(shapes.symbols) == "(batch*H*H*W*W + 12288*batch*H*W) // 1024 for multiples of 32"


def test_sizes_of_which_one_divides_others_have_a_plain_polynomial() -> None:
    one, other = (op.parameter([-1, -1, 4], np.float32, name=name) for name in ("one", "other"))
    heads = op.reshape(other, op.concat([op.reshape(_extent(one, 0), [1], False), [-1], [4]], 0), special_zero=False)
    shapes = irexec.shapes(irexec.Model([op.matmul(one, heads, False, True)], [one, other], "heads"))
    found = costs(shapes).multiply_adds
    assert shapes.conditions == [["(batch_2*length_2) % batch == 0", "batch >= 1"]]
    assert found is not None and found.text(shapes.symbols) == "4*length*batch_2*length_2"


def test_four_sizes_have_a_polynomial() -> None:
    data = op.parameter([-1] * 4, np.float32, name="data")
    found = costs(irexec.shapes(irexec.Model([op.relu(data)], [data], "four"))).activations
    assert found is not None and found.text(["a", "b", "c", "d"]) == "8*a*b*c*d"


def _extent(node: irexec.Node, axis: int) -> irexec.Node:
    return op.gather(op.shape_of(node, "i64"), op.constant(np.int64(axis)), op.constant(np.int64(0)))


def test_the_values_are_those_of_the_summary() -> None:
    model = MODELS["unet"]()
    shapes = irexec.shapes(model)
    found = costs(shapes)
    assert found.multiply_adds is not None and found.activations is not None
    given = {"image": (3, 3, 80, 112), "mask": (3, 1, 80, 112)}
    sizes = tuple(list(given.values())[dim.input][dim.axis] for dim in shapes.dims)
    types = [
        TensorType(value.element_type, PartialShape(shape))
        for value, shape in zip(model.inputs, given.values(), strict=True)
    ]
    totals = summarize(model, types=infer(model, types)).totals
    assert found.multiply_adds.polynomial.value(sizes) == totals.multiply_adds
    assert found.activations.polynomial.value(sizes) == totals.live.bytes


def test_costs_that_depend_on_a_body_are_not_stated() -> None:
    found = costs(irexec.shapes(MODELS["branches"]()))
    assert found.multiply_adds is None


def test_time_that_runs_out() -> None:
    assert costs(irexec.shapes(MODELS["unet"]()), seconds=0).multiply_adds is None


def test_text() -> None:
    names = ("a", "b")
    assert Polynomial(((3, ((0, 1), (1, 2))), (-5, ()))).text(names) == "3*a*b*b - 5"
    assert Polynomial(((3, ((0, 1),)), (1, ((1, 1),))), 4).text(names) == "(3*a + b) // 4"
    assert Polynomial(()).text(names) == "0"
