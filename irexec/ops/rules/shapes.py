"""Shape rules that many operators share, each named in one word at the declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from irexec.ops.declare.attributes import Alias
from irexec.ops.declare.checks import holds
from irexec.ops.declare.groups import group
from irexec.ops.declare.operator import Check
from irexec.types import Dimension, PartialShape, TensorType


def same_as(port: int = 0) -> Callable[..., PartialShape]:
    """The output has the shape of the input at this position."""

    def rule(check: Check, *inputs: TensorType) -> PartialShape:
        return inputs[port].shape

    return rule


@group
class Broadcasting:
    """How two operands come to one shape.

    auto_broadcast: `explicit` is OpenVINO's second word for `none`: the pages do not name it, its reader takes it.

    auto_broadcast_axis: under `pdpd`, the axis of `a` that the first axis of `b` goes along; -1: as far back as `b`
    reaches the end. No page of an operator has it, but OpenVINO writes it; left out it reads 0.
    """

    auto_broadcast: Literal["numpy", "none", "pdpd", "explicit"] = "numpy"
    auto_broadcast_axis: Annotated[int, Alias("auto_broadcast.auto_broadcast_axis")] = 0


def broadcast(check: Check, a: TensorType, b: TensorType, *, how: Broadcasting) -> PartialShape:
    """Two operands under `auto_broadcast`: numpy, pdpd (b along a's axes from one on), none or explicit (equal)."""
    return broadcast_shapes(check, a.shape, b.shape, how)


def broadcast_shapes(
    check: Check, a: PartialShape, b: PartialShape, how: Broadcasting, port: str = "b"
) -> PartialShape:
    """The common shape of two operands; a breach of "broadcast" when there is none."""
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
    """PaddlePaddle's form: b's dimensions go along a's from `axis` on (-1: to a's end); a decides the result."""
    if a.rank is None or b.rank is None:
        return a
    trimmed = list(b)
    start = a.rank - b.rank if axis == -1 else axis
    while trimmed and trimmed[-1] == 1 and start + len(trimmed) > a.rank:
        trimmed.pop()
    fits = 0 <= start <= a.rank - len(trimmed) and (start < a.rank or b.rank == 0)
    fits = fits and all(y == 1 or x.compatible(y) for x, y in zip(a[start:], trimmed, strict=False))
    check("broadcast", fits, f"{b} does not broadcast into {a}", port=port, found=str(b), allowed=str(a))
    return a


def axis_in(check: Check, constraint: str, axis: int, rank: int | None, **where: Any) -> int | None:
    """The axis counted from the front; None for a dynamic rank or (a breach) outside [-rank, rank - 1]."""
    if rank is None:
        return None
    if -rank <= axis < rank:
        holds(constraint)
        return axis % rank
    allowed = f"[{-rank}, {rank - 1}]"
    check(constraint, False, f"axis {axis} is outside {allowed}", found=str(axis), allowed=allowed, **where)
    return None


def same_shape(check: Check, constraint: str, a: PartialShape, b: PartialShape, port: str) -> PartialShape:
    """Both shapes merged; a breach when no shape satisfies both."""
    merged = a.merge(b)
    if merged is None:
        check(constraint, False, f"{port} has shape {b}, expected {a}", port=port, found=str(b), allowed=str(a))
        return a
    holds(constraint)
    return merged


def has_rank(check: Check, constraint: str, tensor: TensorType, ranks: int | Sequence[int], port: str) -> bool:
    """Report a rank outside `ranks`; True when it fits or is dynamic."""
    allowed, rank = (ranks,) if isinstance(ranks, int) else ranks, tensor.rank
    if rank is None or rank in allowed:
        holds(constraint)
        return True
    text = " or ".join(map(str, allowed))
    return check(constraint, False, f"{port} has rank {rank}, expected {text}", port=port, allowed=f"rank {text}")


def dimension_of(value: int | Dimension | None) -> Dimension:
    """An extent from a known value, an interval, or nothing (any extent)."""
    return Dimension(-1) if value is None else Dimension.of(value)
