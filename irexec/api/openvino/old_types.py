"""The element types of the API before 2022, which OpenVINO gives the inputs and results of an IR of version 10."""

from __future__ import annotations

from irexec.api.openvino.model import Model
from irexec.api.openvino.preprocess import PrePostProcessor
from irexec.core.types import DYNAMIC, F16, F32, I32, STRING, ElementType

_AS_I32 = {"i32", "i64", "u32", "u64"}


def result_type(kind: ElementType) -> ElementType:
    """Return the type in which OpenVINO returns a result of an IR of version 10."""
    return I32 if kind.name in _AS_I32 else F32


def give_old_types(model: Model) -> None:
    """Convert inputs of f16 from f32, and all results to f32 or i32, as OpenVINO does."""
    steps, changed = PrePostProcessor(model), False
    for number, port in enumerate(model.inputs):
        if port.type.element_type is F16:
            steps.input(number).tensor().set_element_type(F32)
            changed = True
    for number, port in enumerate(model.outputs):
        kind = port.type.element_type
        if kind not in (DYNAMIC, STRING, result_type(kind)):
            steps.output(number).tensor().set_element_type(result_type(kind))
            changed = True
    if changed:
        steps.build()
