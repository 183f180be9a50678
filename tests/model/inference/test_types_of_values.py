"""The types of a model's values: only inference sets them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import opset13 as ops
from irexec.core.types import F32, PartialShape, TensorType
from irexec.frontends.reading import read
from irexec.model.graph.copies import copied
from irexec.model.graph.model import Model
from irexec.model.inference import infer, infer_types
from irexec.tools.inspect.read import summary_of


def open_model() -> irexec.Model:
    x = ops.parameter([-1, 3], "f32", name="x")
    return irexec.Model([ops.relu(ops.matmul(x, np.ones((3, 4), np.float32), False, False), name="y")], [x], "m")


def shapes(model: Model) -> list[str]:
    return [str(value.type.shape) for node in model.walk() for value in node.outputs]


def test_a_type_cannot_be_assigned() -> None:
    value = open_model().inputs[0]
    with pytest.raises(AttributeError):
        value.type = TensorType(F32)


def test_inference_for_certain_inputs_leaves_the_model_as_it_is() -> None:
    model = open_model()
    before = shapes(model)
    types = infer(model, [TensorType(F32, PartialShape([5, 3]))])
    assert str(types[model.outputs[0]].shape) == "[5,4]"
    assert shapes(model) == before and "[?,4]" in before


def test_the_model_and_its_inference_share_the_types() -> None:
    model = copied(open_model())
    model.parameters[0].attributes = model.parameters[0].attributes | {"shape": PartialShape([7, 3])}
    types = infer_types(model)
    assert str(model.outputs[0].type.shape) == "[7,4]"
    assert all(types[value] is value.type for node in model.walk() for value in node.outputs)


def test_a_summary_for_given_shapes_leaves_the_model_as_it_is(tmp_path: Path) -> None:
    irexec.save_model(open_model(), tmp_path / "m.xml")
    reading = read(tmp_path / "m.xml", mode="strict")
    assert reading.model is not None
    before = shapes(reading.model)
    summary, report = summary_of(reading, {"x": (2, 3)})
    assert report.ok and summary is not None
    assert summary.outputs[0].shape == "[2,4]" and summary.totals.multiply_adds == 2 * 4 * 3
    assert not summary.totals.dynamic
    assert shapes(reading.model) == before
    again, _ = summary_of(reading)
    assert again is not None and again.outputs[0].shape == "[?,4]" and again.totals.dynamic
    wrong, report = summary_of(reading, {"x": (2, 5)})
    assert wrong is None and not report.ok


def test_outputs_beyond_the_inferred_types_keep_theirs() -> None:
    """A node in a file may have more ports than its operator has outputs."""
    node = ops.split(ops.parameter([4], "f32"), np.int64(0), 2)
    first, second = (value.type for value in node.outputs)
    node.set_outputs([TensorType(F32)])
    assert node.outputs[0].type is not first and node.outputs[1].type is second
