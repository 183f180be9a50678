"""Rows: the different values of one output of a layer in many lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec.core.types import Array


@dataclass(slots=True)
class Rows:
    """`first`: the first row. `stacked`: all rows along a new first axis, if they have the same shape; otherwise they
    are in `several`. `lanes`: the number of each lane's row; None: there is one row.
    """

    first: Array
    stacked: Array | None = None
    lanes: Array | None = None
    several: Sequence[Array] | None = None

    @property
    def count(self) -> int:
        """The number of rows."""
        if self.stacked is not None:
            return int(self.stacked.shape[0])
        return 1 if self.several is None else len(self.several)

    @property
    def place(self) -> Any:
        """The number of each lane's row, in a form that can be broadcast to the lanes."""
        return 0 if self.lanes is None else self.lanes

    def row(self, number: int) -> Array:
        """Return the row with this number; `first` if all lanes share one row."""
        if self.lanes is None:
            return self.first
        found: Array = self.stacked[number] if self.stacked is not None else (self.several or ())[number]
        return found

    def of(self, lane: int) -> Array:
        """Return the row of a lane."""
        return self.first if self.lanes is None else self.row(int(self.lanes[lane]))


def joined(arrays: Sequence[Array] | Array, lanes: Array, *, copies: bool = True) -> Rows:
    """Return rows of these arrays, stacked if they have the same shape and `copies` allows copying them."""
    if isinstance(arrays, np.ndarray):
        return Rows(arrays[0], arrays, lanes)
    if copies and len({(array.shape, array.dtype) for array in arrays}) == 1:
        stacked = np.stack(arrays)
        return Rows(stacked[0], stacked, lanes)
    return Rows(arrays[0], None, lanes, list(arrays))


def gathered(parts: Sequence[Rows], picks: Sequence[Array], *, copies: bool) -> Sequence[Array] | Array:
    """Return the rows `picks` of each value, one value after the other; stacked if they have the same shape."""
    if copies and len({(rows.first.shape, rows.first.dtype) for rows in parts}) == 1:
        wide = [rows.first[None] if rows.lanes is None else rows.stacked for rows in parts]
        if all(array is not None for array in wide):
            return np.concatenate([array[pick] for array, pick in zip(wide, picks, strict=True) if array is not None])
    return [rows.row(number) for rows, pick in zip(parts, picks, strict=True) for number in pick.tolist()]


def picked(rows: Rows, pick: Array | None, lanes: Array | None) -> Rows:
    """Return the rows with the numbers `pick`, in this order; all rows if it is None."""
    if lanes is None:
        return Rows(rows.row(0 if pick is None else int(pick[0])))
    if pick is None:
        return Rows(rows.first, rows.stacked, lanes, rows.several)
    if rows.stacked is not None:
        stacked = rows.stacked[pick]
        return Rows(stacked[0], stacked, lanes)
    return joined([rows.row(number) for number in pick.tolist()], lanes)
