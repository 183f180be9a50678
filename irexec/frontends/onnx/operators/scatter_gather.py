"""Translators of ONNX's Gather and Scatter families.

Source: ONNX operator pages.
"""

from __future__ import annotations

from irexec.core.types import C64, C128, I64, STRING, Dimension
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_REDUCTIONS = {"none": "none", "add": "sum", "mul": "prod", "max": "max", "min": "min"}


@translates("Gather", since=(1, 11, 13))
def _gather(op: Op) -> Value:
    # Gather of opset 7 rejects an index out of range, as ONNX does; that of opset 8 returns zeros.
    return op.make("Gather", op[0], op[1], op.integer("axis", 0), opset=7)


@translates("GatherElements", since=(11, 13))
def _gather_elements(op: Op) -> Value:
    axis, data, indices = op.axis("axis", 0), op[0], op[1]
    rank = op.rank() if op.rank() is not None else op.needs_rank(1)
    others = [i for i in range(rank or 0) if i != axis % (rank or 1)]
    known = None not in (op.rank(0), op.rank(1))
    if others and not (known and all(_same(data.type.shape[i], indices.type.shape[i]) for i in others)):
        # ONNX ignores elements beyond the indices' extents; IR requires equal extents.
        extents = op.extent(indices, others)
        data = op.make("Slice", data, [0] * len(others), extents, [1] * len(others), others, opset=8)
    return op.make("GatherElements", data, indices, opset=6, axis=axis)


def _same(a: Dimension, b: Dimension) -> bool:
    return a.is_static and a == b


@translates("GatherND", since=(11, 12, 13))
def _gather_nd(op: Op) -> Value:
    return op.make("GatherND", op[0], op[1], opset=8, batch_dims=op.integer("batch_dims", 0))


@translates("Scatter", since=(9, 11))
@translates("ScatterElements", since=(11, 13))
def _scatter_elements_13(op: Op) -> Value:
    return op.make("ScatterElementsUpdate", op[0], op[1], op[2], op.integer("axis", 0), opset=12)


@translates("ScatterElements", since=(16, 18))
def _scatter_elements(op: Op) -> Value:
    reduction = _REDUCTIONS[op.text("reduction", "none", allowed=tuple(_REDUCTIONS)[: 3 if op.version < 18 else 5])]
    return op.make("ScatterElementsUpdate", op[0], op[1], op[2], op.integer("axis", 0), opset=12, reduction=reduction)


@translates("TensorScatter", since=(24,), shapes="past_cache: N ...; update: N ...; write_indices: N")
def _tensor_scatter(op: Op) -> Value:
    """Write updates into a cache along the axis of the sequence, at a separate position for each batch."""
    rank = op.needs_rank()
    axis = op.axis("axis", -2)
    if axis == 0:
        op.refuse("axis is 0, which is the axis of the batches", attribute="axis")
    extents = " ".join("_" if i == axis else f"E{i}" for i in range(rank))
    op.check_shapes(f"past_cache: {extents}; update: {extents}")
    shape = op.shape_of(op[1])
    length = op.make("Gather", shape, axis, 0, opset=8)
    places = op.reshape(op.make("Range", 0, length, 1, opset=4, output_type=I64), _along(axis, rank))
    if op.get(2) is not None:
        places = op.make("Add", places, op.reshape(op[2], _along(0, rank)))
    if op.text("mode", "linear", allowed=("linear", "circular")) == "circular":
        extent = op.extent(op[0], axis)
        places = op.make("FloorMod", places, extent)
    places = op.make("Broadcast", places, shape, opset=3)
    return op.make("ScatterElementsUpdate", op[0], places, op[1], axis, opset=12)


def _along(axis: int, rank: int) -> list[int]:
    """Return the shape of a tensor with its elements along one axis."""
    return [-1 if i == axis else 1 for i in range(rank)]


@translates("ScatterND", since=(11, 13, 16, 18))
def _scatter_nd(op: Op) -> Value:
    reduction = op.text("reduction", "none", allowed=tuple(_REDUCTIONS)[: 3 if op.version < 18 else 5])
    kind = op.kind()
    # IR's operator supports neither complex numbers nor sums of strings, and its maximum and minimum ignore NaN.
    own = kind in (C64, C128) or (kind is STRING and reduction != "none")
    if own or (kind.is_real and reduction in ("max", "min")):
        options = {"reduction": reduction} if op.version >= 16 else {}
        return op.make("ScatterND", op[0], op[1], op[2], opset=f"onnx{op.version}", **options)
    return op.make("ScatterNDUpdate", op[0], op[1], op[2], opset=15, reduction=_REDUCTIONS[reduction])
