"""The constants of dumps, each of which is kept once: OpenVINO writes all weights of a model after every pass."""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from irexec.ir.weights.file import FURTHER, Weights

_RANGE = re.compile(rb'offset="(\d++)" size="(\d++)"')
_BLOCK = 1 << 22
_SAMPLE = 64
_MIN_FREED = 1 << 16
"""The size from which on a constant is looked for, and its space freed, while its file is written."""
_PUNCH_HOLE = 3
"""The flags of Linux's fallocate that free the space of a range, and keep the size of the file."""


class Kept(NamedTuple):
    """A constant in a file that OpenVINO wrote, and the place where the same bytes are kept."""

    offset: int
    size: int
    place: int


class Constants:
    """The constants of all dumps. Those of the model stay in its `.bin`, at their offsets; others are moved to a file,
    where their places begin at FURTHER.

    `own`: the file and the weights of the model, if OpenVINO reads an IR.
    """

    def __init__(self, file: Path, own: tuple[Path, Path] | None = None) -> None:
        self._file, self._size = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), 0
        self._weights = None if own is None else own[1]
        self._own = None if own is None else os.open(own[1], os.O_RDONLY)
        self._places: dict[tuple[int, bytes], list[int]] = {}
        self.layout: list[Kept] = []
        """The constants of the model, in a file with the same layout as its own."""
        for offset, size in [] if own is None else _ranges(own[0].read_bytes()):
            self._places.setdefault(_key(self.read, offset, size), []).append(offset)
            self.layout.append(Kept(offset, size, offset))

    def close(self) -> None:
        for descriptor in (self._file, self._own):
            if descriptor is not None:
                os.close(descriptor)

    def weights(self) -> Weights:
        """Return the weights of the graphs that `take` returned."""
        found = Weights() if self._weights is None else Weights.find(None, self._weights)
        if self._size:
            found.further = memoryview(mmap.mmap(self._file, 0, access=mmap.ACCESS_READ))
        return found

    def take(self, graph: bytes, written: Written) -> tuple[bytes, list[Kept]]:
        """Return a graph with the places of its constants instead of their offsets, and the constants."""
        ranges = _ranges(graph)
        written.restore_all_but(ranges)
        kept = {one: Kept(*one, self._place(written, *one)) for one in ranges}

        def at_place(found: re.Match[bytes]) -> bytes:
            return b'offset="%d" size="%s"' % (kept[int(found[1]), int(found[2])].place, found[2])

        return _RANGE.sub(at_place, graph), [*kept.values()]

    def _place(self, written: Written, offset: int, size: int) -> int:
        """Return where a constant is kept, and keep it if it is new."""
        if offset in written.found:
            return written.found[offset].place
        if not size:
            return 0
        places = self._places.setdefault(_key(written.read, offset, size), [])
        for place in places:
            if self.has(Kept(offset, size, place), written):
                return place
        for start, length in _blocks(size):
            os.pwrite(self._file, written.read(offset + start, length), self._size + start)
        places.append(FURTHER + self._size)
        self._size += size
        written.free(Kept(offset, size, places[-1]))
        return places[-1]

    def has(self, one: Kept, written: Written) -> bool:
        """Return whether a file has the bytes that are kept at a place."""
        blocks = _blocks(one.size)
        return all(self.read(one.place + at, length) == written.read(one.offset + at, length) for at, length in blocks)

    def read(self, place: int, size: int) -> bytes:
        if place >= FURTHER:
            return os.pread(self._file, size, place - FURTHER)
        assert self._own is not None
        return os.pread(self._own, size, place)


class Written:
    """A file of weights that OpenVINO writes. Constants that are kept elsewhere take no space in it."""

    def __init__(self, path: Path, constants: Constants, layout: Sequence[Kept]) -> None:
        """`layout`: the constants that it is expected to have."""
        self._file, self._constants = os.open(path, os.O_RDWR), constants
        self._expected = sorted(layout)
        self._seen = 0
        self.found: dict[int, Kept] = {}
        """The constants that were found to be kept, by offset."""

    def close(self) -> None:
        os.close(self._file)

    def behind(self) -> int:
        """Return the number of bytes that were written since `follow` was called."""
        return os.fstat(self._file).st_size - self._seen

    def follow(self) -> None:
        """Free the space of the constants that are complete, as long as they are those that are expected."""
        self._seen = os.fstat(self._file).st_size
        while self._expected and self._expected[0].offset + self._expected[0].size <= self._seen:
            one = self._expected.pop(0)
            if one.size < _MIN_FREED:
                continue
            if not self._constants.has(one, self):
                self._expected.clear()
                return
            self.found[one.offset] = one
            self.free(one)

    def free(self, one: Kept) -> None:
        if one.size >= _MIN_FREED:
            _punch_hole(self._file, one.offset, one.size)

    def restore_all_but(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Write the bytes back that are not exactly those of a constant."""
        for offset, size, place in [one for one in self.found.values() if one[:2] not in ranges]:
            for start, length in _blocks(size):
                os.pwrite(self._file, self._constants.read(place + start, length), offset + start)
            del self.found[offset]

    def read(self, offset: int, size: int) -> bytes:
        return os.pread(self._file, size, offset)


def _ranges(graph: bytes) -> list[tuple[int, int]]:
    """Return the offsets and sizes of the constants of a graph, each once."""
    return list(dict.fromkeys((int(found[1]), int(found[2])) for found in _RANGE.finditer(graph)))


def _key(read: Callable[[int, int], bytes], offset: int, size: int) -> tuple[int, bytes]:
    """Return what equal constants have in common: the size, and some bytes of the beginning, the middle and the end."""
    length = min(size, _SAMPLE)
    return size, b"".join(read(offset + start, length) for start in (0, (size - length) // 2, size - length))


def _blocks(size: int) -> Iterator[tuple[int, int]]:
    """Yield the beginnings and lengths of the blocks of a constant."""
    return ((start, min(_BLOCK, size - start)) for start in range(0, size, _BLOCK))


def _punch_hole(file: int, offset: int, size: int) -> None:
    """Free the space of a range of a file. Only Linux has holes that are made later, and not in every file system."""
    if sys.platform == "linux" and sys.maxsize > 1 << 32:
        arguments = ctypes.c_int(file), ctypes.c_int(_PUNCH_HOLE), ctypes.c_int64(offset), ctypes.c_int64(size)
        ctypes.CDLL(None).fallocate(*arguments)
