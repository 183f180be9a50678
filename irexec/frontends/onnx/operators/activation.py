"""Translators of ONNX's activations."""

from __future__ import annotations

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import EXPERIMENTAL, corresponds, translates
from irexec.model.graph.model import Value

corresponds("Relu", "ReLU", since=(1, 6, 13, 14))
corresponds("Sigmoid", "Sigmoid", since=(1, 6, 13))
corresponds("Softplus", "SoftPlus", since=(1, 22), opset=4)
corresponds("Softsign", "SoftSign", since=(1, 22), opset=9)
corresponds("Mish", "Mish", since=(18, 22), opset=4)
corresponds("HardSwish", "HSwish", since=(14, 22), opset=4)


@translates("Swish", since=(24,))
def _swish(op: Op) -> Value:
    alpha = op.number("alpha", 1.0)
    if alpha >= 0:
        return op.make("Swish", op[0], op.like(alpha), opset=4)
    # IR's Swish accepts no negative beta.
    return op.make("Multiply", op[0], op.make("Sigmoid", op.make("Multiply", op[0], op.like(alpha))))


@translates("Gelu", since=(20,))
def _gelu(op: Op) -> Value:
    mode = {"none": "erf", "tanh": "tanh"}[op.text("approximate", "none", allowed=("none", "tanh"))]
    return op.make("Gelu", op[0], opset=7, approximation_mode=mode)


@translates("Elu", since=(1, 6, 22))
def _elu(op: Op) -> Value:
    return op.make("Elu", op[0], alpha=op.number("alpha", 1.0))


@translates("Celu", since=(12, 28))
def _celu(op: Op) -> Value:
    number = op.number("alpha", 1.0)
    alpha, zero = op.like(number), op.like(0.0)
    ratio = op.make("Divide", op[0], alpha)
    if number > 0:
        return op.make("Multiply", op.make("Elu", ratio, alpha=1.0), alpha)
    below = op.make("Multiply", op.make("Subtract", op.make("Exp", ratio), op.like(1.0)), alpha)
    return op.make("Add", op.make("Maximum", op[0], zero), op.make("Minimum", below, zero))


@translates("Selu", since=(1, 6, 22))
def _selu(op: Op) -> Value:
    # Version 1 has its own constants, with fewer digits.
    alpha, gamma = (1.6732, 1.0507) if op.version == 1 else (1.67326319217681884765625, 1.05070102214813232421875)
    return op.make("Selu", op[0], op.like(op.number("alpha", alpha)), op.like(op.number("gamma", gamma)))


@translates("HardSigmoid", since=(1, 6, 22))
def _hard_sigmoid(op: Op) -> Value:
    return op.make("HardSigmoid", op[0], op.like(op.number("alpha", 0.2)), op.like(op.number("beta", 0.5)))


@translates("LeakyRelu", since=(1, 6, 16))
def _leaky_relu(op: Op) -> Value:
    return op.make("PReLU", op[0], op.like(op.number("alpha", 0.01)))


@translates("PRelu", since=(7, 9, 16), shapes="X:; slope: <X")
def _prelu(op: Op) -> Value:
    # IR's PReLU applies a slope of rank 1 to the channels, ONNX's to the last axis.
    x, slope = op[0], op[1]
    product = op.make("Multiply", x, slope)
    negative = op.make("Less", x, op.like(0))
    return op.make("Select", negative, product, x)


corresponds("PRelu", "PReLU", 2, since=(1, 6))


@translates("ThresholdedRelu", since=(EXPERIMENTAL, 10, 22))
def _thresholded_relu(op: Op) -> Value:
    above = op.make("Greater", op[0], op.like(op.number("alpha", 1.0)))
    return op.make("Select", above, op[0], op.like(0))


@translates("Shrink", since=(9,))
def _shrink(op: Op) -> Value:
    # Integers are shifted by a real number and only then rounded towards zero.
    x = op.reals(op[0])
    bias, bound = op.number_of(op.number("bias", 0.0), x), op.number("lambd", 0.5)
    below = op.make("Less", x, op.number_of(-bound, x))
    above = op.make("Greater", x, op.number_of(bound, x))
    upper = op.make("Select", above, op.make("Subtract", x, bias), op.number_of(0, x))
    return op.convert(op.make("Select", below, op.make("Add", x, bias), upper), op.kind())


_SOFT = {"Softmax": ("SoftMax", 8), "LogSoftmax": ("LogSoftmax", 5)}


@translates("Softmax", "LogSoftmax", since=(13,))
def _softmax(op: Op) -> Value:
    type, opset = _SOFT[op.type]
    return op.make(type, op[0], opset=opset, axis=op.integer("axis", -1))


@translates("Softmax", "LogSoftmax", since=(1, 11))
def _flat_softmax(op: Op) -> Value:
    """Return a softmax of versions before 13: all axes from `axis` on are normalized together."""
    type, opset = _SOFT[op.type]
    rank, axis = op.rank(), op.integer("axis", 1)
    if axis == -1 or (rank is not None and axis % max(rank, 1) == rank - 1):
        return op.make(type, op[0], opset=opset, axis=axis)
    soft = op.make(type, flattened(op, axis), opset=opset, axis=1)
    return op.reshape(soft, op.shape_of(op[0]))


@translates("Hardmax", since=(13,))
def _hardmax(op: Op) -> Value:
    return _one_where_greatest(op, op[0], op.integer("axis", -1))


@translates("Hardmax", since=(1, 11))
def _flat_hardmax(op: Op) -> Value:
    hard = _one_where_greatest(op, flattened(op, op.integer("axis", 1)), 1)
    return op.reshape(hard, op.shape_of(op[0]))


def _one_where_greatest(op: Op, x: Value, axis: int) -> Value:
    """Return 1 at the first greatest element along an axis, 0 elsewhere."""
    options = {"mode": "max", "sort": "value", "stable": True, "index_element_type": "i64"}
    top = op.make_node("TopK", x, 1, opset=11, axis=axis, **options)
    shape = op.shape_of(x)
    zeros = op.make("Broadcast", op.like(0), shape, opset=3)
    ones = op.make("Broadcast", op.like(1), op.shape_of(top.outputs[1]), opset=3)
    return op.make("ScatterElementsUpdate", zeros, top.outputs[1], ones, axis, opset=12)


def flattened(op: Op, axis: int) -> Value:
    """Return the input as a matrix: the axes before `axis` by the axes from it on."""
    rank = op.rank()
    if rank is not None:
        if not -rank <= axis <= rank:
            op.refuse(f"axis is {axis}, expected {-rank} to {rank}", attribute="axis", allowed=f"{-rank} to {rank}")
        axis += rank if axis < 0 else 0
    if axis in (0, 1):
        return op.reshape(op[0], [1 - axis, -1], zero_copies=axis == 1)
    shape, parts = op.shape_of(op[0]), ((0, axis), (axis, 2**31))
    sizes = [
        op.make("ReduceProd", op.make("Slice", shape, [begin], [end], [1], opset=8), [0], keep_dims=True)
        for begin, end in parts
    ]
    return op.reshape(op[0], op.make("Concat", *sizes, axis=0))
