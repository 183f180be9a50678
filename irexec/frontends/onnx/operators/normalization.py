"""Translators of ONNX's normalization.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.core.types import F32, F64, ElementType
from irexec.frontends.onnx.op import Input, Op
from irexec.frontends.onnx.operators.quantization import real_type
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value


@translates("BatchNormalization", since=(14, 15), shapes="X: N C ...; scale: C; B: C; input_mean: C; input_var: C")
def _batch_normalization(op: Op) -> list[Value]:
    if op.flag("training_mode"):
        options = {"epsilon": op.number("epsilon", 1e-5), "momentum": op.number("momentum", 0.9)}
        return list(op.make_node("BatchNormalization", *(op[i] for i in range(5)), opset="onnx15", **options).outputs)
    return [_normalized_batch(op)]


@translates("BatchNormalization", since=(9,), shapes="X: N C ...; scale: C; B: C; mean: C; var: C")
def _batch_normalization_9(op: Op) -> Value:
    return _normalized_batch(op)


@translates("BatchNormalization", since=(1, 6, 7))
def _batch_normalization_7(op: Op) -> Value:
    if op.version < 7 and not op.flag("is_test"):
        op.refuse("batch normalization in training is not supported", attribute="is_test")
    if not op.flag("spatial", True):
        return _of_each_element(op)
    op.check_shapes("X: N C ...; scale: C; B: C; mean: C; var: C")
    return _normalized_batch(op)


def _of_each_element(op: Op) -> Value:
    """Translate statistics that have the shape of one image (spatial 0)."""
    op.check_shapes("X:; scale: <X; B: <X; mean: <X; var: <X")
    scale, bias, mean, variance = (op[i] for i in range(1, 5))
    deviation = op.make("Sqrt", op.make("Add", variance, op.like(op.number("epsilon", 1e-5))))
    normal = op.make("Divide", op.make("Subtract", op[0], mean), deviation)
    return op.make("Add", op.make("Multiply", normal, scale), bias)


def _normalized_batch(op: Op) -> Value:
    epsilon = op.number("epsilon", 1e-5)
    kind = op.kind()
    given = [op.convert(op[i], kind) for i in range(1, 5)]
    return op.make("BatchNormInference", op[0], *given, opset=5, epsilon=epsilon)


@translates("InstanceNormalization", since=(1, 6, 22), shapes="input: N C D ...; scale: C; B: C")
def _instance_normalization(op: Op) -> Value:
    normal = normalized(op, op[0], op.axes_from(2), op.number("epsilon", 1e-5))
    scaled = op.make("Multiply", normal, op.along_channels(op[1], op[0]))
    return op.make("Add", scaled, op.along_channels(op[2], op[0]))


def normalized(op: Op, x: Value, axes: Input, epsilon: float) -> Value:
    """Return the value minus its mean over the axes, divided by its standard deviation."""
    if epsilon <= 0:  # which IR does not allow
        apart, deviation = _deviation(op, x, op.make("ReduceMean", x, axes, keep_dims=True), axes, epsilon)
        return op.make("Divide", apart, deviation)
    options = {"normalize_variance": True, "eps": epsilon, "eps_mode": "inside_sqrt"}
    return op.make("MVN", x, axes, opset=6, **options)


def _deviation(op: Op, x: Value, mean: Value, axes: Input, epsilon: float) -> tuple[Value, Value]:
    """Return the difference of a value and its mean, and the standard deviation."""
    apart = op.make("Subtract", x, mean)
    variance = op.make("ReduceMean", op.make("Multiply", apart, apart), axes, keep_dims=True)
    return apart, op.make("Sqrt", op.make("Add", variance, op.number_of(epsilon, x)))


@translates("LayerNormalization", since=(17,), shapes="X:; Scale: <X; B: <X")
def _layer_normalization(op: Op) -> list[Value]:
    axes = op.axes_from(op.axis("axis", -1))
    x, epsilon = op[0], op.number("epsilon", 1e-5)
    # The statistics have a type of their own. They are also computed in it, unless the input is wider.
    kind = _stage_one(op)
    wide = op.convert(x, F32) if kind is F32 and x.element_type is not F64 else x
    normal = op.convert(normalized(op, wide, axes, epsilon), x.element_type)
    y = op.make("Multiply", normal, op[1])
    results = [y if op.get(2) is None else op.make("Add", y, op[2])]
    if op.wants(1) or op.wants(2):
        mean = op.make("ReduceMean", wide, axes, keep_dims=True)
        _, deviation = _deviation(op, wide, mean, axes, epsilon)
        inverse = op.make("Divide", op.number_of(1, wide), deviation)
        results += [op.convert(mean, kind), op.convert(inverse, kind)]
    return results


def _stage_one(op: Op) -> ElementType:
    """Return the element type in which a norm is computed before it is scaled."""
    return real_type(op, "stash_type") or F32


@translates("MeanVarianceNormalization", since=(9, 13))
def _mean_variance(op: Op) -> Value:
    axes = op.integers("axes") or [0, 2, 3]
    options = {"normalize_variance": True, "eps": 1e-9, "eps_mode": "outside_sqrt"}
    return op.make("MVN", op[0], axes, opset=6, **options)


@translates("GroupNormalization", since=(18, 21))
def _group_normalization(op: Op) -> Value:
    groups, epsilon = op.integer("num_groups"), op.number("epsilon", 1e-5)
    scale, bias = op[1], op[2]
    each = "num_groups" if op.version == 18 else "C"
    op.check_shapes(f"X: N C ...; scale: {each}; bias: {each}", num_groups=groups)
    if op.version == 18:
        # One scale and bias for each group, not for each channel.
        channels = op.extent(op[0], [1])
        target = op.make("Concat", [groups], op.make("Divide", channels, groups), axis=0)
        scale, bias = (
            op.reshape(op.make("Broadcast", op.reshape(v, [groups, 1]), target, opset=3), [-1]) for v in (scale, bias)
        )
    kind = _stage_one(op) if op.version > 18 else op.kind()
    # Kernels compute narrow types in f32 anyway.
    if epsilon > 0 and (kind is op.kind() or (kind is F32 and op.kind() is not F64)):
        return op.make("GroupNormalization", op[0], scale, bias, opset=12, num_groups=groups, epsilon=epsilon)
    groups_of = op.reshape(op.convert(op[0], kind), [0, groups, -1], zero_copies=True)
    normal = op.convert(normalized(op, groups_of, [2], epsilon), op.kind())
    scaled = op.make("Multiply", op.reshape(normal, op.shape_of(op[0])), op.along_channels(scale, op[0]))
    return op.make("Add", scaled, op.along_channels(bias, op[0]))


@translates("LpNormalization", since=(1, 22))
def _lp_normalization(op: Op) -> Value:
    p, axis = op.integer("p", 2), op.integer("axis", -1)
    if p not in (1, 2):
        op.refuse(f"p is {p}, expected 1 or 2", attribute="p", allowed="1, 2")
    norm = op.make(f"ReduceL{p}", op[0], [axis], opset=4, keep_dims=True)
    # If all elements are zero, so is the result.
    norm = op.make("Select", op.make("Equal", norm, op.like(0)), op.like(1), norm)
    return op.make("Divide", op[0], norm)


@translates("LRN", since=(1, 13))
def _lrn(op: Op) -> Value:
    options = {"alpha": op.number("alpha", 1e-4), "beta": op.number("beta", 0.75), "bias": op.number("bias", 1.0)}
    size = op.integer("size")
    if size % 2 and op.rank() is not None:
        return op.make("LRN", op[0], [1], opset=1, size=size, **options)
    return op.make("LRN", op[0], opset="onnx1", size=size, **options)
