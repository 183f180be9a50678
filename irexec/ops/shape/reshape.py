"""Reshape: the same elements in another shape.

Source: operation page Reshape-1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Annotated, Any

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType, as_dimension
from irexec.ops.rules.axes import filled, integers, length_of
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, NodeTypes, operator, require
from irexec.ops.spec.tensors import AnyTensor, IntegerShape
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, Moving, Reshaping, SizesIn, Unpacking


@operator(
    "Reshape",
    "opset1",
    Homogeneous,
    Reshaping,
    Moving,
    SizesIn(1),
    Unpacking,
    CarriesSizes,
    view="data",
)
def reshape_1(
    data: AnyTensor, shape: IntegerShape, /, *, special_zero: Annotated[bool, AsRead(default=False)]
) -> AnyTensor:
    """`data` in `shape`: one -1 takes the remaining elements, and with `special_zero` a 0 copies the dimension at its
    position.

    Raises ConstraintError C1 when the number of elements would change, C2 for a second -1, C3 for a special zero
    beyond the rank of `data`, C5 for another negative extent. Shape rule: C4 shape is 1D.
    """
    return data.reshape(_target(data.shape, integers(shape), special_zero))


def _target(extents: tuple[int, ...], pattern: list[int], special_zero: bool) -> list[int]:
    """Return the pattern with -1 and special zeros resolved."""
    _check_pattern(require, pattern)
    copied = [i for i, n in enumerate(pattern) if n == 0 and special_zero]
    _check_copied(require, copied, len(extents))
    target = [extents[i] if i in copied else n for i, n in enumerate(pattern)]
    # Data and result have the copied dimensions in common: the extent for -1 is computed without them, as they may be
    # 0.
    source = prod(n for i, n in enumerate(extents) if i not in copied)
    others = prod(n for i, n in enumerate(target) if i not in copied and n != -1)
    if -1 in target:
        # If another extent is 0, any number fits -1: it is set to 0.
        left = source // others if others else 0
        target[target.index(-1)] = left
        others *= left
    if others != source:
        given = TensorType(shape=PartialShape(extents)), TensorType.of(np.array(pattern))
        _rule(require, *given, special_zero=special_zero)
    return target


@reshape_1.specialize
def _(node: NodeTypes, *, special_zero: bool) -> Callable[..., Any] | None:
    """Resolve a constant pattern for a static shape once, before the run."""
    data, shape = node.inputs[0], node.constants[1]
    if data is None or shape is None or data.shape.is_dynamic:
        return None
    target = tuple(_target(data.shape.to_shape(), integers(shape), special_zero))

    def reshape(data: Array, *_: Any, **__: Any) -> Array:
        return data.reshape(target)

    return reshape


def _check_pattern(check: Check, pattern: Sequence[int | Dimension]) -> bool:
    """Check C5: no extent is negative except -1. Check C2: at most one extent is -1."""
    negative = [n for n in pattern if isinstance(n, int) and n < 0]
    wrong, lefts = [n for n in negative if n < -1], negative.count(-1)
    fits = check("C5", not wrong, f"shape has the negative extents {wrong}; only -1 is allowed", port="shape")
    message = f"shape [{', '.join(map(str, pattern))}] contains -1 {lefts} times, expected at most once"
    return check("C2", lefts < 2, message, port="shape") and fits


def _check_copied(check: Check, copied: list[int], rank: int) -> bool:
    message = f"shape copies dimension {max(copied, default=0)}, which data of rank {rank} does not have"
    allowed = "zeros at dimensions of data"
    return check("C3", max(copied, default=-1) < rank, message, port="shape", allowed=allowed)


@reshape_1.shapes
def _rule(check: Check, data: TensorType, shape: TensorType, *, special_zero: bool) -> PartialShape:
    has_rank(check, "C4", shape, 1, "shape")
    known, length = shape.known, length_of(shape)
    if known is None:
        return PartialShape.dynamic(length)
    if not _check_pattern(check, known):
        return PartialShape.dynamic(len(known))
    lefts = [i for i, n in enumerate(known) if isinstance(n, int) and n == -1]
    dims = [ANY_DIMENSION if i in lefts else as_dimension(n) for i, n in enumerate(known)]
    copied = [i for i, n in enumerate(known) if special_zero and isinstance(n, int) and n == 0]
    if data.rank is None:
        return PartialShape(ANY_DIMENSION if i in copied else d for i, d in enumerate(dims))
    if not _check_copied(check, copied, data.rank):
        return PartialShape.dynamic(len(known))
    for i in copied:
        dims[i] = data.shape[i]
    # Data and result have the copied dimensions in common: the extent for -1 is computed without them.
    source = Dimension.product([d for i, d in enumerate(data.shape) if i not in copied])
    rest = [i for i in range(len(dims)) if i not in copied]
    return PartialShape(_resolved(check, data, dims, rest, lefts, source))


def _resolved(
    check: Check, data: TensorType, dims: list[Dimension], rest: list[int], lefts: list[int], source: Dimension
) -> list[Dimension]:
    """Return `dims` with an unknown dimension computed from the number of elements `source`; report breaches of C1.

    `rest`: the axes that are not copied. `lefts`: the axis of -1.
    """
    open_ = lefts or [i for i in rest if dims[i].is_dynamic]
    others = Dimension.product([dims[i] for i in rest if i not in open_])

    def check_count(fits: bool, **details: Any) -> None:
        if fits:
            holds("C1")
            return
        target = f"[{', '.join('-1' if i in lefts else str(d) for i, d in enumerate(dims))}]"
        message = f"shape {target} does not fit the {source} elements of data {data.shape}"
        check("C1", False, message, port="shape", **details)

    if lefts and others.is_dynamic and others.min:
        low = 0 if others.max is None else -(-source.min // others.max)
        high = None if source.max is None else source.max // others.min
        left = Dimension(low, high) if high is None or low <= high else ANY_DIMENSION
        return [left if i in lefts else d for i, d in enumerate(dims)]
    if len(open_) > 1 or others.is_dynamic:
        return dims
    count = others.value
    if not open_:
        # Unknown extents are integers, so the product of the known extents must divide the count.
        divisor = prod(d.value for i, d in enumerate(data.shape) if d.is_static and (i in rest or i >= len(dims)))
        fits = source.contains(count) and (count % divisor == 0 if divisor else count == 0)
        check_count(fits, found=str(count), allowed=str(source))
        return dims
    if count == 0:
        # If another extent is 0, any number fits -1: it is set to 0.
        check_count(source.contains(0))
        return [Dimension(0) if i in lefts else d for i, d in enumerate(dims)]
    if source.is_static:
        fits = source.value % count == 0
        left = Dimension(source.value // count) if fits else ANY_DIMENSION
    else:
        low, high = source.ceildiv(count).min, (source // count).max
        fits = high is None or low <= high
        left = Dimension(low, high) if fits else ANY_DIMENSION
    merged = dims[open_[0]].merge(left)
    check_count(fits and merged is not None, found=str(count), allowed=str(source))
    return [d if i not in open_ or merged is None else merged for i, d in enumerate(dims)]


@reshape_1.oracle.draw("shape")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw a shape with all elements in the last dimension."""
    length = types[port].shape[0].value
    last = -1 if types[port].element_type.is_signed else prod(types["data"].shape.to_shape())
    return filled(types, port, [1] * (length - 1) + [last] * min(length, 1))
