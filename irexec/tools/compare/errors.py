"""Errors: the difference between two arrays, and whether it is larger than rounding explains."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.model.arrays.brief import shown, shown_number, shown_shape
from irexec.model.arrays.units import Typical, apart, slabs, squeezed, unit, widened
from irexec.ops.spec.operator import Tolerance
from irexec.tools.compare.tolerances import FUSED

# The number of units in the last place by which inputs are perturbed to measure the sensitivity of a result.
_NUDGE = 4.0
# The number of random perturbations; more of them for integers, which a few may leave as they are.
_RANDOM_NUDGES, _WHOLE_NUDGES = 2, 16
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


def measure(reference: Array, other: Array, kind: ElementType | None = None) -> Error:
    """Return the largest error of `other`. `kind`: the element type whose units count, if not the reference's own."""
    return _in_units(reference, other, kind=kind)


def _in_units(
    reference: Array, other: Array, *, kind: ElementType | None = None, floor: float = 0.0, spread: Any = None
) -> Error:
    """Return the largest error in units in the last place, of the element or of a typical one around it, whichever is
    larger.

    `floor`: the least magnitude whose unit counts. `spread`: added to the unit of each element.
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
    more = None if spread is None else squeezed(spread)
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
            step = unit(np.maximum(scale, floor), kind)
            units = distance / (step if more is None else step + more[rows])
            # Quotients of two zeros or two infinities are NaN.
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


def judge(
    run: Run,
    inputs: Sequence[Array],
    other: Sequence[Array | None],
    tolerance: Tolerance,
    bounds: Bounds | None = None,
    wavering: Callable[[], Iterable[Run]] = tuple,
) -> tuple[Error, bool]:
    """Return the largest error of `other` compared with the result of `run` for the inputs, and whether every element
    is within the tolerance.

    The unit of an element is its own unit in the last place or that of a typical element around it. If the tolerance is
    exceeded, the inputs are perturbed by a few units, and the sensitivity of the result (sums that cancel, rounding to
    integers) is added to the unit; the reported error is in these units. `other`: None for an output that was not
    observed. `wavering` yields variants of `run` in which values inside the model are perturbed like the inputs.
    """
    expected = run(inputs)
    pairs = [(right, found) for right, found in zip(expected, other, strict=True) if found is not None]
    if bounds is not None:
        return worst(measure(right, found) for right, found in pairs), all(
            within(right, found, bounds) for right, found in pairs
        )
    judged = [_judged(right, found, tolerance) for right, found in pairs]
    if not all(agrees for _, agrees in judged):
        whole = tolerance.kind == "rounded" and any(not ok and error.whole for error, ok in judged)
        nudges = (max(_NUDGE, tolerance.ulp), _WHOLE_NUDGES) if whole else (_NUDGE, _RANDOM_NUDGES)
        measured = _spreads(run, inputs, expected, wavering(), *nudges)
        spreads = [s * (_NUDGE / nudges[0]) for s, found in zip(measured, other, strict=True) if found is not None]
        judged = [_judged(*pair, tolerance, spread) for pair, spread in zip(pairs, spreads, strict=True)]
    errors = [error for error, agrees in judged if not agrees] or [error for error, _ in judged]
    return worst(errors), all(agrees for _, agrees in judged)


def _judged(reference: Array, other: Array, tolerance: Tolerance, spread: Any = None) -> tuple[Error, bool]:
    """Return the error of one output, and whether it is within tolerance.

    `spread`: how much each element changes if the inputs change slightly.
    """
    real = ElementType.of(reference.dtype).is_real
    limit = max(tolerance.ulp, FUSED)
    if spread is None or not (real or tolerance.kind == "rounded"):
        error = _in_units(reference, other, floor=tolerance.least)
        return error, error.ulp <= (limit if real else 0.0)
    more = spread * max(1.0 / _NUDGE, 1.0 / limit)
    if real:
        error = _in_units(reference, other, floor=tolerance.least, spread=more)
        return error, error.ulp <= limit
    fits = reference.shape == other.shape and bool(np.all(apart(reference, other) <= np.round(limit * more, 6)))
    return measure(reference, other), fits


def within(reference: Array, other: Array, bounds: Bounds) -> bool:
    """Return whether every element of `other` is within the bounds."""
    if reference.shape != other.shape or reference.dtype.kind in "TUO":
        return not measure(reference, other)
    allowed = bounds.atol + bounds.rtol * np.abs(np.nan_to_num(widened(reference)))
    return bool(np.all(apart(reference, other) <= allowed))


def _spreads(
    run: Run,
    inputs: Sequence[Array],
    expected: Sequence[Array],
    wavering: Iterable[Run],
    units: float = _NUDGE,
    count: int = _RANDOM_NUDGES,
) -> list[Any]:
    """Return how much each element of the results changes if the inputs change by some units in the last place.
    `expected`: the results for the inputs. `count`: the number of random changes.
    """
    rng = np.random.default_rng(0)
    spreads: list[Any] = [np.zeros(array.shape) for array in expected]
    together = [1.0] * len(inputs)
    in_turn = [(-1.0) ** number for number in range(len(inputs))]  # Changes in one direction may cancel.
    signs = [together, in_turn] if len(inputs) > 1 else [together]
    directions: list[list[Any]] = [[sign * own for own in each] for each in signs for sign in (1.0, -1.0)]
    directions += [[rng] * len(inputs)] * count
    trials = (
        (run, [_moved(array, own, units) for array, own in zip(inputs, each, strict=True)]) for each in directions
    )
    for function, moved in chain(trials, ((other, inputs) for other in wavering)):
        try:
            results = function(moved)
        except Exception:  # A value that was valid, an index for instance, may be invalid after the perturbation.
            continue
        for index, (right, found) in enumerate(zip(expected, results, strict=True)):
            shift = apart(right, found) if right.shape == found.shape else np.full(right.shape, np.inf)
            spreads[index] = np.maximum(spreads[index], shift)
    return spreads


def _moved(array: Array, direction: float | np.random.Generator, units: float) -> Array:
    kind = ElementType.of(array.dtype)
    if not kind.is_real:
        return array
    signs = direction if isinstance(direction, float) else direction.choice([-1.0, 1.0], array.shape)
    wide = widened(array)
    moved: Array = np.asarray(wide + signs * units * unit(wide, kind))
    with np.errstate(over="ignore"):
        # Exact zeros, such as masks and padding, are intended.
        return np.where(wide == 0, wide, moved).astype(array.dtype)
