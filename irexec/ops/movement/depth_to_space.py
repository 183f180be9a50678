"""DepthToSpace and SpaceToDepth: elements moved between the channels and blocks of the spatial dimensions.

Source: operation pages DepthToSpace-1, SpaceToDepth-1.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import into, regrouped
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.attributes import AsRead, Positive
from irexec.ops.spec.operator import Check, operator
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import Moving

BlockSize: TypeAlias = Annotated[Positive, AsRead(default=0)]
BlockMode: TypeAlias = Literal["blocks_first", "depth_first"]


@operator("DepthToSpace", "opset1", Moving)
def depth_to_space_1(
    data: AnyTensor, /, *, block_size: BlockSize = 1, mode: BlockMode, out: Array | None = None
) -> AnyTensor:
    """`data` [N, C, D1..DK], rearranged to [N, C / block_size^K, D1 * block_size, ...]: channels become blocks of
    space.

    "blocks_first": C is [block_size, ..., block_size, new depth], "depth_first": [new depth, block_size, ...].

    Raises ConstraintError C1 when block_size^K does not divide C. Shape rule: C2 data has rank 3 or more.
    """
    n, channels, *space = data.shape
    k = len(space)
    depth = channels // block_size**k
    shape = (n, depth, *(d * block_size for d in space))
    if block_size == 1 or not data.size:
        return into(data.reshape(shape), out, data)
    blocks = (block_size,) * k
    first = mode == "blocks_first"
    parts = data.reshape(n, *((*blocks, depth) if first else (depth, *blocks)), *space)
    result = out if out is not None and out.flags.c_contiguous else np.empty(shape, data.dtype)
    grid = result.reshape(n, depth, *(part for d in space for part in (d, block_size)))
    # Copy one position of every block at a time: a few strided copies are faster than many short runs.
    every = slice(None)
    for place in np.ndindex(*blocks):
        spots = (every, every, *(axis for offset in place for axis in (every, offset)))
        grid[spots] = parts[(every, *place) if first else (every, every, *place)]
    return into(result, None if result is out else out)


@operator("SpaceToDepth", "opset1", Moving)
def space_to_depth_1(
    data: AnyTensor, /, *, block_size: BlockSize = 1, mode: BlockMode, out: Array | None = None
) -> AnyTensor:
    """`data` [N, C, D1..DK], rearranged to [N, C * block_size^K, D1 / block_size, ...]: blocks of space become
    channels.

    "blocks_first": the new channels are [block_size, ..., block_size, C], "depth_first": [C, block_size, ...].

    Raises ConstraintError C1 when block_size does not divide each spatial dimension.
    Shape rule: C2 data has rank 3 or more.
    """
    n, channels, *space = data.shape
    k = len(space)
    small = [d // block_size for d in space]
    if block_size == 1 or not data.size:
        return into(data.reshape(n, channels * block_size**k, *small), out, data)
    parts = data.reshape(n, channels, *(part for d in small for part in (d, block_size)))
    spots, offsets = [2 + 2 * i for i in range(k)], [3 + 2 * i for i in range(k)]
    order = [0, *offsets, 1, *spots] if mode == "blocks_first" else [0, 1, *offsets, *spots]
    return regrouped(parts, order, (n, channels * block_size**k, *small), out, data)


def _split(check: Check, extent: Dimension, parts: int, what: str) -> Dimension:
    """Return the extent divided into equal parts; report a breach of C1 if there is a remainder."""
    if not extent.is_static:
        low, high = extent.ceildiv(parts).min, (extent // parts).max
        return Dimension(low, high) if high is None or low <= high else ANY_DIMENSION
    message = f"{what} is {extent}, not a multiple of {parts}"
    check("C1", extent.value % parts == 0, message, port="data", attribute="block_size")
    return extent // parts


def _spatial(check: Check, data: TensorType) -> int:
    """Return the number of spatial dimensions."""
    return len(data.shape) - 2 if has_rank(check, "C2", data, AnyRank[3:], "data") else 0


@depth_to_space_1.shapes
def _(check: Check, data: TensorType, *, block_size: int) -> PartialShape:
    k = _spatial(check, data)
    if not k:
        return data.shape
    depth = _split(check, data.shape[1], block_size**k, "the channel dimension of data")
    return PartialShape([data.shape[0], depth, *(d * block_size for d in data.shape[2:])])


@space_to_depth_1.shapes
def _(check: Check, data: TensorType, *, block_size: int) -> PartialShape:
    k = _spatial(check, data)
    if not k:
        return data.shape
    small = [_split(check, d, block_size, f"dimension {i + 2} of data") for i, d in enumerate(data.shape[2:])]
    return PartialShape([data.shape[0], data.shape[1] * block_size**k, *small])
