"""The correspondence between the element types and shapes of ONNX and those of irexec."""

from __future__ import annotations

from irexec.core import types
from irexec.core.types import (
    CONTAINERS,
    DYNAMIC,
    SEQUENCES,
    Dimension,
    ElementType,
    PartialShape,
    TensorType,
    member_of,
    optional_of,
    sequence_of,
)
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.messages import onnx

# The name in ONNX's enumeration (in type constraints, in lower case) → irexec's element type.
_NAMES: dict[str, ElementType] = {
    "FLOAT": types.F32, "UINT8": types.U8, "INT8": types.I8, "UINT16": types.U16, "INT16": types.I16,
    "INT32": types.I32, "INT64": types.I64, "STRING": types.STRING, "BOOL": types.BOOLEAN, "FLOAT16": types.F16,
    "DOUBLE": types.F64, "UINT32": types.U32, "UINT64": types.U64, "COMPLEX64": types.C64, "COMPLEX128": types.C128,
    "BFLOAT16": types.BF16, "FLOAT8E4M3FN": types.F8E4M3, "FLOAT8E4M3FNUZ": types.F8E4M3FNUZ,
    "FLOAT8E5M2": types.F8E5M2, "FLOAT8E5M2FNUZ": types.F8E5M2FNUZ, "FLOAT8E8M0": types.F8E8M0,
    "FLOAT4E2M1": types.F4E2M1, "UINT4": types.U4, "INT4": types.I4, "UINT2": types.U2, "INT2": types.I2,
}  # fmt: skip
_BY_NUMBER = {number: _NAMES[name] for name, number in onnx.TensorProto.DataType.items() if name in _NAMES}
_NUMBERS = {kind: number for number, kind in _BY_NUMBER.items()}
_CONSTRAINTS = {f"tensor({name.lower()})": kind for name, kind in _NAMES.items()}
_CONSTRAINTS |= {f"seq({text})": sequence_of(kind) for text, kind in list(_CONSTRAINTS.items())}
_CONSTRAINTS |= {f"optional({text})": optional_of(kind) for text, kind in list(_CONSTRAINTS.items())}
_ONNX_NAMES = {kind: name.lower() for name, kind in _NAMES.items()}


def element_type(number: int) -> ElementType | None:
    """Return the element type for a number of ONNX's enumeration; None if irexec has no such type."""
    return _BY_NUMBER.get(number)


def named(text: str) -> ElementType | None:
    """Return the element type for a name of ONNX's enumeration, in any letter case; None if irexec has no such type."""
    return _NAMES.get(text.upper())


def constraint_type(text: str) -> ElementType | None:
    """Return the element type of an ONNX type such as `tensor(float)`; None for a type that is not a tensor."""
    return _CONSTRAINTS.get(text)


def onnx_name(kind: ElementType) -> str:
    """Return ONNX's name of an element type, such as `float16`."""
    return _ONNX_NAMES.get(kind, kind.name)


def has_type(declared: onnx.TypeProto) -> bool:
    """Return False if the declaration of a value contains no type."""
    return declared.WhichOneof("value") is not None


def declared_type(declared: onnx.TypeProto) -> TensorType:
    """Return the type that a graph declares for a value. Raises Refused."""
    which = declared.WhichOneof("value")
    if which == "tensor_type":
        tensor = declared.tensor_type
        kind = element_type(tensor.elem_type)
        if kind is None:
            raise Refused("F006", f"has the unknown data type {tensor.elem_type}")
        return TensorType(kind, partial_shape(tensor.shape) if tensor.HasField("shape") else PartialShape.dynamic())
    if which == "sequence_type":
        member = declared_type(declared.sequence_type.elem_type).element_type
        container, shape = sequence_of(member), PartialShape([-1])
    elif which == "optional_type":
        member = declared_type(declared.optional_type.elem_type).element_type
        container, shape = optional_of(member), PartialShape([Dimension(0, 1)])
    else:
        what = f"a {which.removesuffix('_type').replace('_', ' ')}" if which else "untyped"
        raise Refused("F008", f"is {what}; only tensors, sequences and optionals of them are supported")
    if container is DYNAMIC:
        raise Refused("F008", f"is a container of {member}, which is not supported")
    return TensorType(container, shape)


def dimension_names(declared: onnx.TypeProto) -> str | None:
    """Return the dimensions of a tensor as named in the file, such as `N,3`; None if no dimension has a name."""
    dims = declared.tensor_type.shape.dim
    if not any(d.WhichOneof("value") == "dim_param" for d in dims):
        return None
    return ",".join(d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in dims)


def partial_shape(shape: onnx.TensorShapeProto) -> PartialShape:
    """Return a declared shape as a partial shape: named and negative dimensions become dynamic."""
    return PartialShape(
        Dimension(d.dim_value) if d.WhichOneof("value") == "dim_value" and d.dim_value >= 0 else Dimension(-1)
        for d in shape.dim
    )


def type_proto(tensor: TensorType | None) -> onnx.TypeProto:
    """Return ONNX's form of a tensor type; an empty one for an omitted input."""
    proto = onnx.TypeProto()
    if tensor is None:
        return proto
    if tensor.element_type in CONTAINERS:
        member = type_proto(TensorType(member_of(tensor.element_type)))
        kind = proto.sequence_type if tensor.element_type in SEQUENCES else proto.optional_type
        kind.elem_type.CopyFrom(member)
        return proto
    proto.tensor_type.elem_type = _NUMBERS.get(tensor.element_type, 0)
    if tensor.shape.rank is not None:
        shape = proto.tensor_type.shape
        shape.SetInParent()
        for extent in tensor.shape:
            dim = shape.dim.add()
            if extent.is_static:
                dim.dim_value = extent.value
    return proto
