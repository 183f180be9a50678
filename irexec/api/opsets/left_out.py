"""Arguments that a call may omit because OpenVINO's functions add them: required attributes and optional inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from irexec.api.opsets.computed import value_of
from irexec.core.types import ElementType, PartialShape
from irexec.ops.spec.operator import Operator

Made: TypeAlias = Callable[[list[Any], dict[str, Any]], Any]


def complete(operator: Operator, inputs: list[Any], attributes: dict[str, Any]) -> None:
    """Add the attributes and inputs that OpenVINO's function of the operator adds to a call without them."""
    if not inputs or inputs[0] is None:
        return
    declared = {name for a in operator.attributes for name in (a.file_name, a.name)}
    for key, made in _ATTRIBUTES.get(operator.type, {}).items():
        if key in declared and key not in attributes and (value := made(inputs, attributes)) is not None:
            attributes[key] = value
    ports = [port.name for port in operator.inputs]
    for name, made in (_INPUTS.get(operator.versioned_name) or _INPUTS.get(operator.type, {})).items():
        if name in ports and inputs[ports.index(name)] is None:
            inputs[ports.index(name)] = made(inputs, attributes)


def _pooled(attributes: dict[str, Any]) -> tuple[int, ...]:
    return tuple(attributes.get("output_roi") or attributes.get("output_size") or ())


def _shape(given: Any) -> PartialShape:
    value = value_of(given)
    return PartialShape(np.shape(given)) if value is None else value.type.shape


def _kind(given: Any) -> ElementType:
    value = value_of(given)
    return ElementType.of(np.asarray(given).dtype) if value is None else value.element_type


def _axes(inputs: list[Any], _: dict[str, Any]) -> Any:
    """Return the default axes of Slice: the first axes, one for each start.

    None if the number of starts is not known.
    """
    shape = _shape(inputs[1])
    return np.arange(shape[0].value) if shape.is_static and shape.rank == 1 else None


_LIMITS: dict[str, Made] = {
    "max_output_boxes_per_class": lambda *_: np.int64(0),
    "iou_threshold": lambda *_: np.float32(0),
    "score_threshold": lambda *_: np.float32(0),
}

_ATTRIBUTES: dict[str, dict[str, Made]] = {
    "ConvolutionBackpropData": {"dilations": lambda inputs, _: (1,) * (len(_shape(inputs[0])) - 2)},
    "GroupConvolutionBackpropData": {"dilations": lambda inputs, _: (1,) * (len(_shape(inputs[0])) - 2)},
    "ROIPooling": {
        "pooled_h": lambda _, attributes: (*_pooled(attributes), None, None)[0],
        "pooled_w": lambda _, attributes: (*_pooled(attributes), None, None)[1],
    },
    "Range": {"output_type": lambda inputs, _: _kind(inputs[0])},
}

# The default inputs by operator and port name. A key may name one version of the operator.
_INPUTS: dict[str, dict[str, Made]] = {
    "NonMaxSuppression": _LIMITS,
    "NonMaxSuppression-9": _LIMITS | {"soft_nms_sigma": lambda *_: np.float32(0)},
    "Slice": {"axes": _axes},
    "Swish": {"beta": lambda *_: 1.0},
}
