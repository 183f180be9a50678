"""Tile: a tensor repeated along its dimensions.

Source: operation page Tile-1. A negative count gives an empty dimension, as in OpenVINO.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import INTEGERS, MAX_KNOWN, Array, Dimension, PartialShape, TensorType, as_dimension
from irexec.ops.rules.axes import filled, integers, into, length_of
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, Elements, operator
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, Moving, SizesIn

T_REPEATS: TypeAlias = Annotated[Array, Elements("T_REPEATS", INTEGERS)]


@operator("Tile", "opset1", CarriesSizes, Homogeneous, Moving, SizesIn(1))
def tile_1(data: AnyTensor, repeats: T_REPEATS, /, *, out: Array | None = None) -> AnyTensor:
    """`data` repeated `repeats[d]` times along dimension d. Ones are prepended to the shorter of shape and repeats.

    Constraint: C1 repeats is 1D.
    """
    counts = [max(count, 0) for count in integers(repeats)]
    rank = max(len(counts), data.ndim)
    counts = [1] * (rank - len(counts)) + counts
    shape = (1,) * (rank - data.ndim) + data.shape
    result = tuple(count * extent for count, extent in zip(counts, shape, strict=True))
    if 0 in result:
        return np.empty(result, data.dtype) if out is None else out
    # A repeated dimension becomes two: the repetitions, along which data is broadcast, and its own extent.
    both = list(zip(counts, shape, strict=True))
    pairs = tuple(n for pair in both for n in (pair if pair[0] > 1 else pair[1:]))
    repeated = np.broadcast_to(data.reshape([n for count, e in both for n in ((1, e) if count > 1 else (e,))]), pairs)
    if out is not None and out.flags.c_contiguous:
        np.copyto(out.reshape(pairs), repeated)
        return out
    return into(repeated.reshape(result), out, data)


@tile_1.shapes
def _(check: Check, data: TensorType, repeats: TensorType) -> PartialShape:
    has_rank(check, "C1", repeats, 1, "repeats")
    length = length_of(repeats)
    if length is None or data.rank is None:
        return PartialShape.dynamic()
    rank = max(length, data.rank)
    known = repeats.known
    if known is None:
        return PartialShape([Dimension(-1)] * rank if rank <= MAX_KNOWN else None)
    counts = [Dimension(1)] * (rank - length) + [as_dimension(max(n, 0) if isinstance(n, int) else n) for n in known]
    extents = [Dimension(1)] * (rank - data.rank) + list(data.shape)
    return PartialShape(count * extent for count, extent in zip(counts, extents, strict=True))


@tile_1.oracle.draw("repeats")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, rng.integers(1, 4, types[port].shape.to_shape()))


@tile_1.oracle.undefined_for
def _(data: Array, repeats: Array) -> Undefined:
    """The result is undefined for a negative number of repetitions."""
    return "no result" if (repeats < 0).any() else False
