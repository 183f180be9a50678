"""Comparing documented with computed values: whether the operator computes the values that a page lists."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from irexec.core.types import STRING, Array, ElementType
from irexec.model.arrays.brief import shown_item
from irexec.ops.spec.oracle import Open

# Pages print floats with a few digits.
_PRINTED = {"rtol": 2e-3, "atol": 1e-3}
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Difference:
    """The differences from the page: their number, a description of the first few, and whether no allowed result has
    the documented values.
    """

    count: int
    words: str
    impossible: bool


def compare(documented: Array, computed: Array, kind: ElementType, open_result: Open | None) -> Difference | None:
    """Return the difference; None if the documented values are one of the operator's possible results."""
    same = agrees(documented, computed, kind)
    if open_result is not None and not same.all():
        same = same | _admissible(documented, kind, open_result)
    wrong = np.argwhere(~same)
    if not len(wrong):
        return None
    words = []
    for index in map(tuple, wrong[:_SHOWN].tolist()):
        place = "".join(f"[{i}]" for i in index)
        possible = _possible(index, computed, open_result)
        description = f"can only be {possible}" if possible else f"is {shown_item(computed[index])}"
        words.append(f"{place or 'the value'} {description}, not {shown_item(documented[index])}")
    more = f" and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    return Difference(len(wrong), "; ".join(words) + more, open_result is not None)


def agrees(documented: Array, computed: Array, kind: ElementType) -> Array:
    """Compare elementwise: equal, or for floats equal up to the digits that the page prints."""
    if kind is STRING:
        # Strings that end with NUL are Python objects, which NumPy compares only with each other.
        documented, computed = documented.astype(object), computed.astype(object)
    if kind is STRING or computed.dtype.kind in "bc" or kind.is_integral_number:
        result: Array = np.asarray(documented == computed)
        return result
    a, b = documented.astype(np.float64), computed.astype(np.float64)
    return np.isclose(a, b, equal_nan=True, **_PRINTED)


def _admissible(documented: Array, kind: ElementType, open_result: Open) -> Array:
    """Return for each documented element whether it occurs in one of the admissible results."""
    rows = documented.reshape(-1, open_result.slice_size)
    fits = np.zeros(rows.shape, bool)
    for row, candidates in open_result.candidates.items():
        for candidate in candidates:
            if agrees(rows[row], candidate.reshape(-1), kind).all():
                fits[row] = True
                break
    return fits.reshape(documented.shape)


def _possible(index: tuple[int, ...], computed: Array, open_result: Open | None) -> str | None:
    if open_result is None:
        return None
    flat = int(np.ravel_multi_index(index, computed.shape)) if index else 0
    row, column = divmod(flat, open_result.slice_size)
    candidates = open_result.candidates.get(row)
    if not candidates:
        return None
    return " or ".join(dict.fromkeys(shown_item(c.reshape(-1)[column]) for c in candidates[:_SHOWN]))
