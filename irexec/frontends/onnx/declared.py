"""The types that a graph declares for its inputs and outputs: read, and compared with those of its values."""

from __future__ import annotations

from irexec.frontends.onnx.builder import Builder
from irexec.frontends.onnx.kinds import NotReadable, declared_type
from irexec.frontends.onnx.messages import onnx
from irexec.types import DYNAMIC, TensorType


def declared_value(builder: Builder, info: onnx.ValueInfoProto, what: str) -> TensorType | None:
    """Return the declared type of an input or output (`what`); add a finding if irexec cannot represent it."""
    try:
        return declared_type(info.type)
    except NotReadable as error:
        builder.find(error.code, f"the {what} {info.name!r} {error}")
        return None


def fits_declared(builder: Builder, info: onnx.ValueInfoProto, type: TensorType, what: str, made: str) -> bool:
    """Return whether a value can be of the type that the file declares; add a finding if not."""
    declared = declared_value(builder, info, what)
    if declared is None:
        return False
    differs = DYNAMIC not in (type.element_type, declared.element_type)
    differs &= type.element_type is not declared.element_type
    if differs or not declared.shape.compatible(type.shape):
        message = f"the {what} {info.name!r} is declared {declared}, and {made} {type}"
        builder.find("F011", message, found=str(declared), allowed=str(type))
        return False
    return True
