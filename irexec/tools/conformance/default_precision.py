"""The default precision of a device: differences that rounding to bf16 explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import BF16, F16, F32, Array
from irexec.model.arrays.units import apart, widened
from irexec.model.graph.model import Model
from irexec.ops.spec.oracle import is_float
from irexec.tools.compare.culprit import function_of
from irexec.tools.compare.variants import moved_inside

# The multiple of the changes that rounding causes in irexec's results, up to which it explains a difference.
_TIMES = 4.0


def agrees_in_bf16(
    model: Model, inputs: Sequence[Array], expected: Sequence[Array], found: Sequence[Array], floor: float
) -> bool:
    """Return whether differences are explained by inputs and values between layers that are rounded to bf16, as devices
    may round them by default: a following layer, such as Cos, may enlarge the changes.

    `floor`: the error that is allowed in any case, as a fraction of the largest magnitude of a result.
    """
    rounded = [a.astype(BF16.dtype).astype(a.dtype) if is_float(a) else a for a in inputs]
    moved = moved_inside(model, dict.fromkeys((F16, BF16, F32), 2**-8))
    spreads: list[Array] = [np.zeros(array.shape) for array in expected]
    for moves, given in [({}, rounded), *((each, inputs) for each in moved)]:
        results = function_of(model, moves)(given)
        if any(a.shape != b.shape or not is_float(a) for a, b in zip(expected, results, strict=True)):
            return False
        spreads = [np.maximum(s, apart(a, b)) for s, a, b in zip(spreads, expected, results, strict=True)]
    for right, other, spread in zip(expected, found, spreads, strict=True):
        top = np.abs(np.nan_to_num(widened(right), posinf=0.0, neginf=0.0)).max(initial=0.0)
        if not (apart(right, other) <= floor * top + _TIMES * spread).all():
            return False
    return True
