"""Translators of ONNX's operators that return a shape, change a shape, or create a tensor of a shape.

Source: ONNX operator pages.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import BOOLEAN, F32, I8, I64
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import element_type
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.activation import flattened
from irexec.frontends.onnx.registry import corresponds, translates
from irexec.model.graph.model import Value

# Versions of several operators that only added element types.
_LATER = (21, 23, 24, 25)


@translates("Identity", since=(1, 13, 14, 16, 19, *_LATER))
def _identity(op: Op) -> Value:
    return op.same(op[0])


@translates("Reshape", since=(5, 13, 14, 19, *_LATER), shapes="data:; shape: R")
def _reshape(op: Op) -> Value:
    return op.reshape(op[0], op[1], zero_copies=not op.flag("allowzero"))


@translates("Reshape", since=(1,))
def _reshape_1(op: Op) -> Value:
    return op.reshape(op[0], op.integers("shape") or [], zero_copies=True)


@translates("Squeeze", since=(1, 11, 13, *_LATER), shapes="data:; axes: n")
def _squeeze(op: Op) -> Value:
    listed = op.integers("axes") if op.version < 13 else None
    axes = op.get(1) if listed is None else op.constant(np.array(listed, np.int64))
    shape, known = op[0].type.shape, None if axes is None else axes.node.constant
    extents = list(shape) if shape.rank is not None else []
    for axis in [] if known is None else known.reshape(-1).tolist():
        if -len(extents) <= axis < len(extents) and extents[axis].is_static and extents[axis] != 1:
            message = f"data has {extents[axis]} elements along axis {axis}, expected 1"
            raise Refused("O001", message, port="data", found=str(shape), allowed=f"1 along axis {axis}")
    return op.make("Squeeze", op[0], axes)


@translates("Unsqueeze", since=(1, 11, 13, *_LATER))
def _unsqueeze(op: Op) -> Value:
    axes = op.constant(np.array(op.integers("axes") or [], np.int64)) if op.version < 13 else op[1]
    known, rank = axes.node.constant, op.rank()
    if known is not None and not known.size:
        return op.same(op[0])
    if known is not None and rank is not None and known.size > np.unique(known % (rank + known.size)).size:
        raise Refused("O001", f"axes is {known.tolist()}, which contains an axis twice", port="axes")
    return op.make("Unsqueeze", op[0], axes)


@translates("Flatten", since=(1, 9, 11, 13, *_LATER))
def _flatten(op: Op) -> Value:
    return flattened(op, op.integer("axis", 1))


@translates("Shape", since=(1, 13, 15, 19, *_LATER))
def _shape(op: Op) -> Value:
    shape = op.shape_of(op[0])
    if not op.has("start") and not op.has("end"):
        return shape
    stop = op.integer("end", np.iinfo(np.int64).max)
    return op.make("Slice", shape, [op.integer("start", 0)], [stop], [1], opset=8)


@translates("Size", since=(1, 13, 19, *_LATER))
def _size(op: Op) -> Value:
    return op.make("ReduceProd", op.shape_of(op[0]), [0], keep_dims=False)


corresponds("Expand", "Broadcast", 2, since=(8, 13), opset=3, mode="bidirectional", shapes="input:; shape: R")


@translates("Constant", since=(1, 9, 11, 12, 13, 19, *_LATER))
def _constant(op: Op) -> Value:
    given = [name for name in op.attributes if name.startswith("value")]
    given += [name for name in op.attributes if name == "sparse_value"]
    if len(given) != 1:
        raise Refused("F004", f"{len(given)} attributes give the constant its value, expected one")
    (name,) = given
    if (tensor := op.tensor("value") if name == "value" else None) is not None:
        return op.constant(*tensor)
    if (tensor := op.sparse(name) if name == "sparse_value" else None) is not None:
        return op.constant(*tensor)
    if name in ("value_int", "value_ints"):
        return op.constant(np.array(op.integer(name) if name == "value_int" else op.integers(name) or [], np.int64))
    if name in ("value_float", "value_floats"):
        return op.constant(np.array(op.number(name) if name == "value_float" else op.numbers(name), np.float32))
    return op.constant(np.array(op.text(name) if name == "value_string" else op.texts(name), np.dtypes.StringDType()))


@translates("ConstantOfShape", since=(9, 20, *_LATER), shapes="input: R")
def _constant_of_shape(op: Op) -> Value:
    array, kind = op.tensor("value") or (np.zeros(1, np.float32), F32)
    if array.size != 1:
        raise Refused("F004", f"the value has {array.size} elements, expected one", attribute="value")
    return op.make("Broadcast", op.constant(array.reshape(()), kind), op[0], opset=3)


@translates("Range", since=(11, 27), shapes="start: scalar; limit: scalar; delta: scalar")
def _range(op: Op) -> Value:
    ends = [op[i] if op.rank(i) == 0 else op.reshape(op[i], []) for i in range(3)]
    return op.make("Range", *ends, opset=4, output_type=op.kind())


@translates("EyeLike", since=(9, 22), shapes="input: M N")
def _eye_like(op: Op) -> Value:
    kind = element_type(op.integer("dtype")) if op.has("dtype") else op.kind()
    if kind is None:
        raise Refused("F004", f"dtype is {op.integer('dtype')}, which is not a data type", attribute="dtype")
    rows, columns = (op.extent(op[0], axis) for axis in (0, 1))
    # IR's Eye has no boolean result.
    made = op.make("Eye", rows, columns, op.integer("k", 0), opset=9, output_type=I8 if kind is BOOLEAN else kind)
    return op.convert(made, kind)


@translates("OneHot", since=(9, 11, 28), shapes="indices:; depth: scalar; values: 2")
def _one_hot(op: Op) -> Value:
    indices = op.convert(op[0], I64)
    depth = op.convert(op[1], I64)
    if depth.type.shape.rank != 0:
        depth = op.reshape(depth, [])
    off, on = (op.make("Gather", op[2], place, 0, opset=8) for place in (0, 1))
    options = {"axis": op.integer("axis", -1), "negative_indices_mode": "normalize"}
    return op.make("OneHot", indices, depth, on, off, opset=16, **options)


corresponds("NonZero", "NonZero", since=(9, 13), opset=3, output_type="i64")


@translates("Unique", since=(11, 28))
def _unique(op: Op) -> list[Value]:
    axis = op.integer("axis") if op.has("axis") else None
    return list(op.make_node("Unique", op[0], axis, opset=10, sorted=op.flag("sorted", True)).outputs)
