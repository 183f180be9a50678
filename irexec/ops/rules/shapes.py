"""Shape rules that many operators share, each one word at the declaration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from irexec.ops.declare.operator import Check
from irexec.types import Dimension, PartialShape, TensorType


def same_as(port: int = 0) -> Callable[..., PartialShape]:
    """The output has the shape of the input at this position."""

    def rule(check: Check, *inputs: TensorType, **attributes: Any) -> PartialShape:
        return inputs[port].shape

    return rule


def broadcast(
    check: Check,
    a: TensorType,
    b: TensorType,
    *,
    auto_broadcast: str = "numpy",
    auto_broadcast_axis: int = 0,
    **attributes: Any,
) -> PartialShape:
    """Two operands under `auto_broadcast`: numpy, pdpd (b along a's axes from one on), none or explicit (equal)."""
    return broadcast_shapes(check, a.shape, b.shape, auto_broadcast, axis=auto_broadcast_axis)


def broadcast_shapes(
    check: Check, a: PartialShape, b: PartialShape, mode: str, port: str = "b", axis: int = 0
) -> PartialShape:
    """The common shape of two operands; a breach of "broadcast" when there is none."""
    if mode == "numpy":
        shape = a.broadcast(b)
        if shape is None:
            check("broadcast", False, f"shapes {a} and {b} do not broadcast", port=port, found=str(b), allowed=str(a))
        return shape if shape is not None else PartialShape.dynamic()
    if mode == "pdpd":
        return _pdpd(check, a, b, port, axis)
    merged = a.merge(b)
    if merged is None:
        message = f"shapes {a} and {b} differ, and auto_broadcast is {mode!r}"
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
    allowed = f"[{-rank}, {rank - 1}]"
    message = f"axis {axis} is outside {allowed}"
    if not check(constraint, -rank <= axis < rank, message, found=str(axis), allowed=allowed, **where):
        return None
    return axis % rank


def same_shape(check: Check, constraint: str, a: PartialShape, b: PartialShape, port: str) -> PartialShape:
    """Both shapes merged; a breach when no shape satisfies both."""
    merged = a.merge(b)
    if merged is None:
        check(constraint, False, f"{port} has shape {b}, expected {a}", port=port, found=str(b), allowed=str(a))
        return a
    return merged


def has_rank(check: Check, constraint: str, tensor: TensorType, ranks: int | Sequence[int], port: str) -> bool:
    """Report a rank outside `ranks`; True when it fits or is dynamic."""
    allowed = (ranks,) if isinstance(ranks, int) else tuple(ranks)
    text = " or ".join(map(str, allowed))
    ok = tensor.rank is None or tensor.rank in allowed
    return check(constraint, ok, f"{port} has rank {tensor.rank}, expected {text}", port=port, allowed=f"rank {text}")


def dimension_of(value: int | Dimension | None) -> Dimension:
    """An extent from a known value, an interval, or nothing (any extent)."""
    return Dimension(-1) if value is None else Dimension.of(value)
