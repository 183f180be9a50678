"""Writing a `.bin`: constants one after the other; equal constants are stored once."""

from __future__ import annotations

import hashlib
import sys
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from irexec.core.types import STRING, ElementType
from irexec.ir.weights.packing import pack, to_codes
from irexec.ir.weights.strings import write_strings


class Blobs:
    """Writes constants to a stream in order of first use, without padding."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._end = 0
        self._known: dict[bytes, int] = {}

    def add(self, array: npt.NDArray[Any], element_type: ElementType) -> tuple[int, int]:
        """Store a constant; return the offset and size under which it can be read.

        Raises ValueError for an array whose dtype does not match the element type, or for more text than a string
        constant can contain.
        """
        return self.add_bytes(encoded(array, element_type))

    def add_bytes(self, data: bytes | memoryview) -> tuple[int, int]:
        """Store the bytes of a constant, at least one; return their offset and number."""
        key = hashlib.blake2b(data, digest_size=32).digest()
        offset = self._known.setdefault(key, self._end)
        if offset == self._end:  # unambiguous: every stored constant has at least one byte
            self._stream.write(data)
            self._end += len(data)
        return offset, len(data)


def encoded(array: npt.NDArray[Any], element_type: ElementType) -> memoryview:
    """Return the bytes of an array in a `.bin`. Raises ValueError as `Blobs.add`."""
    if element_type is STRING:
        return memoryview(write_strings(str(text) for text in array.reshape(-1)))
    dtype = element_type.dtype
    if array.size == 0:
        # OpenVINO cannot read constants, even empty constants, from an empty file.
        return memoryview(b"\0")
    if dtype is None or array.dtype.newbyteorder("=") != dtype:
        raise ValueError(f"an array of {array.dtype} cannot store {element_type}")
    if element_type.is_packed:
        return memoryview(pack(to_codes(array, element_type), element_type).tobytes())
    little = np.ascontiguousarray(array)
    if not array.dtype.isnative or sys.byteorder == "big":
        little = little.astype(dtype.newbyteorder("<"))
    return little.reshape(-1).view(np.uint8).data
