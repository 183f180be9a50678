"""Errors: the difference between two arrays, and whether it is larger than rounding explains."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.model.arrays.brief import shown, shown_number, shown_shape
from irexec.model.arrays.units import Typical, apart, slabs, squeezed, unit, widened
from irexec.tools.compare.numbers import SAME

# The relative error below which an error is given in units in the last place.
_HARDLY = 1e-5
# From this relative error on, the expected value is practically zero, and the error is given as a number; errors
# smaller than the normal numbers of f32 are given in units in the last place.
_MOST, _LEAST = 100.0, 2.0**-126
# Percentages outside of this range are written with an exponent.
_PLAIN = 1e-6, 1e6

Run = Callable[[Sequence[Array]], list[Array]]


@dataclass(frozen=True, slots=True)
class Error:
    """The largest difference between two arrays: in units in the last place, relative, and absolute.

    Units and relative errors refer to the element or to a typical element around it, whichever is larger. The error is
    infinite if only one array has NaN or infinity, or if shapes or strings differ. `at` is the index of the largest
    error, `values` are both elements there (`0.97 instead of 0.61`), `reason` is the reason for an infinite error.
    `whole`: the values are integers, booleans or texts, which are not rounded.
    """

    ulp: float
    relative: float
    absolute: float
    at: tuple[int, ...] | None = None
    reason: str = field(default="", compare=False)
    found: str = field(default="", compare=False)
    expected: str = field(default="", compare=False)
    element: float = field(default=math.inf, compare=False)
    whole: bool = field(default=False, compare=False)

    def __bool__(self) -> bool:
        return self.absolute > 0

    def is_rounding(self, units: float) -> bool:
        """Return whether rounding by this number of units in the last place explains the difference."""
        return not self or (not self.whole and self.ulp <= units)

    @property
    def is_reordered(self) -> bool:
        """Whether the values are the same, except that other layers may have computed them in another order."""
        return not self or (not self.whole and self.relative <= SAME)

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-ready values, infinities as texts."""
        numbers = {"ulp": self.ulp, "relative": self.relative, "absolute": self.absolute}
        plain: dict[str, Any] = {k: v if math.isfinite(v) else "Infinity" for k, v in numbers.items()}
        return plain | ({"at": list(self.at)} if self.at is not None else {})


NONE = Error(0.0, 0.0, 0.0)


