"""Rounding f32 to the numbers of a narrower float type, in place: nearest, ties to even."""

from __future__ import annotations

import numpy as np

from irexec.ops.compute.half import narrow_half, widen_half_into
from irexec.threads.parallel import scratch
from irexec.types import Array

NORMAL_HALVES = np.float32(2.0**-14), np.float32(65504)
"""The smallest and the largest normal number of f16."""


def round_to_half(x: Array) -> None:
    """Round to numbers of f16."""
    widen_half_into(narrow_half(x), x)


def round_to_normal_half(x: Array) -> None:
    """Round zeros and numbers in the range of `NORMAL_HALVES` to numbers of f16, which takes a fraction of the time.

    A zero becomes +0.
    """
    # Adding 1.5 times a power of two leaves as many bits of a number as f16 has.
    large = scratch("rounding", x.shape, x.dtype)
    bits = large.view(np.uint32)
    np.bitwise_and(x.view(np.uint32), _EXPONENT, out=bits)
    np.add(bits, (_DROPPED << 23) | _HALF, out=bits)
    np.add(x, large, out=x)
    np.subtract(x, large, out=x)


# The bits of an exponent, the highest bit of the fraction, and the bits of an f32 that f16 lacks.
_EXPONENT, _HALF, _DROPPED = 0x7F80_0000, 0x40_0000, 13


def round_to_bf16(x: Array) -> None:
    """Round to numbers of bf16."""
    is_nan = np.isnan(x)
    bits = x.view(np.uint32)
    # The bit that decides ties is the lowest that remains; a carry continues into the exponent.
    added = (bits >> 16) & 1
    added += 0x7FFF
    bits += added
    bits &= 0xFFFF_0000
    if is_nan.any():
        x[is_nan] = np.nan
