"""Small integer inputs (axes, shapes, counts): as Python integers, checked in rules and in kernels, drawn at random."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.core.types.traced import plain_number
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, NodeTypes, require


def integers(array: Array) -> list[int]:
    """Return the elements as Python integers; the elements of an object array may be static Dimensions."""
    return [plain_number(v) for v in np.asarray(array).ravel().tolist()]


def integer(array: Array) -> int:
    """Return the single element as a Python integer."""
    return integers(array)[0]


def into(result: Array, out: Array | None, source: Array | None = None) -> Array:
    """Return the result, copied into `out` if it is given; a result that may be a view of `source` is always copied."""
    if out is not None:
        np.copyto(out, result, casting="unsafe")
        return out
    return result if source is None or not np.may_share_memory(result, source) else result.copy()


def regrouped(parts: Array, order: Sequence[int], shape: Sequence[int], out: Array | None, source: Array) -> Array:
    """Return `parts` transposed and reshaped in one copy, in `out` if it is given; never a view of `source`."""
    moved = parts.transpose(order)
    if out is not None and out.flags.c_contiguous:
        np.copyto(out.reshape(moved.shape), moved)
        return out
    return into(moved.reshape(shape), out, source)


def axis_of(constraint: str, axis: int, rank: int, port: str | None = None) -> int:
    """In a kernel: return an input's axis, counted from the front. Raises ConstraintError if it is outside the rank."""
    found = axis_in(require, constraint, axis, rank, port=port)
    assert found is not None
    return found


def axes_of(constraint: str, axes: Array, rank: int, port: str | None = None) -> list[int]:
    """In a kernel: return the axes counted from the front. Raises ConstraintError for an axis out of range."""
    return [axis_of(constraint, axis, rank, port) for axis in integers(axes)]


def known_axes(check: Check, constraint: str, axes: TensorType, rank: int | None, port: str) -> list[int] | None:
    """In a rule: return the axes counted from the front; None if axes or rank are unknown, or an axis is out of
    range.
    """
    values = axes.ints
    if values is None or rank is None:
        return None
    found = [axis_in(check, constraint, axis, rank, port=port) for axis in values]
    return None if None in found else [axis for axis in found if axis is not None]


def known_axis(check: Check, constraint: str, axis: TensorType, rank: int | None, port: str) -> int | None:
    """In a rule: return the axis of a scalar or one-element input; None if it is unknown or out of range."""
    found = known_axes(check, constraint, axis, rank, port)
    return found[0] if found else None


def in_range(
    check: Check, constraint: str, port: str, values: Any, least: int, most: int | None = None, **details: Any
) -> bool:
    """Report the first value of an input outside [least, most]; return True if all are inside. `check` is `require` in
    a kernel.

    values: one value, a sequence or an array; unknown values (None or a Dimension) fit. most: None for no upper limit.
    """

    def fits(value: Any) -> bool:
        return not isinstance(value, (int, float, np.number)) or bool(
            value >= least and (most is None or value <= most)
        )

    place = ""
    if isinstance(values, np.ndarray):
        # In all usual cases, the minimum and maximum are inside, and no other value need be compared.
        settled = not values.size or (fits(values.min().item()) and fits(values.max().item()))
        wrong = () if settled else next((at, value) for at, value in np.ndenumerate(values) if not fits(value))
        place, values = (str(list(wrong[0])) if wrong[0] else "", wrong[1]) if wrong else ("", None)
    elif isinstance(values, Sequence):
        place, values = next(((f"[{n}]", value) for n, value in enumerate(values) if not fits(value)), ("", None))
    allowed = f"{least} or more" if most is None else f"{least} to {most}" if most > least else str(least)
    expected = f"expected {allowed}"
    if most is not None and most <= least:
        only = f"{expected}, the only allowed value"
        expected = only if most == least else f"but the range from {least} to {most} is empty"
    message = f"{port}{place} is {values}, {expected}"
    return check(constraint, fits(values), message, port=port, found=str(values), allowed=allowed, **details)


def last_of(extent: Dimension) -> int | None:
    """In a rule: return the last index along an extent; None if the extent is unbounded."""
    return None if extent.max is None else extent.max - 1


def unreported(constraint: str, condition: bool | None, message: str, **details: Any) -> bool:
    """Return whether the condition holds without a report: the Check for faults that another check reports."""
    return condition is not False


