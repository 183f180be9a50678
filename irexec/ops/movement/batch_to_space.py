"""BatchToSpace and SpaceToBatch: elements moved between the batch and blocks of the other dimensions.

Source: operation pages BatchToSpace-2, SpaceToBatch-2.
"""

from __future__ import annotations

from math import prod

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType
from irexec.ops.rules.axes import filled, has_length, in_range, integers, into, regrouped
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.tensors import AnyTensor, LooseIntegers


@operator("BatchToSpace", "opset2")
def batch_to_space_2(
    data: AnyTensor,
    block_shape: LooseIntegers,
    crops_begin: LooseIntegers,
    crops_end: LooseIntegers,
    /,
    *,
    out: Array | None = None,
) -> AnyTensor:
    """`data` [batch, D1, ...], rearranged to [batch / product(block_shape), D1 * block_shape[1] - crops, ...].

    Raises ConstraintError C1 unless block_shape[0] is 1 and the batch is not cropped, C2 when crops are negative or
    exceed the dimension before cropping, C4 for a block below 1, C5 unless there is one value per dimension, C6 when
    the product of block_shape does not divide the batch. Shape rule: C3 data has rank 2 or more.
    """
    blocks, begin, end = map(integers, (block_shape, crops_begin, crops_end))
    _check_values(require, blocks, crops_begin=begin, crops_end=end)
    batch, *space = data.shape
    inner = blocks[1:]
    rest = _divided(require, Dimension(batch), prod(blocks), "the batch of data").value
    n = len(space)
    parts = data.reshape(*inner, rest, *space)
    grown = [d * b for d, b in zip(space, inner, strict=True)]
    order = [n, *(axis for i in range(n) for axis in (n + 1 + i, i))]
    for axis, extent in enumerate(grown, 1):
        _check_crop(require, axis, begin[axis] + end[axis], extent)
    whole = parts.transpose(order).reshape(rest, *grown)
    kept = tuple(slice(b, g - e) for b, g, e in zip(begin[1:], grown, end[1:], strict=True))
    return into(whole[(slice(None), *kept)], out, data)


@operator("SpaceToBatch", "opset2")
def space_to_batch_2(
    data: AnyTensor,
    block_shape: LooseIntegers,
    pads_begin: LooseIntegers,
    pads_end: LooseIntegers,
    /,
    *,
    out: Array | None = None,
) -> AnyTensor:
    """`data` [batch, D1, ...], padded, rearranged to [batch * product(block_shape), padded D1 / block_shape[1], ...].

    The padding is zeros. Raises ConstraintError C1 unless block_shape[0] is 1 and the batch is not padded, C2 for a
    negative pad, C4 for a block below 1, C5 unless there is one value per dimension, C6 when a block does not divide
    its padded dimension. Shape rule: C3 data has rank 2 or more.
    """
    blocks, begin, end = map(integers, (block_shape, pads_begin, pads_end))
    _check_values(require, blocks, pads_begin=begin, pads_end=end)
    padded = [b + n + e for b, n, e in zip(begin, data.shape, end, strict=True)]
    for axis, (extent, block) in enumerate(zip(padded, blocks, strict=True)):
        _divided(require, Dimension(extent), block, f"the padded dimension {axis}")
    if padded != list(data.shape):
        wide = np.zeros(padded, data.dtype)
        wide[tuple(slice(b, b + n) for b, n in zip(begin, data.shape, strict=True))] = data
        data = wide
    batch, *space = padded
    small = [n // b for n, b in zip(space, blocks[1:], strict=True)]
    parts = data.reshape(batch, *(part for pair in zip(small, blocks[1:], strict=True) for part in pair))
    n = len(space)
    order = [*(2 + 2 * i for i in range(n)), 0, *(1 + 2 * i for i in range(n))]
    return regrouped(parts, order, (batch * prod(blocks), *small), out, data)


def _check_values(check: Check, blocks: Known, **edges: Known) -> None:
    """Check C1, C2 and C4 for the values that are known."""
    in_range(check, "C4", "block_shape", blocks, 1)
    for name, values in {"block_shape": blocks, **edges}.items():
        first = int(name == "block_shape")
        message = (
            f"{name} starts with {(values or [first])[0]}, expected {first}: the batch dimension is "
            "not divided into blocks"
        )
        check("C1", not values or values[0] == first, message, port=name)
        if name in edges:
            in_range(check, "C2", name, values, 0)


def _check_crop(check: Check, axis: int, crop: int, extent: int | None) -> None:
    message = f"the crops remove {crop} elements of dimension {axis}, which has only {extent} elements before cropping"
    check("C2", extent is None or crop <= extent, message, port="crops_begin")


Known = list[int] | None


def _known(check: Check, data: TensorType, blocks: TensorType, **edges: TensorType) -> tuple[Known, Known, Known]:
    has_rank(check, "C3", data, AnyRank[2:], "data")
    for name, tensor in {"block_shape": blocks, **edges}.items():
        has_length(check, "C5", tensor, data.rank, name)
    _check_values(check, blocks.ints, **{name: tensor.ints for name, tensor in edges.items()})
    found = [blocks.ints, *(tensor.ints for tensor in edges.values())]
    fitting = [v if v is not None and len(v) == data.rank else None for v in found]
    return fitting[0], fitting[1], fitting[2]


@batch_to_space_2.shapes
def _(
    check: Check, data: TensorType, block_shape: TensorType, crops_begin: TensorType, crops_end: TensorType
) -> PartialShape:
    blocks, begin, end = _known(check, data, block_shape, crops_begin=crops_begin, crops_end=crops_end)
    if data.rank is None or blocks is None:
        return PartialShape.dynamic(data.rank)
    dims = [_divided(check, data.shape[0], prod(blocks), "the batch of data")]
    for axis in range(1, data.rank):
        grown = data.shape[axis] * max(blocks[axis], 1)
        if begin is None or end is None:
            dims.append(Dimension(0, grown.max))
            continue
        crop = max(begin[axis], 0) + max(end[axis], 0)
        _check_crop(check, axis, crop, grown.max)
        dims.append(grown - crop)
    return PartialShape(dims)


@space_to_batch_2.shapes
def _(
    check: Check, data: TensorType, block_shape: TensorType, pads_begin: TensorType, pads_end: TensorType
) -> PartialShape:
    blocks, begin, end = _known(check, data, block_shape, pads_begin=pads_begin, pads_end=pads_end)
    if data.rank is None or blocks is None:
        return PartialShape.dynamic(data.rank)
    dims = [data.shape[0] * max(prod(blocks), 0)]
    for axis in range(1, data.rank):
        if begin is None or end is None:
            dims.append(ANY_DIMENSION)
            continue
        padded = data.shape[axis] + max(begin[axis], 0) + max(end[axis], 0)
        dims.append(_divided(check, padded, blocks[axis], f"padded dimension {axis}"))
    return PartialShape(dims)


def _divided(check: Check, extent: Dimension, parts: int, what: str) -> Dimension:
    if parts < 1:
        return ANY_DIMENSION
    message = f"{what} is {extent}, not a multiple of {parts}"
    check("C6", extent.is_dynamic or extent.value % parts == 0, message, port="block_shape")
    low, high = extent.ceildiv(parts).min, (extent // parts).max
    return Dimension(low, high) if high is None or low <= high else ANY_DIMENSION


@batch_to_space_2.oracle.draw("block_shape", "crops_begin", "crops_end")
@space_to_batch_2.oracle.draw("block_shape", "pads_begin", "pads_end")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, int(port == "block_shape"))
