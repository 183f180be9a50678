"""Packing of elements narrower than a byte in a `.bin`.

u2, u4, i4, nf4 and f4e2m1 start at the low end of a byte, u1 at the high end. u3 and u6 are in groups of three bytes:
the first two contain the low bits of the elements, the third their high bits, all from the high end. A group is always
complete. (Established by writing constants with OpenVINO 2026.4; its specification does not define it.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from irexec.core.types import I4, Array, ElementType

if TYPE_CHECKING:
    Codes = np.ndarray[Any, np.dtype[np.uint8]]


class _Field(NamedTuple):
    """Some bits of each element: their number, and their distance from the low end of the byte."""

    bits: int
    shifts: tuple[int, ...]


_WHOLE = {1: _Field(1, (7, 6, 5, 4, 3, 2, 1, 0)), 2: _Field(2, (0, 2, 4, 6)), 4: _Field(4, (0, 4))}
_SPLIT = {
    3: (_Field(2, (6, 4, 2, 0)), _Field(1, (7, 6, 5, 4, 3, 2, 1, 0))),
    6: (_Field(4, (4, 0)), _Field(2, (6, 4, 2, 0))),
}


def unpack(data: Codes, element_type: ElementType, count: int) -> Codes:
    """Return the bit patterns of `count` elements, one in each byte; `data` is 1-D and long enough for them."""
    used = data[: element_type.nbytes(count)]
    width = element_type.bitwidth
    if width == 4:
        # Both halves of a byte become the bytes of a 16-bit word.
        words = used.astype("<u2")
        words |= words << 4
        words &= 0x0F0F
        codes = words.view(np.uint8)
    elif width in _WHOLE:
        codes = _spread(used[:, None], _WHOLE[width])
    else:
        low, high = _SPLIT[width]
        groups = used.reshape(-1, 3)
        codes = _spread(groups[:, :2], low) | (_spread(groups[:, 2:], high) << np.uint8(low.bits))
    return codes.reshape(-1)[:count]


def sign_extended(codes: Codes, element_type: ElementType) -> Array:
    """Return the bit patterns of i4 as numbers of i8; the bit patterns of other types are returned unchanged."""
    if element_type is not I4:
        return codes
    numbers = codes ^ np.uint8(8)
    numbers -= np.uint8(8)
    return numbers.view(np.int8)


def pack(codes: Codes, element_type: ElementType) -> Codes:
    """Return the bytes that `unpack` reads as `codes`; unused bits are 0."""
    width = element_type.bitwidth
    low, high = _SPLIT.get(width, (_WHOLE.get(width), None))
    assert low is not None
    per_group = len(low.shifts) if high is None else 2 * len(low.shifts)
    padded = np.zeros(-(-codes.size // per_group) * per_group, np.uint8)
    padded[: codes.size] = codes.reshape(-1)
    groups = padded.reshape(-1, per_group)
    if high is None:
        return _gather(groups, low).reshape(-1)
    return np.concatenate([_gather(groups, low), _gather(groups >> np.uint8(low.bits), high)], axis=1).reshape(-1)


def to_array(codes: Codes, element_type: ElementType, shape: tuple[int, ...]) -> Array:
    """Return the array, in the element type's dtype, whose bit patterns are `codes`."""
    assert element_type.dtype is not None
    return codes.view(element_type.dtype).reshape(shape)


def to_codes(array: Array, element_type: ElementType) -> Codes:
    """Return the bit patterns of a packed type's array, one in each byte, 1-D."""
    mask = np.uint8((1 << element_type.bitwidth) - 1)
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8) & mask


def _spread(data: Codes, field: _Field) -> Codes:
    shifts = np.array(field.shifts, np.uint8)
    fields = (data[:, :, None] >> shifts) & np.uint8((1 << field.bits) - 1)
    return fields.reshape(len(data), data.shape[1] * len(shifts))


def _gather(codes: Codes, field: _Field) -> Codes:
    shifts = np.array(field.shifts, np.uint8)
    fields = (codes & np.uint8((1 << field.bits) - 1)).reshape(
        len(codes), codes.shape[1] // len(shifts), len(shifts)
    ) << shifts
    gathered: Codes = np.bitwise_or.reduce(fields, axis=2)
    return gathered
