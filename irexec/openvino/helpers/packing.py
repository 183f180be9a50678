"""Packing of elements narrower than 8 bits: `pack_data` and `unpack_data`."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.ir.weights import packing
from irexec.types import Array, ElementType

_SIGNED = ("i4",)


def pack_data(array: Array, type: ElementType) -> Array:
    """Return a Tensor of the type with the elements of an array packed into bytes."""
    codes = np.asarray(array).astype(np.int64).astype(np.uint8) & np.uint8((1 << type.bitwidth) - 1)
    packed = packing.pack(codes.reshape(-1), type)
    return packed.view(np.int8) if type.name in _SIGNED else packed


def unpack_data(array: Array, type: ElementType, shape: Any) -> Array:
    """Return the elements of packed bytes, in an array of int8 or uint8 with the shape."""
    count = int(np.prod(list(shape)))
    codes = packing.unpack(np.ascontiguousarray(array).view(np.uint8), type, count)
    if type.name in _SIGNED:
        half = 1 << (type.bitwidth - 1)
        codes = ((codes.astype(np.int16) ^ half) - half).astype(np.int8)
    return codes.reshape(tuple(shape))


__all__ = ["pack_data", "unpack_data"]
