"""Shape rules that many operators share, referenced by name in declarations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from irexec.core.types import Dimension, PartialShape, TensorType, as_dimension
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.checks import holds
from irexec.ops.spec.constraints import Limits
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check


def same_as(port: int = 0) -> Callable[..., PartialShape]:
    """Return the rule that the output has the shape of the input at this position."""

    def rule(check: Check, *inputs: TensorType) -> PartialShape:
        return inputs[port].shape

    return rule


@group
class Broadcasting:
    """The broadcasting of two operands to one shape.

    auto_broadcast: `explicit` is a synonym of `none` that is not in the pages but is accepted by OpenVINO's reader.

    auto_broadcast_axis: under `pdpd`, the axis of `a` that is aligned with the first axis of `b`; -1 aligns the last
    axes. No operator page has this attribute, but OpenVINO writes it; its default is 0.
    """

    auto_broadcast: Literal["numpy", "none", "pdpd", "explicit"] = "numpy"
    auto_broadcast_axis: Annotated[int, AsRead("auto_broadcast.auto_broadcast_axis")] = 0


def broadcast(check: Check, a: TensorType, b: TensorType, *, how: Broadcasting) -> PartialShape:
    """Return the shape of two operands under `auto_broadcast`: numpy, pdpd (b along a's axes from a given axis
    on), none or explicit (equal).
    """
    return broadcast_shapes(check, a.shape, b.shape, how)


def broadcast_shapes(
    check: Check, a: PartialShape, b: PartialShape, how: Broadcasting, port: str = "b"
) -> PartialShape:
    """Return the common shape of two operands; report a breach of "broadcast" if they do not broadcast."""
    if how.auto_broadcast == "numpy":
        shape = a.broadcast(b)
        if shape is None:
            check("broadcast", False, f"shapes {a} and {b} do not broadcast", port=port, found=str(b), allowed=str(a))
        return shape if shape is not None else PartialShape.dynamic()
    if how.auto_broadcast == "pdpd":
        return _pdpd(check, a, b, port, how.auto_broadcast_axis)
    merged = a.merge(b)
    if merged is None:
        message = f"shapes {a} and {b} differ, and auto_broadcast is {how.auto_broadcast!r}"
        check("broadcast", False, message, port=port, found=str(b), allowed=str(a))
        return PartialShape.dynamic()
    return merged


def _pdpd(check: Check, a: PartialShape, b: PartialShape, port: str, axis: int) -> PartialShape:
    """Return a's shape after PaddlePaddle's broadcasting: b is aligned with a's axes from `axis` on (-1: the last)."""
    if a.rank is None or b.rank is None:
        return a
    trimmed = list(b)
    start = a.rank - b.rank if axis == -1 else axis
    while trimmed and trimmed[-1].contains(1) and start + len(trimmed) > a.rank:
        trimmed.pop()
    fits = 0 <= start <= a.rank - len(trimmed) and (start < a.rank or b.rank == 0)
    fits = fits and all(y.contains(1) or x.compatible(y) for x, y in zip(a[start:], trimmed, strict=False))
    check("broadcast", fits, f"{b} does not broadcast into {a}", port=port, found=str(b), allowed=str(a))
    return a


def axis_in(check: Check, constraint: str, axis: int, rank: int | None, **where: Any) -> int | None:
    """Return the axis counted from the front; None for a dynamic rank, or (with a breach) outside [-rank, rank - 1]."""
    if rank is None:
        return None
    if -rank <= axis < rank:
        holds(constraint)
        return axis % rank
    allowed = Limits(-rank, rank - 1)
    check(constraint, False, f"axis {axis} is outside {allowed}", found=str(axis), allowed=allowed, **where)
    return None


def same_shape(check: Check, constraint: str, a: PartialShape, b: PartialShape, port: str) -> PartialShape:
    """Return both shapes merged; report a breach if no shape satisfies both."""
    merged = a.merge(b)
    if merged is None:
        check(constraint, False, f"{port} has shape {b}, expected {a}", port=port, found=str(b), allowed=str(a))
        return a
    holds(constraint)
    return merged


AnyRank = range(1 << 30)
"""All ranks, as the argument `ranks` of `has_rank`; `AnyRank[2:]` are the ranks of 2 or more."""


def has_rank(check: Check, constraint: str, tensor: TensorType, ranks: int | Sequence[int], port: str) -> bool:
    """Report a rank outside `ranks`; return True if the rank fits or is dynamic."""
    allowed, rank = (ranks,) if isinstance(ranks, int) else ranks, tensor.rank
    if rank is None or rank in allowed:
        holds(constraint)
        return True
    text = " or ".join(map(str, allowed)) if len(allowed) < 4 else f"{allowed[0]} or more"
    return check(constraint, False, f"{port} has rank {rank}, expected {text}", port=port, allowed=f"rank {text}")


def one_per_channel(
    check: Check, constraints: tuple[str, str], tensor: TensorType, port: str, channels: Dimension
) -> Dimension:
    """Report an input that is not 1D, or does not have one element per channel; return the number of channels, if
    known.

    `constraints`: the numbers of the constraints on the rank and on the length.
    """
    if not has_rank(check, constraints[0], tensor, 1, port) or tensor.rank is None:
        return channels
    length = tensor.shape[0]
    merged = channels.merge(length)
    message = f"{port} has {length} elements, expected one for each of the {channels} channels of data"
    check(constraints[1], merged is not None, message, port=port, found=str(length), allowed=str(channels))
    return merged or channels


def dimension_of(value: int | Dimension | None) -> Dimension:
    """Return an extent from a known value, an interval, or None (any extent)."""
    return Dimension(-1) if value is None else as_dimension(value)
