"""String constants in a `.bin`: int32 count, count + 1 int32 offsets, then UTF-8 text, all little-endian."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

_INT = "<i4"
_SIZE = 4


def read_strings(data: bytes | memoryview) -> list[str]:
    """Return the strings of a blob. Raises ValueError for inconsistent bytes; checks the count before it allocates."""
    if len(data) < _SIZE:
        raise ValueError(f"{len(data)} bytes are too few to contain the number of strings")
    count = int(np.frombuffer(data, _INT, 1)[0])
    header = (count + 2) * _SIZE
    if count < 0 or header > len(data):
        raise ValueError(f"{count} strings do not fit into {len(data)} bytes")
    offsets = np.frombuffer(data, _INT, count + 1, _SIZE)
    text = bytes(data[header:])
    if offsets[0] != 0:
        raise ValueError(f"the first string starts at {offsets[0]}, expected 0")
    if (offsets[1:] < offsets[:-1]).any():
        raise ValueError("a string ends before its start")
    if offsets[-1] > len(text):
        raise ValueError(f"the last string ends at {offsets[-1]}, beyond the {len(text)} bytes of text")
    bounds = offsets.tolist()
    return [text[start:end].decode() for start, end in pairwise(bounds)]


def write_strings(strings: Iterable[str]) -> bytes:
    """Return the blob that `read_strings` reads as these strings. Raises ValueError for more text than int32 offsets
    can address."""
    texts = [string.encode() for string in strings]
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    if offsets[-1] > np.iinfo(_INT).max:
        raise ValueError("string constants hold at most 2 GiB of text")
    return len(texts).to_bytes(4, "little") + offsets.astype(_INT).tobytes() + b"".join(texts)
