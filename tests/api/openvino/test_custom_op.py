"""Operators as classes: rejected declarations and their messages; test_programs.py compares the effects with
OpenVINO.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec as ov
from irexec.api.openvino.exceptions import NotOffered

ops: Any = ov.opset13


class Doubled(ov.Op):
    """An operator with only the necessary methods: it is cloned as objects are copied."""

    def __init__(self, inputs: Any = None, **attributes: Any) -> None:
        self.values = attributes or {"times": 2}
        super().__init__(self, inputs)

    def validate_and_infer_types(self) -> None:
        if self.get_input_element_type(0) is ov.Type.i8:
            raise ValueError("no i8")
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def visit_attributes(self, visitor: Any) -> bool:
        visitor.on_attributes(self.values)
        return True

    def evaluate(self, outputs: Any, inputs: Any) -> bool:
        outputs[0].shape = inputs[0].shape
        outputs[0].data[:] = inputs[0].data * self.values["times"]
        return True


def doubling(kind: Any = Doubled, **attributes: Any) -> ov.Model:
    x = ops.parameter([-1], np.float32, name="x")
    return ov.Model([kind([x], **attributes)], [x], "doubling")


def test_a_class_without_a_clone_method_is_cloned() -> None:
    model = doubling(times=3)
    for each in (model, model.clone()):
        assert ov.compile_model(each)(np.float32([1, 2]))[0].tolist() == [3, 6]
        assert isinstance(each.get_ordered_ops()[1], Doubled)


def test_an_operator_is_saved_and_its_attributes_are_checked_when_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "doubling.xml"
    ov.save_model(doubling(times=5), path)
    ov.Core().add_extension([Doubled])
    assert ov.compile_model(path)(np.float32([1, 2]))[0].tolist() == [5, 10]
    assert ov.validate(path).ok
    path.write_text(path.read_text().replace('times="5"', 'times="five" tims="5"'))
    assert [(d.code, d.line) for d in ov.validate(path).errors] == [("D010", 13), ("D001", 13)]


def test_a_compiled_model_with_an_operator_of_python_is_exported() -> None:
    ov.Core().add_extension(Doubled)
    stream = io.BytesIO()
    ov.compile_model(doubling(times=4)).export_model(stream)
    assert ov.Core().import_model(stream, "CPU")(np.float32([1]))[0].tolist() == [4]


def test_what_a_class_raises_is_reported() -> None:
    with pytest.raises(ValueError, match="no i8"):
        Doubled([ops.parameter([2], np.int8)])
    model = doubling()
    model.inputs[0].node.set_element_type(ov.Type.i8)
    with pytest.raises(ov.IRError, match="Doubled refuses its inputs: ValueError: no i8"):
        ov.compile_model(model)

    class Raising(Doubled):
        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            raise KeyError("inside")

    class Declining(Doubled):
        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            return False

    class Idle(ov.Op):
        def __init__(self, inputs: Any = None) -> None:
            super().__init__(self, inputs)

        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, ov.Type.f32, [2])

    assert [kind().has_evaluate() for kind in (Raising, Idle)] == [True, False]
    for kind, message in ((Raising, "KeyError: 'inside'"), (Declining, "did not return True"), (Idle, "no evaluate")):
        with pytest.raises(ov.IRError, match=message):
            ov.compile_model(doubling(kind))(np.float32([1, 2]))


@pytest.mark.parametrize("value", [(1, 2), None, {}, [1, "a"], [[1]]])
def test_attributes_that_no_file_can_say(value: Any) -> None:
    with pytest.raises(TypeError, match="Unsupported attribute type"):
        Doubled([ops.parameter([2])], odd=value).get_attributes()


def test_an_attribute_keeps_its_type() -> None:
    node = Doubled([ops.parameter([2])], times=2, scale=0.5, axes=[1])
    node.set_attribute("scale", 3)
    node.set_attribute("axes", (1, 2))
    assert node.get_attributes() == {"times": 2, "scale": 3.0, "axes": [1, 2]}
    with pytest.raises(TypeError, match="'times' is 2: 'two' has another type"):
        node.set_attribute("times", "two")
    with pytest.raises(RuntimeError, match="empty list"):
        Doubled([ops.parameter([2])], axes=[]).get_attributes()


def test_what_is_neither_an_input_nor_an_extension() -> None:
    for wrong in ([3], [np.float32([1])], ops.parameter([2])):
        with pytest.raises(TypeError, match=r"of an operator are|is a node or an output"):
            Doubled(wrong)
    for extension in (3, Doubled([ops.parameter([2])]), int):
        with pytest.raises(TypeError, match="a class derived from Op"):
            ov.Core().add_extension(extension)
    with pytest.raises(NotOffered, match="libraries of compiled operators"):
        ov.Core().add_extension("operators.so")


def test_packed_types_reach_evaluate_as_they_are() -> None:
    class Halves(ov.Op):
        def __init__(self, inputs: Any = None) -> None:
            super().__init__(self, inputs)

        def validate_and_infer_types(self) -> None:
            self.set_output_type(0, ov.Type.i4, self.get_input_partial_shape(0))

        def evaluate(self, outputs: Any, inputs: Any) -> bool:
            outputs[0].data[:] = inputs[0].data
            return True

    constant = ops.constant(np.int8([-8, 7, 1]), ov.Type.i4)
    model = ov.Model([ops.convert(Halves([constant]), "i32")], [])
    assert ov.compile_model(model)([])[0].tolist() == [-8, 7, 1]
