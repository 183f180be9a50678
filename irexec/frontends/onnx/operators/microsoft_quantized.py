"""Translators of com.microsoft's quantized operators: inputs are dequantized and the result is quantized again.

Source: ONNX Runtime's list of contributed operators.
"""

from __future__ import annotations

from irexec.core.types import F32, U8
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.microsoft import embedded, microsoft, moved, plus
from irexec.frontends.onnx.operators.pooling import average_pool
from irexec.frontends.onnx.operators.quantization import column, dequantized, quantized, quantized_conv, whole
from irexec.frontends.onnx.operators.recurrent import recurrent
from irexec.model.graph.model import Value


def _dequantized(op: Op, first: int) -> Value:
    """Return the dequantized value of three inputs: integers, their scale, their zero point."""
    return dequantized(op, op[first], op[first + 1], op.get(first + 2))


def _again(op: Op, x: Value, first: int) -> Value:
    """Return the value quantized by the scale (input `first`) and the zero point (the next input)."""
    zero = op.get(first + 1)
    return quantized(op, x, op[first], zero, op.kind() if zero is None else zero.element_type)


@microsoft(
    "QLinearAdd",
    "QLinearMul",
    shapes="A:; A_scale: scalar; A_zero_point: scalar; B:; B_scale: scalar; B_zero_point: scalar; C_scale: scalar;"
    " C_zero_point: scalar",
)
def _pair(op: Op) -> Value:
    type = "Add" if op.type == "QLinearAdd" else "Multiply"
    return _again(op, op.make(type, _dequantized(op, 0), _dequantized(op, 3)), 6)


@microsoft(
    "QLinearSigmoid",
    shapes="X:; X_scale: scalar; X_zero_point: scalar; Y_scale: scalar; Y_zero_point: scalar",
)
def _sigmoid(op: Op) -> Value:
    return _again(op, op.make("Sigmoid", _dequantized(op, 0)), 3)


@microsoft(
    "QLinearLeakyRelu",
    shapes="X:; X_scale: scalar; X_zero_point: scalar; Y_scale: scalar; Y_zero_point: scalar",
)
def _leaky_relu(op: Op) -> Value:
    x = _dequantized(op, 0)
    return _again(op, op.make("PReLU", x, op.number_of(op.number("alpha", 0.01), x)), 3)


@microsoft(
    "QLinearSoftmax",
    shapes="X:; X_scale: scalar; X_zero_point: scalar; Y_scale: scalar; Y_zero_point: scalar",
)
def _softmax(op: Op) -> Value:
    axis, rank = op.axis("axis", -1), op.rank()
    if op.integer("opset", 13) < 13 and axis != (-1 if rank is None else rank - 1):
        op.refuse("a softmax along several axes is not supported", attribute="axis")
    return _again(op, op.make("SoftMax", _dequantized(op, 0), opset=8, axis=axis), 3)


@microsoft(
    "QLinearGlobalAveragePool",
    shapes="X:; X_scale: scalar; X_zero_point: scalar; Y_scale: scalar; Y_zero_point: scalar",
)
def _global_average(op: Op) -> Value:
    axes = list(range(1, op.needs_rank() - 1)) if op.flag("channels_last") else op.axes_from(2)
    return _again(op, op.make("ReduceMean", _dequantized(op, 0), axes, keep_dims=True), 3)


@microsoft(
    "QLinearAveragePool",
    shapes="X:; X_scale: scalar; X_zero_point: scalar; Y_scale: scalar; Y_zero_point: scalar",
)
def _average(op: Op) -> Value:
    if op.flag("channels_last"):
        op.refuse("channels in the last axis are not supported", attribute="channels_last")
    return _again(op, average_pool(op, _dequantized(op, 0)), 3)


@microsoft("QLinearConcat")
def _concat(op: Op) -> Value:
    parts = [_dequantized(op, i) for i in range(2, len(op), 3)]
    joined = op.make("Concat", *parts, axis=op.integer("axis"))
    return quantized(op, joined, op[0], op[1], op.kind(1))


@microsoft("QuantizeLinear")
def _quantize(op: Op) -> Value:
    to = U8 if op.get(2) is None else op.kind(2)
    return quantized(op, op[0], op[1], op.get(2), to, op.integer("axis", 1), None, op.integer("block_size", 0))


@microsoft("DequantizeLinear")
def _dequantize(op: Op) -> Value:
    block = op.integer("block_size", 0)
    return dequantized(op, op[0], op[1], op.get(2), op.integer("axis", 1), None, block)


