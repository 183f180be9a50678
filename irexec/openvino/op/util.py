"""Variables and the descriptions of bodies, under the name of OpenVINO's module."""

from irexec.openvino.kinds.descriptions import (
    BodyOutputDescription,
    ConcatOutputDescription,
    InvariantInputDescription,
    MergedInputDescription,
    SliceInputDescription,
    Variable,
    VariableInfo,
)

__all__ = [
    "BodyOutputDescription",
    "ConcatOutputDescription",
    "InvariantInputDescription",
    "MergedInputDescription",
    "SliceInputDescription",
    "Variable",
    "VariableInfo",
]
