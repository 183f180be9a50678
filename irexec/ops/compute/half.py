"""Conversion of f16 to f32 and back by integer arithmetic on the bits, which NumPy vectorizes, unlike `astype`.

The results equal those of `astype` bit for bit; NaN stays NaN.
"""

from __future__ import annotations

import numpy as np

from irexec.core.threads.parallel import parallel_for, split
from irexec.core.types import Array

# The number of elements from which all threads are used, on blocks that stay in a core's second-level cache.
MANY, BLOCK = 1 << 18, 1 << 16
# The exponent's bias is 15 in f16 and 127 in f32: a factor of 2 to the power of the difference adjusts it.
_REBIAS = 2.0**112
_SIGN_AND_REST = -0x7000_2000  # the sign, and 15 bits from bit 13 on
_BEYOND = 2.0**16  # the value of the exponent of infinity and NaN, read as an ordinary exponent
_SMALLEST = 0x3880_0000  # 2**-14 as f32 bits, the smallest normal f16
_NORMALS = 0x477F_F000 - 0x3880_0000  # the distance from _SMALLEST to 65520, which rounds to infinity
_MAGNITUDE = 0x7FFF_FFFF
# Subtracts the f32 exponent bias and adds just under half a unit of the last f16 place.
_ROUND = (0xFFF - (112 << 23)) & 0xFFFF_FFFF


def widen_half(array: Array) -> Array:
    """Return an f16 array as f32."""
    result = np.empty_like(array, np.float32)
    if array.size < MANY or not (array.flags.c_contiguous and result.flags.c_contiguous):
        widen_half_into(array, result)
        return result
    source, target = array.reshape(-1), result.reshape(-1)
    blocks = split(source.size, -(-source.size // BLOCK))
    parallel_for(len(blocks), lambda i: widen_half_into(source[slice(*blocks[i])], target[slice(*blocks[i])]))
    return result


def widen_half_into(array: Array, result: Array) -> None:
    """Convert an f16 array into an f32 array."""
    bits = result.view(np.int32)
    np.copyto(bits, array.view(np.int16))
    bits <<= 13
    bits &= _SIGN_AND_REST
    result *= _REBIAS
    if result.size and (result.max() >= _BEYOND or result.min() <= -_BEYOND):
        np.copyto(result, array)


def narrow_half(array: Array) -> Array:
    """Return an f32 array rounded to f16, ties to even."""
    # Elements are indexed below in memory order.
    array = np.asarray(array, order="C")
    bits = array.view(np.uint32)
    magnitude = bits & _MAGNITUDE
    magnitude -= _SMALLEST
    rare = magnitude >= _NORMALS
    rounded = bits >> 13
    sign = bits >> 16
    sign &= 0x8000
    rounded &= 1
    rounded += bits
    rounded += _ROUND
    rounded >>= 13
    rounded &= 0x7FFF
    rounded |= sign
    result = rounded.astype(np.uint16).view(np.float16)
    # Zeros, denormals, infinities and NaN.
    places = np.flatnonzero(rare)
    if places.size:
        with np.errstate(over="ignore", under="ignore"):
            result.reshape(-1)[places] = array.reshape(-1)[places].astype(np.float16)
    return result