def worst(errors: Iterable[Error]) -> Error:
    """Return the largest error; a difference in integers is larger than any in real numbers, which may be rounding."""
    return max(errors, key=lambda error: (error.whole and bool(error), error.ulp), default=NONE)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds that replace the tolerances of operators: |a - b| <= atol + rtol * |a|."""

    atol: float = 0.0
    rtol: float = 0.0

    @classmethod
    def given(cls, atol: float | None, rtol: float | None) -> Bounds | None:
        """Return the bounds of a caller; None if neither is given."""
        return None if atol is None and rtol is None else cls(atol or 0.0, rtol or 0.0)

    def __str__(self) -> str:
        return f"atol {self.atol:g}, rtol {self.rtol:g}"


def shown_error(error: Error | None) -> str:
    """Return an error in a few words: `123 ulp, 0.5 %`."""
    if error is None:
        return "-"
    if not error or not math.isfinite(error.absolute):
        return shown_part(error)
    if error.whole:
        return f"{error.found} instead of {error.expected}"
    relative = percent(error.relative) if error.relative < _MOST else f"{error.absolute:.3g} absolute"
    return f"{shown_number(float(f'{error.ulp:.3g}'))} ulp, {relative}"


def shown_part(error: Error) -> str:
    """Return an error in one unit: a percentage, units in the last place if it is hardly more than rounding, or a
    number for integers, or if the expected value is practically zero.
    """
    if not error:
        return "0"
    if not math.isfinite(error.absolute):
        return error.reason or "infinitely"
    if error.whole:
        return shown_number(error.absolute)
    if is_percentage(error):
        return percent(error.relative)
    if error.relative >= _MOST and error.absolute >= _LEAST:
        return f"{error.absolute:.3g} absolute"
    return f"{shown_number(float(f'{error.ulp:.3g}'))} ulp"


def is_percentage(error: Error) -> bool:
    """Return whether an error is given as a percentage, not in units in the last place."""
    return not error.whole and _HARDLY <= error.relative < _MOST and error.absolute >= _LEAST


def percent(part: float) -> str:
    """Return a fraction as a percentage: `140 %`, `0.5 %`."""
    return f"{_rounded(min(100 * part, sys.float_info.max))} %"


def off(error: Error) -> str:
    """Return how far a value is off, as a part of a sentence: `780 % off`, `of shape [2] instead of [3]`, `off by 0.5
    near 0`.
    """
    text = shown_part(error)
    if error.whole and error and not error.reason:
        return f"off by {text}"
    number, is_absolute, _ = text.partition(" absolute")
    return text if error.reason else f"off by {number} near 0" if is_absolute else f"{text} off"


def off_typical(error: Error) -> str:
    """Return the error of a value as text, like `off`, followed by `of typical values` if the percentage does not
    refer to the element itself.
    """
    if not is_percentage(error) or percent(error.relative) == percent(error.element):
        return off(error)
    return f"off by {percent(error.relative)} of typical values"


def _rounded(number: float) -> str:
    """Return two digits, with an exponent for very small and very large numbers: `140`, `0.5`, `0.00012`, `3.4e38`."""
    if number and not _PLAIN[0] <= number < _PLAIN[1]:
        digits, exponent = f"{number:.1e}".split("e")
        return f"{digits.removesuffix('.0')}e{int(exponent)}"
    return np.format_float_positional(float(f"{number:.2g}"), trim="-")


def measure(reference: Array, other: Array, kind: ElementType | None = None, floor: float = 0.0) -> Error:
    """Return the largest error in units in the last place, of the element or of a typical one around it, whichever is
    larger.

    `kind`: the element type whose units count, if not the reference's own. `floor`: the least magnitude whose unit
    counts.
    """
    if reference.shape != other.shape:
        reason = f"of shape {shown_shape(other.shape)} instead of {shown_shape(reference.shape)}"
        whole = not ElementType.of(reference.dtype).is_real
        return Error(math.inf, math.inf, math.inf, reason=reason, whole=whole)
    if not reference.size:
        return NONE
    own = ElementType.of(reference.dtype)
    kind = kind or own
    ours, theirs = squeezed(reference), squeezed(other)
    typical: Typical | None = None
    ulp = relative = absolute = 0.0
    at, row = 0, ours[:1].size
    for rows in slabs(ours):
        distance = apart(ours[rows], theirs[rows])
        largest = float(distance.max())
        if largest == 0:
            continue
        typical = typical or Typical(ours)
        scale = np.maximum(np.abs(widened(ours[rows])), typical[rows])
        with np.errstate(all="ignore"):
            # Quotients of two zeros or two infinities are NaN.
            units = distance / unit(np.maximum(scale, floor), kind)
            most = float(np.fmax.reduce(units, None))
            part = largest if math.isinf(largest) else float(np.fmax.reduce(distance / scale, None))
        if most > ulp:
            ulp, at = most, rows.start * row + int(np.nanargmax(units))
        absolute, relative = max(absolute, largest), max(relative, part)
    if absolute == 0:
        return NONE
    place = tuple(map(int, np.unravel_index(at, reference.shape)))
    one, two = np.asarray(other[place]), np.asarray(reference[place])
    found, expected = _told_apart(one, two)
    if not math.isfinite(absolute):
        return Error(ulp, relative, absolute, place, f"{found} instead of {expected}", whole=not own.is_real)
    magnitude = float(np.abs(widened(two)))
    element = float(apart(one, two)) / magnitude if magnitude else math.inf
    return Error(ulp, relative, absolute, place, "", found, expected, element, not own.is_real)


def _told_apart(found: Array, expected: Array) -> tuple[str, str]:
    """Return both elements, with as many digits as distinguish them."""
    one, two = shown(found), shown(expected)
    return (f"{found[()]!s}", f"{expected[()]!s}") if one == two else (one, two)


def within(reference: Array, other: Array, bounds: Bounds) -> bool:
    """Return whether every element of `other` is within the bounds."""
    if reference.shape != other.shape or reference.dtype.kind in "TUO":
        return not measure(reference, other)
    allowed = bounds.atol + bounds.rtol * np.abs(np.nan_to_num(widened(reference)))
    return bool(np.all(apart(reference, other) <= allowed))
