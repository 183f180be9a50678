"""Arrays from .npy and .npz files: mapped or read within a size limit; pickled objects are refused."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterator
from typing import IO, Any

import numpy as np

from irexec.core.types import Array
from irexec.ir.io.files import open_regular
from irexec.model.arrays.accept import as_plain_array

MAX_EXPANDED = 1 << 30
"""The maximum number of bytes of all compressed arrays of one .npz; uncompressed arrays are no larger than the file."""


# Version 3 differs from 2 only in the encoding of records' field names, and records are refused.
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
    (3, 0): np.lib.format.read_array_header_2_0,
}


class BadArrayFile(ValueError):
    """A file without readable arrays; the message gives the reason."""


def load(path: str | os.PathLike[str]) -> Array | dict[str, Array]:
    """Return the array of a .npy file, mapped and read-only, or the arrays of a .npz by name.

    The header is checked against the size of the file before any memory is allocated. Raises BadArrayFile, or
    OSError, for example if the path is not a regular file.
    """
    with open_regular(path, "a file of arrays") as stream:
        magic = stream.read(6)
        stream.seek(0)
        try:
            if magic == np.lib.format.MAGIC_PREFIX:
                return as_plain_array(_mapped(stream))
            if magic[:2] == b"PK":
                return dict(_members(stream))
        except (OSError, BadArrayFile):
            raise
        except MemoryError:
            raise BadArrayFile("there is not enough memory for the arrays in the file") from None
        except zipfile.BadZipFile:
            raise BadArrayFile("the archive is damaged or incomplete") from None
        except Exception as error:  # NumPy and zipfile do not document the exceptions for a broken file
            raise BadArrayFile(str(error) or type(error).__name__) from error
    raise BadArrayFile("the file is neither .npy nor .npz")


def _mapped(stream: IO[bytes]) -> Array:
    shape, dtype, fortran = _header(stream)
    start = stream.tell()
    needed, there = _size(shape, dtype), os.fstat(stream.fileno()).st_size - start
    if needed > there:
        raise BadArrayFile(f"its header declares {needed} bytes of values, but only {there} follow")
    if not needed:
        return np.zeros(shape, dtype)
    return np.memmap(stream, dtype, "r", start, shape, "F" if fortran else "C").view(np.ndarray)


def _members(stream: IO[bytes]) -> Iterator[tuple[str, Array]]:
    with zipfile.ZipFile(stream) as archive:
        entries = [entry for entry in archive.infolist() if entry.filename.endswith(".npy")]
        packed = sum(entry.file_size for entry in entries if entry.compress_type != zipfile.ZIP_STORED)
        if packed > MAX_EXPANDED:
            raise BadArrayFile(f"its arrays would expand to {packed} bytes, but the limit is {MAX_EXPANDED}")
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            with archive.open(entry) as member:
                yield name, _member(name, member, entry.file_size)


def _member(name: str, stream: IO[bytes], size: int) -> Array:
    shape, dtype, fortran = _header(stream)
    needed = _size(shape, dtype)
    if needed > size:
        raise BadArrayFile(f"the header of {name!r} declares {needed} bytes of values, but the archive contains {size}")
    data = stream.read(needed)
    if len(data) < needed:
        raise BadArrayFile(f"the values of {name!r} end after {len(data)} of {needed} bytes")
    array = np.frombuffer(data, dtype) if needed else np.zeros(math.prod(shape), dtype)
    return as_plain_array(array.reshape(shape, order="F" if fortran else "C"))


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise BadArrayFile(f"version {version[0]}.{version[1]} of the format is not supported")
    try:
        shape, fortran, dtype = _HEADERS[version](stream)
    except (OSError, MemoryError, zipfile.BadZipFile):
        raise
    except Exception as error:  # The message comes from a tokenizer, a parser or a type, and does not help the user.
        raise BadArrayFile("its header cannot be read") from error
    if dtype.hasobject:
        raise BadArrayFile("the file contains Python objects, which irexec does not load")
    return shape, dtype, fortran


def _size(shape: tuple[int, ...], dtype: np.dtype[Any]) -> int:
    if len(shape) > 64 or any(extent < 0 or extent >= 1 << 63 for extent in shape):
        raise BadArrayFile(f"no array can have the shape {str(shape)[:100]}")
    return math.prod(shape) * dtype.itemsize
