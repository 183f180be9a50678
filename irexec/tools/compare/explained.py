"""The errors of a model's results that rounding explains: the errors of its layers, propagated to the results."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import Typical, squeezed, unit, widened
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.model import Node
from irexec.ops.spec.operator import Operator
from irexec.tools.compare.errors import Error, measure
from irexec.tools.compare.tolerances import FUSED
from irexec.tools.run.record import Reference

_RUNS = 3
MARGIN = 8.0
"""An error of up to this multiple of the largest error in the disturbed runs counts as explained: there are few runs,
and the errors of layers may be biased.
"""


def explained(
    reference: Reference, units: Mapping[Node, float], errors: Sequence[Sequence[Error]], margin: float = MARGIN
) -> list[list[float]]:
    """Return the error in units in the last place that rounding explains, for each step and result.

    `units`: the own errors of layers. irexec runs the model with random errors of this size in the results of these
    layers; the largest error of the model's results, times the margin, counts as explained. `errors`: the errors of the
    results; there are no further runs as soon as all of them are explained.
    """
    right = reference.results()
    wrong = {node: error for node, error in units.items() if error > 0}
    found = [[FUSED if wrong else 0.0 for _ in step] for step in right]
    for seed in range(_RUNS if wrong else 0):
        if not unexplained(errors, found):
            break
        try:
            off = Reference(_disturbed(reference, wrong, np.random.default_rng(seed)), reference.steps).results()
        except IRError:  # A value that depends on rounding was close to the limit of a shape or an index.
            continue
        for step, (ours, theirs) in enumerate(zip(right, off, strict=True)):
            for index, (a, b) in enumerate(zip(ours, theirs, strict=True)):
                found[step][index] = max(found[step][index], margin * measure(a, b).ulp + FUSED)
    return found


def unexplained(errors: Sequence[Sequence[Error]], bounds: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """Return the steps and results whose errors are larger than rounding explains, as given by `bounds`."""
    return [
        (step, index)
        for step, (some, most) in enumerate(zip(errors, bounds, strict=True))
        for index, (error, bound) in enumerate(zip(some, most, strict=True))
        if error and not error.ulp <= bound
    ]


def _disturbed(reference: Reference, units: Mapping[Node, float], rng: np.random.Generator) -> Any:
    model, copies = copy_with_map(reference.model)
    for node, error in units.items():
        inside = [inner for body in node.bodies for inner in body.model.walk()]
        for made in [copies[inner] for inner in inside or [node]]:
            if made.operator is not None and not made.bodies and made.inputs and made.type != "Result":
                made.operator = _disturbing(made.operator, error, rng)
    return model


def _disturbing(operator: Operator, units: float, rng: np.random.Generator) -> Operator:
    """Return the operator with random errors of up to this number of units in the last place in its results."""
    made = copy.copy(operator)
    right = operator.kernel

    def kernel(*inputs: Any, out: Any = None, **attributes: Any) -> Any:
        results = right(*inputs, **attributes)
        if isinstance(results, (tuple, list)):
            return [_moved(np.asarray(result), units, rng) for result in results]
        return _moved(np.asarray(results), units, rng)

    made.kernel, made.opset, made.specializer, made.view, made.inplace = kernel, "disturbed", None, (), ()
    return made


def _moved(array: Array, units: float, rng: np.random.Generator) -> Array:
    kind = ElementType.of(array.dtype)
    if not kind.is_real or not array.size:
        return array
    flat = squeezed(array)
    wide = widened(flat)
    scale = np.maximum(np.abs(wide), Typical(flat)[:])
    with np.errstate(all="ignore"):
        step = units * unit(scale, kind) * rng.uniform(-1, 1, wide.shape)
        # Exact zeros and infinities, such as masks and padding, are intended.
        moved = np.where((wide == 0) | ~np.isfinite(wide), wide, wide + step)
        made: Array = moved.astype(array.dtype).reshape(array.shape)
    return made
