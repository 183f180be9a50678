"""Inputs that a caller may give: any byte order; objects that are not tensors are rejected by name."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops


@pytest.fixture(scope="module")
def relu() -> irexec.CompiledModel:
    x = ops.parameter([2], np.float32, name="x")
    return irexec.compile_model(irexec.Model([ops.relu(x)], [x], "m"))


@pytest.mark.parametrize(
    "given",
    [
        np.array([-1, 2], ">f4"),
        np.ma.array([-1.0, 2.0], "f4"),
        np.array([9, -1, 9, 2], "f4")[1::2],
        [np.float32(-1), 2],
    ],
    ids=["big-endian", "mask that hides nothing", "strided", "list"],
)
def test_arrays_of_any_layout(relu: irexec.CompiledModel, given) -> None:
    assert relu({"x": given})[0].tolist() == [0, 2]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (np.ma.array([1.0, 2.0], mask=[True, False]), "masked"),
        ([[1.0], [2.0, 3.0]], "differ in length"),
        (np.array(["2026-01-01"] * 2, "M8[D]"), "dates"),
        (np.array([{}, 1.0], object), "objects"),
        (np.zeros(2, [("a", "f4")]), "records"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_not_a_tensor_is_refused_by_name(relu: irexec.CompiledModel, given, reason: str) -> None:
    with pytest.raises(irexec.IRError, match=reason):
        relu({"x": given})


@pytest.mark.parametrize("shape", ["1", "1,1", "?", "..4"])
def test_a_scalar_is_an_array_of_one_element(shape: str) -> None:
    """Optimum's diffusion pipelines give the time of a step as a scalar for an input of shape [1]."""
    x = ops.parameter(irexec.PartialShape(shape), np.float32, name="x")
    compiled = irexec.compile_model(irexec.Model([ops.relu(x)], [x], "m"))
    for given in (np.array(3, np.float32), 3):
        assert compiled({"x": given})[0].reshape(-1).tolist() == [3]
        request = compiled.create_infer_request()
        request.infer({"x": given})
        assert request.get_output_tensor().data.reshape(-1).tolist() == [3]


def test_a_scalar_for_more_elements_is_refused(relu: irexec.CompiledModel) -> None:
    with pytest.raises(irexec.IRError, match=r"shape \[\], which does not match the model's shape \[2\]"):
        relu({"x": np.array(3, np.float32)})


def test_texts_come_as_objects_too() -> None:
    x = ops.parameter([2], "string", name="x")
    model = irexec.compile_model(irexec.Model([ops.result(x)], [x], "m"))
    assert model({"x": np.array(["a", "bc"], object)})[0].tolist() == ["a", "bc"]


def test_whole_floats_are_taken_for_integers_and_others_are_refused() -> None:
    x = irexec.opset15.parameter([2], np.int32, name="x")
    compiled = irexec.compile_model(irexec.Model([irexec.opset15.abs(x)], [x], "m"))
    for given in (np.float32([1, -2]), np.float64([1, -2]), [1.0, -2.0]):
        assert compiled([given])[0].tolist() == [1, 2]
    for wrong in ([1.5, 2], [np.nan, 1], [1e20, 1]):
        with pytest.raises(irexec.IRError, match="expected i32"):
            compiled([np.array(wrong)])