def one_element(check: Check, constraint: str, tensor: TensorType, port: str) -> bool:
    """In a rule: report an input that is neither a scalar nor a 1D tensor with one element."""
    shape = tensor.shape
    ok = shape.compatible(PartialShape(())) or shape.compatible(PartialShape((1,)))
    if ok:
        holds(constraint)
        return True
    message = f"{port} has shape {shape}, expected a scalar or one element"
    return check(constraint, False, message, port=port, found=str(shape), allowed="[] or [1]")


def has_length(check: Check, constraint: str, tensor: TensorType, length: int | Dimension | None, port: str) -> bool:
    """In a rule: report an input that is not 1D with this many elements (None: any number)."""
    expected = PartialShape((-1 if length is None else length,))
    if tensor.shape.compatible(expected):
        holds(constraint)
        return True
    message = f"{port} has shape {tensor.shape}, expected {expected}"
    return check(constraint, False, message, port=port, found=str(tensor.shape), allowed=str(expected))


def length_of(tensor: TensorType) -> int | None:
    """In a rule: return the number of elements of a 1D input; None if it is unknown."""
    if tensor.rank == 1 and tensor.shape[0].is_static:
        return tensor.shape[0].value
    return None if tensor.known is None else len(tensor.known)


def same_lengths(check: Check, constraint: str, lists: dict[str, TensorType]) -> tuple[bool, int | None]:
    """In a rule: report 1D inputs of different known lengths; return whether lengths agree, and the first length."""
    lengths = {name: n for name, tensor in lists.items() if (n := length_of(tensor)) is not None}
    first, count = next(iter(lengths.items()), (None, None))
    fits = True
    for name, n in lengths.items():
        message = f"{name} has {n} elements, expected {count} as in {first}"
        fits &= check(constraint, n == count, message, port=name, found=str(n), allowed=str(count))
    return fits, count


def distinct(
    check: Check, constraint: str, axes: Sequence[int], given: Sequence[int] | None = None, **where: Any
) -> bool:
    """Report an axis that occurs twice among axes counted from the front. `given`: the axes as given by the input.

    `where`: the input or attribute, by default the input `axes`.
    """
    message = f"axes {list(axes if given is None else given)} contains an axis twice"
    hint = "remove the repeated axis"
    return check(constraint, len(set(axes)) == len(axes), message, hint=hint, **where or {"port": "axes"})


def not_too_many(check: Check, constraint: str, axes: TensorType, rank: int | None) -> bool:
    """In a rule: report an input with more axes than `rank`; the values of the axes need not be known."""
    count = length_of(axes)
    if count is None or rank is None:
        return True
    message = f"axes has {count} elements, but there are {rank} different axes"
    return check(constraint, count <= rank, message, port="axes", found=str(count), allowed=f"at most {rank}")


def first_known(tensor: TensorType) -> int | Dimension | None:
    """In a rule: return the value of a scalar or one-element input, or its interval; None if it is unknown."""
    known = tensor.known
    return known[0] if known else None


def sum_of(values: Sequence[Dimension]) -> Dimension:
    """Return the sum of extents, which is the extent of concatenated parts."""
    most = [value.max for value in values]
    known = [extent for extent in most if extent is not None]
    return Dimension(sum(value.min for value in values), sum(known) if len(known) == len(most) else None)


def is_settled(node: NodeTypes) -> bool:
    """In `specialize`: return whether the first input has a static shape, and all other inputs are constant or
    absent.
    """
    data, *others = node.inputs
    settled = all(c is not None for t, c in zip(others, node.constants[1:], strict=True) if t is not None)
    return settled and data is not None and data.shape.is_static


def filled(types: dict[str, TensorType], port: str, values: Any) -> Array:
    """For `draw`: return the values as an array of the port's element type and shape."""
    wanted = types[port]
    shape = wanted.shape.to_shape()
    return np.broadcast_to(np.asarray(values), shape).astype(wanted.element_type.dtype)


def drawn_axes(rng: np.random.Generator, types: dict[str, TensorType], port: str, rank: int) -> Array:
    """For `draw`: return axes of a tensor of this rank for the port, distinct if there are enough."""
    shape = types[port].shape.to_shape()
    count = math.prod(shape)
    return filled(types, port, rng.permutation(max(rank, count))[:count].reshape(shape))


def drawn_extents(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """For `draw`, without further arguments: return positive extents or lengths, at most 12."""
    return filled(types, port, rng.integers(1, 13, types[port].shape.to_shape()))


def drawn_below(rng: np.random.Generator, types: dict[str, TensorType], port: str, limit: int) -> Array:
    """For `draw`: return uniformly distributed integers in [0, limit - 1] for the port."""
    return filled(types, port, rng.integers(0, max(limit, 1), types[port].shape.to_shape()))
