"""Convert and ConvertLike: the same elements in another type.

Source: operation pages Convert-1, ConvertLike-1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from irexec.core.types import STRING, Array, ElementType, PartialShape, TensorType
from irexec.ops.compute.casting import cast, castable, out_of_range
from irexec.ops.rules.axes import into
from irexec.ops.spec.operator import Check, NodeTypes, PassThrough, TypeFrom, operator
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import AnyTensor, AnyTensor2
from irexec.ops.spec.traits import ComputesSizes, Conversion, ConversionTo, Unpacking


@operator("Convert", "opset1", ComputesSizes, ConversionTo, Unpacking, view="input")
def convert_1(
    input: AnyTensor, /, *, destination_type: ElementType, out: Array | None = None
) -> Annotated[Array, TypeFrom("destination_type")]:
    """Convert each element to `destination_type`, by the rules in casting.py.

    C1: strings convert to strings only. The types u1, u3, u6 and nf4 are stored as uint8 arrays, which this kernel
    treats as u8; nodes with one of these types are specialized, and so are nodes whose two types are equal.
    """
    if input.dtype == object:
        return input
    return into(cast(input, ElementType.of(input.dtype), destination_type), out, input)


@convert_1.shapes
def _(check: Check, input: TensorType, *, destination_type: ElementType) -> PartialShape | TensorType:
    return _converted(check, input, destination_type, "destination_type")


@convert_1.specialize
def _(types: NodeTypes) -> Callable[..., Array] | PassThrough | None:
    return _for_types(types)


@operator("ConvertLike", "opset1", ComputesSizes, Conversion, view="data")
def convert_like_1(data: AnyTensor, like: AnyTensor2, /, *, out: Array | None = None) -> AnyTensor2:
    """Convert each element of `data` to the element type of `like`, whose values are not used. C1 as Convert-1."""
    if data.dtype == object:
        return data
    return into(cast(data, ElementType.of(data.dtype), ElementType.of(like.dtype)), out, data)


@convert_like_1.shapes
def _(check: Check, data: TensorType, like: TensorType) -> PartialShape | TensorType:
    return _converted(check, data, like.element_type, None)


@convert_1.oracle.undefined_for
def _(input: Array, *, destination_type: ElementType) -> Undefined:
    """The result is undefined for numbers that the integer type does not represent."""
    return (out_of_range(input, destination_type),)


@convert_like_1.oracle.undefined_for
def _(data: Array, like: Array) -> Undefined:
    """As Convert-1."""
    return (out_of_range(data, ElementType.of(like.dtype)),)


convert_like_1.oracle.allowed = Allowed(composes=False)


@convert_like_1.specialize
def _(types: NodeTypes) -> Callable[..., Array] | PassThrough | None:
    return _for_types(types)


def _for_types(types: NodeTypes) -> Callable[..., Array] | PassThrough | None:
    """Return the conversion for the declared types, unless the arrays' dtypes determine them."""
    data, target = types.inputs[0], types.outputs[0].element_type
    if data is None or data.element_type.is_dynamic or target.is_dynamic:
        return None
    source = data.element_type
    if source is target:
        return PassThrough(_unchanged)
    if not (source.is_carried or target.is_carried):
        return None
    return lambda *inputs, out=None, **_: into(cast(inputs[0], source, target), out, inputs[0])


def _unchanged(data: Array, *_: Array) -> Array:
    """Return the array itself."""
    return data


def _converted(check: Check, data: TensorType, target: ElementType, attribute: str | None) -> PartialShape | TensorType:
    """Return the shape of the result, or its type with the value, if `data` is known and a type has no NumPy dtype."""
    source = data.element_type
    if source.is_dynamic or target.is_dynamic:
        return data.shape
    message = f"{source} does not convert to {target}"
    allowed = "string" if source is STRING else "any type but string"
    fits = check("C1", castable(source, target), message, attribute=attribute, found=str(target), allowed=allowed)
    if fits and (source.is_carried or target.is_carried) and data.value is not None:
        return TensorType(target, data.shape, cast(data.value, source, target))
    return data.shape
