"""Packing of elements narrower than 8 bits, in the order of OpenVINO's helpers: `pack_data` and `unpack_data`.

The first element lies at the high end of its byte. In tensors and files, elements of 2 and 4 bits begin at the low end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.arguments import expected
from irexec.core.types import I4, Array, ElementType
from irexec.ir.weights import packing

_TYPES = ("u1", "u2", "u3", "u4", "u6", "i4", "nf4", "f4e2m1")


def pack_data(array: Array, type: ElementType) -> Array:
    """Return bytes (uint8) with the elements of an array packed; the last byte is filled with zeros.

    Raises AssertionError for a type that is not packed, RuntimeError for values that are not integers.
    """
    _check(type)
    whole = np.asarray(array).astype(np.int8 if type is I4 else np.uint8)
    if not np.array_equal(whole, array):
        raise RuntimeError(f"the conversion of the array {array} to {type} rounds")
    codes = whole.reshape(-1).view(np.uint8) & np.uint8((1 << type.bitwidth) - 1)
    return packing.pack(_turned(codes, type), type)


def unpack_data(array: Array, type: ElementType, shape: Any) -> Array:
    """Return the elements of packed bytes, in an array of uint8 (int8 for i4) with the shape.

    Raises AssertionError for a type that is not packed.
    """
    _check(type)
    data = np.ascontiguousarray(array).view(np.uint8).reshape(-1)
    codes = _turned(packing.unpack(data, type, data.size * 8 // type.bitwidth), type)
    return np.resize(packing.sign_extended(codes, type), [int(extent) for extent in shape])


def _turned(codes: Array, type: ElementType) -> Array:
    """Return the elements of each byte in the reverse order, for types that files store from the low end of a byte."""
    if type.bitwidth not in (2, 4):
        return codes
    per_byte = 8 // type.bitwidth
    padded = np.zeros(-(-codes.size // per_byte) * per_byte, np.uint8)
    padded[: codes.size] = codes
    return padded.reshape(-1, per_byte)[:, ::-1].reshape(-1)


def _check(type: ElementType) -> None:
    if expected(type, ElementType, "a packed type").name not in _TYPES:
        raise AssertionError(f"{type} is not one of the packed types {', '.join(_TYPES)}")


__all__ = ["pack_data", "unpack_data"]
