"""Functions that the CTC operators share: packing of kept classes, and the blank class."""

from __future__ import annotations

import numpy as np

from irexec.ops.declare.operator import Check, require
from irexec.ops.rules.axes import integer
from irexec.types import Array, Dimension, TensorType


def packed(rows: Array, keep: Array, filler: int) -> tuple[Array, Array]:
    """Move the kept elements of each row to its front, followed by `filler`; also return the number of kept elements
    per row.
    """
    result = np.full_like(rows, filler)
    row, column = np.nonzero(keep)
    result[row, np.cumsum(keep, axis=1)[row, column] - 1] = rows[row, column]
    return result, np.count_nonzero(keep, axis=1)


def blank_of(constraint: str, blank_index: Array | None, classes: int) -> int:
    """In a kernel: return the blank class, by default the last class. Raises ConstraintError if there are no
    classes.
    """
    if blank_index is None:
        return classes - 1
    blank = integer(blank_index)
    message = f"blank_index is {blank}, expected 0 to {classes - 1}"
    require(constraint, 0 <= blank < classes, message, port="blank_index")
    return blank


def check_blank(check: Check, constraint: str, blank_index: TensorType | None, classes: Dimension) -> int | None:
    """In a rule: return the blank class, as far as it is known; report a breach if it is not a class."""
    if blank_index is None:
        return classes.value - 1 if classes.is_static else None
    blank = blank_index.scalar
    if blank is None:
        return None
    most = classes.max
    message = f"blank_index is {blank}, expected 0 to {'the number of classes - 1' if most is None else most - 1}"
    fits = blank >= 0 and (most is None or blank < most)
    return int(blank) if check(constraint, fits, message, port="blank_index") else None
