"""Rounding f32 to the numbers of a narrower float type, in place: nearest, ties to even."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from irexec.core.threads.parallel import scratch
from irexec.core.types import Array
from irexec.ops.compute.half import narrow_half, widen_half_into


def round_to_half(x: Array) -> None:
    """Round to numbers of f16."""
    widen_half_into(narrow_half(x), x)


def round_to_bf16(x: Array) -> None:
    """Round to numbers of bf16."""
    is_nan = np.isnan(x)
    bits = x.view(np.uint32)
    # Ties are rounded according to the lowest bit that remains; a carry continues into the exponent.
    added = (bits >> 16) & 1
    added += 0x7FFF
    bits += added
    bits &= 0xFFFF_0000
    if is_nan.any():
        x[is_nan] = np.nan


class Dropped(NamedTuple):
    """The bits of an f32 that a narrower float type lacks, as a factor: see `round_raised`. From `smallest` to
    `largest` all numbers of this type are normal.
    """

    factor: np.float32
    smallest: np.float32
    largest: np.float32


OF_HALF = Dropped(np.float32(2.0**13), np.float32(2.0**-14), np.float32(65504))
OF_BF16 = Dropped(np.float32(2.0**16), np.float32(2.0**-100), np.float32(2.0**100))


def round_raised(x: Array, dropped: Dropped) -> None:
    """Divide numbers by `dropped.factor` and round the quotients to numbers of the narrower type, in two passes.

    Quotients are 0 or in the range of `dropped`, and have at most 20 significant bits. A zero becomes +0.
    """
    # x + quotient is rounded to the last place that the type has for the quotient. x is an even multiple of this place,
    # so that ties become even.
    sums = scratch("rounding", x.shape, x.dtype)
    np.multiply(x, 1 + 1 / dropped.factor, out=sums)
    np.subtract(sums, x, out=x)
