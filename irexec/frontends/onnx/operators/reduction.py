"""Translators of ONNX's reductions: over given axes, over all axes, or over none."""

from __future__ import annotations

import numpy as np

from irexec.core.types import BOOLEAN, FLOATS, I64
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_IR = {
    "ReduceL1": ("ReduceL1", 4), "ReduceL2": ("ReduceL2", 4), "ReduceMax": ("ReduceMax", 1),
    "ReduceMean": ("ReduceMean", 1), "ReduceMin": ("ReduceMin", 1), "ReduceProd": ("ReduceProd", 1),
    "ReduceSum": ("ReduceSum", 1),
}  # fmt: skip


def axes_of(op: Op) -> Value | None:
    """Return the axes to reduce, from the attribute or the input; None if nothing is reduced."""
    given = op.get(1)
    if given is None and (listed := op.integers("axes")):
        return op.constant(np.array(listed, np.int64))
    empty = given is None or (given.type.shape.rank is not None and given.type.shape == [0])
    if not empty and given is not None:
        return given if given.type.shape.is_static or op.flag("noop_with_empty_axes") else _or_all(op, given)
    if op.flag("noop_with_empty_axes"):
        return None
    axes = op.axes_from(0)
    return axes if isinstance(axes, Value) else op.constant(np.array(axes, np.int64))


def _or_all(op: Op, axes: Value) -> Value:
    """Return the axes, or all axes if they are empty at run time."""
    rank = op.rank_of(op[0])
    count = op.make("Squeeze", op.shape_of(axes), [0])
    stop = op.make("Select", op.make("Equal", count, 0), rank, count)
    both = op.make("Concat", op.convert(axes, I64), op.axes_from(0), axis=0)
    return op.make("Slice", both, [0], op.reshape(stop, [1]), [1], opset=8)


def _reduce(op: Op, type: str, x: Value, axes: Value) -> Value:
    name, opset = _IR[type]
    return op.make(name, x, axes, opset=opset, keep_dims=op.flag("keepdims", True))


@translates("ReduceL1", "ReduceL2", "ReduceMean", "ReduceProd", since=(1, 11, 13, 18))
@translates("ReduceSum", since=(1, 11, 13))
@translates("ReduceMax", "ReduceMin", since=(1, 11, 12, 13, 18, 20))
def _plain(op: Op) -> Value:
    axes = axes_of(op)
    x = op[0]
    if axes is None:
        return op.make("Abs", x) if op.type in ("ReduceL1", "ReduceL2") else op.same(x)
    if x.element_type is BOOLEAN:
        type = "ReduceLogicalOr" if op.type == "ReduceMax" else "ReduceLogicalAnd"
        return op.make(type, x, axes, keep_dims=op.flag("keepdims", True))
    if op.type == "ReduceL2":
        return op.convert(_reduce(op, op.type, op.reals(op[0]), axes), op.kind())
    reduced = _reduce(op, op.type, x, axes)
    return _or_infinite(op, reduced) if op.type in ("ReduceMax", "ReduceMin") and x.element_type in FLOATS else reduced


def _or_infinite(op: Op, reduced: Value) -> Value:
    """Return the reduction with ONNX's result for no elements: an infinity, not IR's lowest or highest number."""
    shape = op[0].type.shape
    if shape.rank is not None and shape.size.min > 0:
        return reduced
    count = op.make("ReduceProd", op.shape_of(op[0]), [0], keep_dims=False)
    infinite = op.like(-np.inf if op.type == "ReduceMax" else np.inf)
    return op.make("Select", op.make("Equal", count, 0), infinite, reduced)


@translates("ReduceSumSquare", since=(1, 11, 13, 18))
def _sum_square(op: Op) -> Value:
    axes = axes_of(op)
    squares = op.make("Multiply", op[0], op[0])
    return squares if axes is None else _reduce(op, "ReduceSum", squares, axes)


@translates("ReduceLogSum", since=(1, 11, 13, 18, 28))
def _log_sum(op: Op) -> Value:
    axes, x = axes_of(op), op.reals(op[0])
    logs = op.make("Log", x if axes is None else _reduce(op, "ReduceSum", x, axes))
    return op.convert(logs, op.kind())


@translates("ReduceLogSumExp", since=(1, 11, 13, 18, 28))
def _log_sum_exp(op: Op) -> Value:
    axes, x = axes_of(op), op.reals(op[0])
    if axes is None:
        return op.convert(op.make("Log", op.make("Exp", x)), op.kind())
    # The greatest element is subtracted, so that no exponential overflows; if it is infinite, 0 is subtracted.
    top = op.make("ReduceMax", x, axes, keep_dims=True)
    top = op.make("Select", op.make("IsFinite", top, opset=10), top, op.number_of(0, x))
    small = op.make("Exp", op.make("Subtract", x, top))
    total = op.make("Log", op.make("ReduceSum", small, axes, keep_dims=True))
    result = op.convert(op.make("Add", total, top), op.kind())
    return result if op.flag("keepdims", True) else op.make("Squeeze", result, axes)


@translates("ArgMax", "ArgMin", since=(1, 11, 12, 13))
def _arg(op: Op) -> Value:
    axis, x = op.axis("axis", 0), op[0]
    last = op.flag("select_last_index")
    if last:
        extent = op.extent(x, axis)
        x = op.make("Reverse", x, [axis], mode="index")
    mode = "max" if op.type == "ArgMax" else "min"
    options = {"mode": mode, "sort": "value", "stable": True, "index_element_type": "i64"}
    found = op.make_node("TopK", x, 1, opset=11, axis=axis, **options).outputs[1]
    if last:
        found = op.make("Subtract", op.make("Subtract", extent, 1), found)
    return found if op.flag("keepdims", True) else op.make("Squeeze", found, [axis])


@translates("TopK", since=(11, 24), shapes="X: _ ...; K: 1")
def _top_k(op: Op) -> list[Value]:
    k = op.make("Squeeze", op[1], [0])
    return _top(op, k, op.flag("largest", True))


@translates("TopK", since=(10,), shapes="X: _ ...; K: 1")
def _top_k_10(op: Op) -> list[Value]:
    return _top(op, op.make("Squeeze", op[1], [0]), True)


@translates("TopK", since=(1,))
def _top_k_1(op: Op) -> list[Value]:
    return _top(op, op.constant(np.array(op.integer("k"), np.int64)), True)


def _top(op: Op, k: Value, largest: bool) -> list[Value]:
    known = k.node.constant if k.node.constant is not None else k.type.value
    axis = op.axis("axis", -1)
    if known is not None and known.item() == 0:
        # IR does not accept a k of 0.
        none = op.make("Slice", op[0], [0], [0], [1], [axis], opset=8)
        return [none, op.convert(none, I64)]
    if known is None:
        # If k is 0 at run time, one element is taken, if there is any, and then removed.
        extent = op.extent(op[0], axis)
        one = op.make("Minimum", extent, 1)
        taken = op.make("Select", op.make("Equal", k, 0), one, k)
        end = op.make("Unsqueeze", k, [0])
        return [op.make("Slice", part, [0], end, [1], [axis], opset=8) for part in _sorted(op, taken, largest)]
    return _sorted(op, k, largest)


def _sorted(op: Op, k: Value, largest: bool) -> list[Value]:
    # Equal elements are in the order of their indices, as with "stable" and any order.
    options = {"mode": "max" if largest else "min", "sort": "value", "stable": True, "index_element_type": "i64"}
    return list(op.make_node("TopK", op[0], k, opset=11, axis=op.integer("axis", -1), **options).outputs)
