"""Translators of ONNX's quantization and of quantized products.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.core.types import F16, F32, F64, FLOATS, I4, I8, I16, I32, U4, U8, U16, Dimension, ElementType
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import element_type, onnx_name
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.convolution import convolved, spatial
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_VERSIONS = (10, 13, 19, 21, 23, 24, 25, 28)
# Types whose numbers f32 represents exactly, including their differences.
_SMALL = frozenset({I8, U8, I16, U16})
# Type of a scale → types whose numbers it represents exactly, including their differences.
_HELD = {F32: _SMALL | {I4, U4}, F16: frozenset({I8, U8, I4, U4})}


@translates("QuantizeLinear", since=_VERSIONS)
def _quantize(op: Op) -> Value:
    to = typed(op, "output_dtype") or (U8 if op.get(2) is None else op.kind(2))
    if op.get(2) is not None and to is not op.kind(2):
        message = f"output_dtype is {onnx_name(to)}, but y_zero_point is {onnx_name(op.kind(2))}"
        raise Refused("F004", message, attribute="output_dtype")
    axis, block, precision = op.integer("axis", 1), op.integer("block_size", 0), real_type(op, "precision")
    _check_scales(op, axis, block)
    return quantized(op, op[0], op[1], op.get(2), to, axis, precision, block, op.flag("saturate", True))


@translates("DequantizeLinear", since=_VERSIONS)
def _dequantize(op: Op) -> Value:
    to, axis, block = typed(op, "output_dtype") or op.kind(1), op.integer("axis", 1), op.integer("block_size", 0)
    _check_scales(op, axis, block)
    return dequantized(op, op[0], op[1], op.get(2), axis, to, block)


def _check_scales(op: Op, axis: int, block: int) -> None:
    """Check that there is one scale, one for each element of the axis, or one for each block, and as many zero points.
    Raises Refused."""
    rank = op.rank()
    if rank is None:
        return
    extents, scales = list(op[0].type.shape), op[1].type.shape
    if scales.rank != 0 and scales != [1] and not -rank <= axis < rank:
        op.refuse(f"axis is {axis}, expected {-rank} to {rank - 1}", attribute="axis", found=str(axis))
    if block and -rank <= axis < rank:
        given = extents[axis]
        extents[axis] = Dimension(-(-given.value // block)) if given.is_static else given
        expected = " ".join(str(e.value) if e.is_static else "_" for e in extents)
    else:
        along = extents[axis % rank] if rank else Dimension(1)
        expected = f"scalar | {along.value if along.is_static else '_'}" + (f" | {'_ ' * rank}" if rank > 1 else "")
    own = " ".join(str(e.value) if e.is_static else "_" for e in scales) if scales.rank else "scalar"
    op.check_shapes(f"x:; scale: {expected}; zero_point: {own if own != '1' else 'scalar'}")


def typed(op: Op, name: str) -> ElementType | None:
    """Return the element type that an attribute specifies; None if it is 0 or absent."""
    number = op.integer(name, 0)
    if number and element_type(number) is None:
        raise Refused("F004", f"{name} is {number}, which is not a data type", attribute=name)
    return element_type(number)


def real_type(op: Op, name: str) -> ElementType | None:
    """Return the floating-point type that an attribute specifies; None if it is 0 or absent."""
    if (kind := typed(op, name)) is not None and kind not in FLOATS:
        raise Refused("F004", f"{name} is {kind}, expected a floating-point type", attribute=name, found=str(kind))
    return kind


def quantized(
    op: Op,
    x: Value,
    scale: Value,
    zero: Value | None,
    to: ElementType,
    axis: int = 1,
    precision: ElementType | None = None,
    block_size: int = 0,
    saturate: bool = True,
) -> Value:
    """Return the value quantized by the scale to the type `to`, by IR operators for the most common types."""
    plain = to in _SMALL and not block_size and x.element_type is scale.element_type is F32 and precision is None
    along = _along(x, scale, axis) if plain else None
    if along is None:
        options = {"axis": axis, "block_size": block_size, "saturate": saturate, "precision": precision}
        return op.make("QuantizeLinear", x, scale, zero, opset="onnx28", to=to, **options)
    ratio = op.make("Divide", x, op.reshape(scale, along))
    whole = op.make("Round", ratio, opset=5, mode="half_to_even")
    if zero is not None:
        whole = op.make("Add", whole, op.reshape(op.convert(zero, F32), along))
    low = 0.0 if not to.is_signed else -float(1 << (to.bitwidth - 1))
    high = low + (1 << to.bitwidth) - 1
    return op.convert(op.make("Clamp", whole, min=low, max=high), to)


def dequantized(
    op: Op, x: Value, scale: Value, zero: Value | None, axis: int = 1, to: ElementType | None = None, block: int = 0
) -> Value:
    """Return the dequantized values of integers."""
    to = to or scale.element_type
    plain = x.element_type in _HELD.get(scale.element_type, ()) and to is scale.element_type
    apart = _blocks(x, axis, block) if plain and block else None
    along = None
    if apart is not None:
        along = [1 if i == axis % (len(apart) - 1) + 1 else extent for i, extent in enumerate(apart)]
    elif plain and not block:
        along = _along(x, scale, axis)
    if along is None:
        return op.make("DequantizeLinear", x, scale, zero, opset="onnx28", to=to, axis=axis, block_size=block)
    whole = op.convert(x if apart is None else op.reshape(x, apart), to)
    if zero is not None:
        whole = op.make("Subtract", whole, op.reshape(op.convert(zero, to), along))
    made = op.make("Multiply", whole, op.reshape(scale, along))
    return made if apart is None else op.reshape(made, list(x.type.shape.to_shape()))


def _blocks(x: Value, axis: int, block: int) -> list[int] | None:
    """Return the shape with a separate axis for the elements of a block; None if it is unknown, or if the last block is
    shorter.
    """
    if x.type.shape.is_dynamic:
        return None
    shape = list(x.type.shape.to_shape())
    if not -len(shape) <= axis < len(shape):
        return None
    at = axis % len(shape)
    if shape[at] % block:
        return None
    return [*shape[:at], shape[at] // block, block, *shape[at + 1 :]]


def _along(x: Value, scale: Value, axis: int) -> list[int] | None:
    """Return the shape that aligns scales with their axis; None if it is unknown, or the scales are per block."""
    rank, own = x.type.shape.rank, scale.type.shape
    if own.rank == 0 or own == [1]:
        return []
    if own.rank != 1 or rank is None or not -rank <= axis < rank:
        return None
    return [-1 if i == axis % rank else 1 for i in range(rank)]


# Products


def whole(op: Op, x: Value, zero: Value | None, shape: list[int] | None = None) -> Value:
    """Return x minus the zero point in f64, in which sums of products of such numbers are exact."""
    wide = op.convert(x, F64)
    if zero is None:
        return wide
    zero = op.convert(zero, F64)
    return op.make("Subtract", wide, op.reshape(zero, shape) if shape and zero.type.shape.rank else zero)


def column(value: Value) -> list[int] | None:
    """Return the shape of a column if the value has a number for each row, else None."""
    return [-1, 1] if value.type.shape.rank == 1 and value.type.shape != [1] else None


@translates(
    "MatMulInteger",
    since=(10,),
    shapes="A: K | ... M K; B: K | ... K N; a_zero_point: scalar | M | ... M 1; b_zero_point: scalar | N | ... 1 N",
)
def _matmul_integer(op: Op) -> Value:
    a_zero = op.get(2)
    a = whole(op, op[0], a_zero, None if a_zero is None else column(a_zero))
    return op.convert(op.make("MatMul", a, whole(op, op[1], op.get(3))), I32)


@translates(
    "QLinearMatMul",
    since=(10, 21),
    shapes="a: K | ... M K; a_scale: scalar | M | ... M 1; a_zero_point: scalar | M | ... M 1; b: K | ... K N;"
    " b_scale: scalar | N | ... 1 N; b_zero_point: scalar | N | ... 1 N; y_scale: scalar | M | ... M 1;"
    " y_zero_point: scalar | M | ... M 1",
)
def _quantized_matmul(op: Op) -> Value:
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (op[i] for i in range(8))
    product = op.make("MatMul", whole(op, a, a_zero, column(a_zero)), whole(op, b, b_zero))
    shape = column(a_scale)
    a_scale = op.reshape(a_scale, shape) if shape else a_scale
    return _requantized(op, product, a_scale, b_scale, y_scale, y_zero)


def _requantized(op: Op, product: Value, a_scale: Value, b_scale: Value, y_scale: Value, y_zero: Value) -> Value:
    scales = op.make("Multiply", op.convert(a_scale, F32), op.convert(b_scale, F32))
    ratio = op.make("Divide", scales, op.convert(y_scale, F32))
    scaled = op.make("Multiply", op.convert(product, F32), ratio)
    return quantized(op, scaled, op.number_of(1, scaled), y_zero, y_zero.element_type)


@translates("ConvInteger", since=(10,), shapes="x:; w: M ...; x_zero_point: scalar; w_zero_point: scalar | M")
def _conv_integer(op: Op) -> Value:
    return op.convert(_integral(op, op[0], op.get(2), op[1], op.get(3)), I32)


def _integral(op: Op, x: Value, x_zero: Value | None, w: Value, w_zero: Value | None) -> Value:
    rank = spatial(op, x, like=w.type.shape.rank) + 2
    return convolved(op, whole(op, x, x_zero), whole(op, w, w_zero, [-1, *[1] * (rank - 1)]))


@translates("QLinearConv", since=(10,))
def _quantized_conv(op: Op) -> Value:
    return quantized_conv(op)


def quantized_conv(op: Op) -> Value:
    """Return the convolution of a quantized image and kernel, quantized again."""
    op.check_shapes(
        "x:; x_scale: scalar; x_zero_point: scalar; w: M ...; w_scale: scalar | M; w_zero_point: scalar | M;"
        " y_scale: scalar; y_zero_point: scalar; B: M"
    )
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (op[i] for i in range(8))
    product, bias = _integral(op, x, x_zero, w, w_zero), op.get(8)
    channels = [1, -1, *[1] * spatial(op, x, like=w.type.shape.rank)]
    if bias is not None:
        product = op.make("Add", product, op.reshape(op.convert(bias, F64), channels))
    w_scale = op.reshape(w_scale, channels) if w_scale.type.shape.rank else w_scale
    return _requantized(op, product, x_scale, w_scale, y_scale, y_zero)
