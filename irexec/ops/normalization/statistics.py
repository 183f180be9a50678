"""Means and variances over some axes of a tensor, computed in blocks on all threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy as np

from irexec.core.threads.parallel import WORTH_BYTES, parallel_for, split
from irexec.core.types import Array
from irexec.ops.compute.precision import wider
from irexec.ops.rules.axes import distinct
from irexec.ops.rules.shapes import axis_in
from irexec.ops.spec.operator import Check

# The size of a block of rows, which stays in a core's second-level cache for several passes.
BLOCK_BYTES = 1 << 19


def in_blocks(rows: int, nbytes: int, function: Callable[[slice], object]) -> None:
    """Call function(rows) for ranges of all rows, on all threads. `nbytes`: the size of all rows."""
    blocks = split(rows, 1 if nbytes < WORTH_BYTES else -(-nbytes // BLOCK_BYTES))
    parallel_for(len(blocks), lambda i: function(slice(*blocks[i])))


def centre_rows(x: Array, out: Array) -> None:
    """Subtract their mean from the rows of `[R, N]`, into `out`."""
    mean = np.add.reduce(x, axis=1, keepdims=True)
    if not np.isfinite(mean).all():
        mean = np.add.reduce(x, axis=1, keepdims=True, dtype=wider(x.dtype))
    mean /= max(x.shape[1], 1)
    np.subtract(x, mean.astype(x.dtype, copy=False), out=out)


def variances(centred: Array) -> Array:
    """Return the variance `[R, 1]` of each row of `[R, N]` whose mean is 0; in a wider type if a variance overflows."""
    squares = np.einsum("rn,rn->r", centred, centred, optimize=False)[:, None]
    if not np.isfinite(squares).all():
        wide = centred.astype(wider(centred.dtype))
        squares = np.einsum("rn,rn->r", wide, wide, optimize=False)[:, None]
    squares /= max(centred.shape[1], 1)
    return np.asarray(squares)


def normalize(x: Array, axes: Iterable[int], out: Array, deviation: Callable[[Array], Array] | None) -> Array:
    """Normalize `x` over `axes` (counted from the front) into `out`, which is contiguous and has the dtype of `x`."""
    reduced = sorted(set(axes))
    kept = [a for a in range(x.ndim) if a not in reduced]
    if not x.size:
        return out
    if not reduced:
        # The mean of a single element is that element.
        np.subtract(x, x, out=out)
        if deviation is not None:
            np.divide(out, deviation(np.zeros((), x.dtype)), out=out)
        return out
    order = [*kept, *reduced]
    size = prod(x.shape[a] for a in reduced)
    if order == list(range(x.ndim)):
        rows, results = x.reshape(-1, size), out.reshape(-1, size)
    else:
        rows = results = np.array(x.transpose(order), order="C").reshape(-1, size)

    def block(part: slice) -> None:
        result = results[part]
        centre_rows(rows[part], result)
        if deviation is not None:
            np.multiply(result, 1 / deviation(variances(result)), out=result)

    in_blocks(len(rows), x.nbytes, block)
    if rows is not results:
        return out
    np.copyto(out.transpose(order), results.reshape([x.shape[a] for a in order]))
    return out


def check_axes(
    check: Check,
    constraint: str,
    axes: Sequence[int] | None,
    rank: int | None,
    different: str | None = None,
    **where: Any,
) -> None:
    """Check that every axis is in range; `different` is the constraint that forbids repeated axes."""
    if axes is None or rank is None:
        return
    places = [axis_in(check, constraint, axis, rank, **where) for axis in axes]
    if different is not None and None not in places:
        distinct(check, different, [axis for axis in places if axis is not None], axes, **where)
