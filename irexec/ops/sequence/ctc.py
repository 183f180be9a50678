"""What the CTC operators share: rows of classes of which some elements are kept, and the blank class."""

from __future__ import annotations

import numpy as np

from irexec.ops.declare.operator import Check, require
from irexec.ops.rules.axes import integer
from irexec.types import Array, Dimension, TensorType


def packed(rows: Array, keep: Array, filler: int) -> tuple[Array, Array]:
    """The kept elements of each row moved to its front, `filler` behind them; and how many each row has."""
    result = np.full_like(rows, filler)
    row, column = np.nonzero(keep)
    result[row, np.cumsum(keep, axis=1)[row, column] - 1] = rows[row, column]
    return result, np.count_nonzero(keep, axis=1)


def blank_of(constraint: str, blank_index: Array | None, classes: int) -> int:
    """In a kernel: the blank class, by default the last one. Raises ConstraintError for no class at all."""
    if blank_index is None:
        return classes - 1
    blank = integer(blank_index)
    message = f"blank_index is {blank}, expected 0 to {classes - 1}"
    require(constraint, 0 <= blank < classes, message, port="blank_index")
    return blank


def check_blank(check: Check, constraint: str, blank_index: TensorType | None, classes: Dimension) -> int | None:
    """In a rule: the blank class, as far as it is known; a breach for one that is no class."""
    if blank_index is None:
        return classes.value - 1 if classes.is_static else None
    blank = blank_index.scalar
    if blank is None:
        return None
    most = classes.max
    message = f"blank_index is {blank}, expected 0 to {'the number of classes - 1' if most is None else most - 1}"
    fits = blank >= 0 and (most is None or blank < most)
    return int(blank) if check(constraint, fits, message, port="blank_index") else None
