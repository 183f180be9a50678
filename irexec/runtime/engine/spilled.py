"""Arrays in a temporary file, which take no memory until they are read."""

from __future__ import annotations

import tempfile
from typing import IO

import numpy as np

from irexec.core.records import record
from irexec.core.types import Array


@record(frozen=True)
class Spilled:
    """An array in a file."""

    file: IO[bytes]
    begin: int
    size: int
    dtype: np.dtype
    shape: tuple[int, ...]

    def read(self) -> Array:
        self.file.seek(self.begin)
        return np.frombuffer(bytearray(self.file.read(self.size)), self.dtype).reshape(self.shape)


class Spill:
    """A temporary file that is removed together with the last of its arrays."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self.size = 0

    def write(self, array: Array) -> Spilled | Array:
        """Append an array; arrays of texts, which have no fixed size, are returned as copies. Raises OSError."""
        if array.dtype.kind in "TUO":
            return array.copy()
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="irexec-")  # noqa: SIM115
        begin, self.size = self.size, self.size + array.nbytes
        self._file.seek(begin)
        self._file.write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return Spilled(self._file, begin, array.nbytes, array.dtype, array.shape)
