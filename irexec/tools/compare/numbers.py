"""The numbers that decide verdicts. Nothing else decides by a number of its own; docs/compare.md lists them."""

from __future__ import annotations

FUSED = 4.0
"""Units in the last place. A runtime that fuses a layer with its neighbours does not round the values between them: two
fused products and sums in a row are up to 4 units apart from the same with each value rounded.
"""
REORDERED = 256.0
"""Units in the last place by which the same value may differ if other layers compute it, or sums are in another order.
"""
SAME = REORDERED * 2.0**-23
"""The same as a relative error in f32."""
DEEP = 1e-3
"""The relative error that rounding may have accumulated at the end of a deep network in f32."""
DRAWS = 4
"""The number of runs with random rounding."""
MARGIN = 8.0
"""The multiple of the largest change in these runs that rounding explains: errors of a layer may all have one sign."""
NOISE_MARGIN = 2.0
"""The same for many elements rounded to fewer bits, whose errors are independent."""
ENOUGH = 8
"""The least number of elements whose errors say more together than one of them."""
UNKNOWN = 256
"""The extent of a dynamic axis of a layer without values."""
MIDWAY = 0.25
"""Between rounding to the nearest (errors of 0 units in the last place on average, none above a half) and truncation
(half a unit on average, half of them above a half).
"""
LOST = 0.01
"""The relative error of a small result of which no digit is right."""


def multiple(count: int) -> float:
    """Return the multiple of a measured error, of this many elements together, that rounding to fewer bits explains:
    MARGIN for one element, NOISE_MARGIN for infinitely many, and between them as the error of a mean.
    """
    return float(NOISE_MARGIN + (MARGIN - NOISE_MARGIN) / count**0.5)
