"""Functions that the CTC operators share: packing of kept classes, and the blank class."""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, Dimension, TensorType
from irexec.ops.rules.axes import in_range, integer, last_of
from irexec.ops.spec.operator import Check, require


def packed(rows: Array, keep: Array, filler: int) -> tuple[Array, Array]:
    """Move the kept elements of each row to its front, followed by `filler`; return the rows and the numbers kept."""
    result = np.full_like(rows, filler)
    row, column = np.nonzero(keep)
    result[row, np.cumsum(keep, axis=1)[row, column] - 1] = rows[row, column]
    return result, np.count_nonzero(keep, axis=1)


def blank_of(constraint: str, blank_index: Array | None, classes: int) -> int:
    """In a kernel: return the blank class, by default the last class. Raises ConstraintError if it is not a class."""
    if blank_index is None:
        return classes - 1
    in_range(require, constraint, "blank_index", blank := integer(blank_index), 0, classes - 1)
    return blank


def known_blank(check: Check, constraint: str, blank_index: TensorType | None, classes: Dimension) -> int | None:
    """In a rule: return the blank class; None if it is unknown or out of range."""
    if blank_index is None:
        return classes.value - 1 if classes.is_static else None
    blank = blank_index.scalar
    if blank is None:
        return None
    return int(blank) if in_range(check, constraint, "blank_index", blank, 0, last_of(classes)) else None
