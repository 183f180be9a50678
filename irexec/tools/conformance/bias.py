"""Errors of elementwise layers within the tolerance: bias and spread of many elements, and small results that are lost.

Rounding to the nearest number has an error of at most half a unit in the last place, and of 0 on average. Truncation
has an error of half a unit on average, although each result is within any tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from irexec.core.types import F32, Array, ElementType
from irexec.model.arrays.units import unit
from irexec.model.graph.model import Model, Node
from irexec.ops.spec.contents import category_of
from irexec.ops.spec.operator import Operator, Tolerance
from irexec.ops.spec.traits import Conversion
from irexec.tools.compare.culprit import function_of
from irexec.tools.compare.errors import percent
from irexec.tools.compare.numbers import FUSED, LOST, MARGIN, MIDWAY, NOISE_MARGIN
from irexec.tools.conformance.case import computing
from irexec.tools.conformance.exact import exact_values

_FEWEST = (MARGIN / MIDWAY) ** 2 / 12
"""The least number of elements whose average error is judged: MARGIN standard errors of rounding are then below MIDWAY.
"""
_NEAREST = 0.51
"""The largest error of rounding to the nearest, computed in f64."""
_ELEMENTWISE = frozenset({"activation", "arithmetic", "type"})


def systematic(model: Model, inputs: Sequence[Array], found: Sequence[Array], tolerance: Tolerance) -> str | None:
    """Return a description of a bias in the errors of a whole result; None if there is no bias, or if the model is not
    a single elementwise layer whose result is rounded once (any in 16-bit types; in f32, those with a tolerance of at
    most one unit).
    """
    nodes = computing(model)
    if (
        len(nodes) != 1
        or len(found) != 1
        or found[0].size < _FEWEST
        or not _is_rounded_once(nodes[0], found[0], tolerance)
    ):
        return None
    exact = list(inputs) if Conversion in nodes[0].traits else exact_values(model, inputs)
    if not exact or exact[0].shape != found[0].shape or exact[0].dtype.kind not in "fV":
        return None
    errors, signs = _errors(exact[0].astype(np.float64), found[0])
    if errors.size < _FEWEST or float((np.abs(errors) > _NEAREST).mean()) < MIDWAY:
        return None
    for of, signed in (("the results", errors), ("the magnitudes of the results", errors * signs)):
        mean, deviation = float(signed.mean()), float(signed.std()) / np.sqrt(errors.size)
        if abs(mean) >= MIDWAY and abs(mean) >= MARGIN * deviation:
            return f"{of} are {mean:+.2f} ulp off on average over {errors.size} elements"
    spread = float(np.sqrt((errors**2).mean()))
    if spread >= NOISE_MARGIN and found[0].dtype.itemsize == 2:
        return f"the errors of {errors.size} elements have a root mean square of {spread:.1f} ulp"
    return None


def lost(model: Model, inputs: Sequence[Array], expected: Sequence[Array], found: Sequence[Array]) -> str | None:
    """Return a description of a small f32 result with a large relative error, such as 0 for erf(1e-9); None if no
    result has such an error, or if the model is not a single elementwise layer. Results that change as much if the
    inputs change by a few units in the last place, such as sines near a multiple of π, may differ.
    """
    nodes = computing(model)
    if len(nodes) != 1 or len(found) != 1 or not inputs or found[0].dtype != np.float32:
        return None
    operator = nodes[0].operator
    if operator is None or operator.oracle.allowed.cancels or not _is_elementwise(operator):
        return None
    right, other = expected[0].astype(np.float64), found[0].astype(np.float64)
    with np.errstate(all="ignore"):
        is_normal = np.isfinite(right) & np.isfinite(other) & (np.abs(right) > least_normal(F32))
        distance = np.where(is_normal, np.abs(right - other), 0)
        wrong = distance > LOST * np.abs(right)
        for signs in ((1, 1), (-1, -1), (1, -1), (-1, 1)) if wrong.any() else ():
            factors = (1 + signs[place % 2] * FUSED * unit(1.0, F32) for place in range(len(inputs)))
            pairs = zip(inputs, factors, strict=True)
            moved = [np.asarray(a * factor, a.dtype) if a.dtype.kind == "f" else a for a, factor in pairs]
            wrong &= ~(distance <= MARGIN * np.abs(function_of(model)(moved)[0].astype(np.float64) - right))
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    error = percent(float(distance[place] / np.abs(right[place])))
    return f"a result is {error} off at {list(place)}: {expected[0][place]} expected, {found[0][place]} found"


def _is_elementwise(operator: Operator) -> bool:
    """Return whether each result is computed from one element of each input."""
    category = category_of(operator.type)
    return category in _ELEMENTWISE and not operator.oracle.allowed.mixes


def _is_rounded_once(node: Node, found: Array, tolerance: Tolerance) -> bool:
    kind, operator = ElementType.of(found.dtype), node.operator
    if operator is None or not _is_elementwise(operator) or not kind.is_real:
        return False
    if operator.oracle.allowed.reciprocal and kind.bitwidth == 32:
        return False
    once = tolerance.kind in ("exact", "rounded")
    return once and (kind.bitwidth == 16 or (kind.bitwidth == 32 and tolerance.ulp <= 1.0))


def _errors(exact: Array, found: Array) -> tuple[Array, Array]:
    """Return the signed errors in units in the last place, and the signs of the exact results, where all are normal and
    there is an error: results that need no rounding say nothing about it.
    """
    kind = ElementType.of(found.dtype)
    wide = found.astype(np.float64)
    with np.errstate(all="ignore"):
        normal = np.isfinite(exact) & np.isfinite(wide) & (np.abs(exact) >= least_normal(kind)) & (wide != 0)
        rounded = normal & (wide != exact)
        errors = (wide - exact)[rounded] / unit(exact[rounded], kind)
    return errors, np.sign(exact[rounded])


def least_normal(kind: ElementType) -> float:
    """Return a magnitude above the subnormal numbers of a type, which devices may replace by 0."""
    return MARGIN * float(ml_dtypes.finfo(kind.dtype).tiny)  # type: ignore[no-untyped-call]