@microsoft(
    "MatMulIntegerToFloat",
    shapes="A:; B: ... K N; a_scale: scalar; b_scale: scalar | N | ... 1 N; a_zero_point: scalar;"
    " b_zero_point: scalar | N | ... 1 N; bias: N",
)
def _integer_to_float(op: Op) -> Value:
    return scaled_product(op, (op[0], op[2], op.get(4)), (op[1], op[3], op.get(5)), op.get(6))


Quantized = tuple[Value, Value, Value | None]
"""Integers, their scale, and their zero point."""


def scaled_product(op: Op, a: Quantized, b: Quantized, bias: Value | None) -> Value:
    """Return the product of two quantized matrices, as real numbers."""
    a_whole = whole(op, a[0], a[2], None if a[2] is None else column(a[2]))
    product = op.convert(op.make("MatMul", a_whole, whole(op, b[0], b[2])), F32)
    scales = op.make("Multiply", op.convert(a[1], F32), op.convert(b[1], F32))
    return plus(op, op.convert(op.make("Multiply", product, scales), a[1].element_type), bias)


@microsoft("QGemm")
def _gemm(op: Op) -> Value:
    transposed = {"transpose_a": op.flag("transA"), "transpose_b": op.flag("transB")}
    a, b = whole(op, op[0], op.get(2)), whole(op, op[3], _per_column(op, op.get(5), transposed["transpose_b"]))
    product, added = op.convert(op.make("MatMul", a, b, **transposed), F32), op.get(6)
    if added is not None:
        product = op.make("Add", product, op.convert(added, F32))
    scales = op.make("Multiply", op[1], op[4])
    scaled = op.make("Multiply", product, scales)
    scaled = op.make("Multiply", scaled, op.number_of(op.number("alpha", 1.0), scaled))
    return scaled if op.get(7) is None else _again(op, scaled, 7)


def _per_column(op: Op, zero: Value | None, transposed: bool) -> Value | None:
    """Return the zero points; if there is one for each column of a transposed matrix, reshaped to its rows."""
    return zero if zero is None or not transposed or not column(zero) else op.reshape(zero, [-1, 1])


@microsoft(
    "DynamicQuantizeMatMul",
    shapes="A:; B: ... K N; b_scale: scalar | N | ... 1 N; b_zero_point: scalar | N | ... 1 N; bias: N",
)
def _dynamic(op: Op) -> Value:
    """Translate a product whose first matrix is quantized by its own range, as DynamicQuantizeLinear does."""
    a, zero = op[0], op.like(0.0)
    axes = op.axes_from(0)
    low = op.make("Minimum", op.make("ReduceMin", a, axes, keep_dims=False), zero)
    high = op.make("Maximum", op.make("ReduceMax", a, axes, keep_dims=False), zero)
    scale = op.make("Divide", op.make("Subtract", high, low), op.like(255.0))
    scale = op.make("Select", op.make("Equal", scale, zero), op.like(1.0), scale)
    begin = op.make("Divide", op.make("Negative", low), scale)
    point = op.convert(op.make("Round", begin, opset=5, mode="half_to_even"), U8)
    product = op.make("MatMul", whole(op, quantized(op, a, scale, point, U8), point), whole(op, op[1], op.get(3)))
    scales = op.make("Multiply", scale, op[2])
    return plus(op, op.make("Multiply", op.convert(product, F32), scales), op.get(4))


@microsoft(
    "QLinearWhere",
    shapes="condition:; X:; x_scale: scalar; x_zero_point: scalar; Y:; y_scale: scalar; y_zero_point: scalar;"
    " z_scale: scalar; z_zero_point: scalar",
)
def _where(op: Op) -> Value:
    of_x, of_y = dequantized(op, op[1], op[2], op[3]), dequantized(op, op[4], op[5], op[6])
    return quantized(op, op.make("Select", op[0], of_x, of_y), op[7], op[8], op.kind(8))


@microsoft("QLinearConv")
def _conv(op: Op) -> Value:
    if not op.flag("channels_last"):
        return quantized_conv(op)
    last = op.needs_rank() - 1
    op.inputs[0] = moved(op, op[0], last, 1)
    return moved(op, quantized_conv(op), 1, last)


@microsoft("QEmbedLayerNormalization")
def _embed(op: Op) -> list[Value]:
    """Translate EmbedLayerNormalization, whose tables have 8-bit elements."""
    tables = {2: (8, 13), 3: (9, 14), 4: (10, 15), 5: (11, 16), 6: (12, 17)}
    meant = {i: dequantized(op, op[i], op[s], op[z]) for i, (s, z) in tables.items() if op.get(i) is not None}
    op.inputs[:] = [meant.get(i, op.get(i)) for i in range(8)]
    return embedded(op)[:2]


@microsoft("DynamicQuantizeLSTM")
def _lstm(op: Op) -> list[Value]:
    return recurrent(op, "LSTM")
