"""Arguments of the scatter operators: checks, copies of data, random inputs, and undefined results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, require
from irexec.ops.spec.oracle import Open


def copied(data: Array, out: Array | None) -> Array:
    """Return a C-contiguous array with the contents of `data`: `out` if possible, else a new array.

    If `out` shares the buffer of `data`, nothing is copied.
    """
    if out is None or not out.flags.c_contiguous:
        return np.array(data, order="C")
    if out is not data and (_address(out) != _address(data) or out.strides != data.strides):
        np.copyto(out, data)
    return out


def delivered(result: Array, out: Array | None) -> Array:
    """Return the result, in `out` if it is given."""
    if out is None or result is out:
        return result
    np.copyto(out, result)
    return out


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def flat_rows(constraint: str, indices: Array, dims: Sequence[int], *, negative: bool) -> Array:
    """Return row-major positions (intp) in a tensor of shape `dims`, one for each entry of len(dims) indices.

    With one dimension every index is an entry; otherwise the indices along the last axis form an entry. `negative`:
    negative indices count from the end. Raises ConstraintError for an index that is out of range.
    """
    width = len(dims)
    count = indices.size if width == 1 else math.prod(indices.shape[:-1])
    if not width or not count:
        return np.zeros(count, np.intp)
    entries = indices.reshape(count, width)
    lowest = entries.min()
    # Usually all indices fit into the smallest dimension; only otherwise is each dimension compared with its own.
    if lowest < 0 or entries.max() >= min(dims):
        _check_inside(require, constraint, indices, dims, negative)
    holds(constraint)
    # NumPy multiplies 32-bit integers faster than wider integers.
    dtype: Any = np.int32 if math.prod(dims) < 1 << 31 else np.int64
    rows: Array = np.zeros((), dtype)
    for place, dim in enumerate(dims):
        column: Array = entries[:, place].astype(dtype)
        if lowest < 0:
            column[column < 0] += dim
        if place == 0:
            rows = column
        else:
            rows *= dim
            rows += column
    return rows.astype(np.intp, copy=False)


def _check_inside(check: Check, constraint: str, indices: Array, dims: Sequence[int], negative: bool) -> None:
    entries = indices.reshape(-1, len(dims))
    wrong = np.zeros(entries.shape, bool)
    for place, dim in enumerate(dims):
        wrong[:, place] = (entries[:, place] < (-dim if negative else 0)) | (entries[:, place] >= dim)
    if not wrong.any():
        holds(constraint)
        return
    first = int(wrong.argmax())
    index, dim = int(indices.reshape(-1)[first]), dims[first % len(dims)]
    place_text = ", ".join(str(int(i)) for i in np.unravel_index(first, indices.shape))
    allowed = f"[{-dim if negative else 0}, {dim - 1}]" if dim else "no index (the dimension is empty)"
    others = int(np.count_nonzero(wrong)) - 1
    hint = None
    if not negative and -dim <= index < 0:
        hint = f"this version does not accept negative indices: did you mean {index + dim}?"
    reason = f"outside {allowed}" if dim else "but the dimension is empty"
    more = f" ({others} more out of range)" if others else ""
    check(
        constraint,
        False,
        f"indices[{place_text}] is {index}, {reason}{more}",
        port="indices",
        hint=hint,
        found=str(index),
        allowed=allowed,
    )


def check_indices(check: Check, constraint: str, indices: TensorType, dims: PartialShape, *, negative: bool) -> None:
    """In a rule: report known indices that are out of range of known dimensions."""
    if indices.value is not None and dims.is_static and indices.value.size and dims.dims:
        _check_inside(check, constraint, indices.value, dims.to_shape(), negative)


def tuple_length(
    check: Check,
    constraints: tuple[str, str, str],
    data: TensorType,
    indices: TensorType,
    fixed: tuple[int, ...] | None = None,
) -> int | None:
    """In a rule: return the number of indices per entry, the last extent of `indices`; None if it is not known or too
    large.

    `constraints`: the numbers of the constraints that data is not a scalar, that indices is not a scalar, and that the
    length is at most data's rank. `fixed`: the shape of indices that a finding proposes as a fix.
    """
    of_data, of_indices, of_length = constraints
    fits = check(of_data, data.rank != 0, "data is a scalar: there is no dimension to index", port="data")
    message = "indices is a scalar, expected rank 1 or more: its last axis contains the coordinates"
    fits &= check(of_indices, indices.rank != 0, message, port="indices")
    if not fits or data.rank is None or indices.rank is None or indices.shape[-1].is_dynamic:
        return None
    length = indices.shape[-1].value
    within = check(
        of_length,
        length <= data.rank,
        f"indices.shape[-1] is {length}, but data has rank {data.rank}",
        port="indices",
        hint=f"did you mean {PartialShape(fixed)}?" if fixed else None,
        found=str(indices.shape),
        allowed=f"a last dimension of at most {data.rank}",
        repair={"indices": fixed} if fixed else None,
    )
    return length if within else None


def check_updates(check: Check, constraint: str, updates: PartialShape, expected: PartialShape, why: str) -> bool:
    """In a rule: report updates of an unexpected shape, with a repair if only the number of elements is as expected."""
    repair = hint = None
    if expected.is_static and updates.is_static and expected.size == updates.size:
        repair = {"updates": expected.to_shape()}
        hint = f"did you mean {expected}?"
    return check(
        constraint,
        updates.compatible(expected),
        f"updates has shape {updates}, expected {expected} ({why})",
        port="updates",
        hint=hint,
        found=str(updates),
        allowed=str(expected),
        repair=repair,
    )


def open_rows(rows: Array, updates: Array, note: str) -> Open | None:
    """Return the rows that receive several unequal updates without a reduction, each with its possible contents."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    candidates: dict[int, list[Array]] = {}
    for group in np.split(order, starts[1:]) if rows.size else []:
        if group.size > 1:
            different = {repr(updates[i].tolist()): updates[i] for i in group}
            if len(different) > 1:
                candidates[int(rows[group[0]])] = list(different.values())
    if not candidates:
        return None
    count = f"{len(candidates)} place{'s' if len(candidates) > 1 else ''}"
    return Open(note.format(count=count), updates.shape[1], candidates)


def draw_tuples(rng: np.random.Generator, data: TensorType, indices: TensorType) -> Array | None:
    """Return random index tuples into data, in range, and unique if data has enough elements."""
    shape, dtype = indices.shape.to_shape(), indices.element_type.dtype
    if not shape or shape[-1] > (data.rank or 0):
        return None
    dims, count = data.shape.to_shape()[: shape[-1]], math.prod(shape[:-1])
    slots = math.prod(dims)
    if slots == 0 or not dims:
        return np.zeros(shape, dtype)
    rows = rng.choice(slots, count, replace=count > slots)
    return np.stack(np.unravel_index(rows, dims), -1).reshape(shape).astype(dtype)
