"""Pages that are released are read again from the file, and memory that is not mapped stays unchanged."""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np
import pytest

from irexec.ir.weights.file import mapped_file, release_pages


def resident(array: np.ndarray) -> int:
    """Return the bytes of this process's mapping of the file that are in memory, as counted by the kernel."""
    address, found = array.ctypes.data, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            start, stop = (int(part, 16) for part in first.split("-"))
            found = start <= address < stop
        elif found and first == "Rss:":
            return int(line.split()[1]) * 1024
    raise AssertionError("the array is in no mapping")


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="only Linux tells which pages are in memory")
def test_a_mapped_array_is_released_and_stays_what_it_is(tmp_path: Path) -> None:
    numbers = np.arange(1 << 20, dtype=np.float32)
    numbers.tofile(tmp_path / "weights.bin")
    with (tmp_path / "weights.bin").open("rb") as stream:
        mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    everything = np.frombuffer(mapping, np.float32)
    part = everything[1000:-1000].reshape(2, -1).T
    assert mapped_file(part) is mapping
    assert np.array_equal(everything, numbers)
    before = resident(everything)
    release_pages(part)
    assert resident(everything) < before / 10
    assert np.array_equal(everything, numbers)


def test_an_array_of_its_own_memory_is_left_alone() -> None:
    array = np.arange(1 << 20, dtype=np.float32)
    release_pages(array)
    assert np.array_equal(array, np.arange(1 << 20, dtype=np.float32))
