"""What the memory of this machine holds: arrays that are too large are refused before they are made."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from irexec.types import MAX_RANK, TensorType

# The addresses that a process of today's machines has.
_ADDRESSES = 1 << 47
# What is not worth asking the system for.
_SMALL = 1 << 24


def beyond_memory(outputs: Sequence[TensorType]) -> str | None:
    """Why this machine cannot hold these results; None where it can."""
    total = 0
    for index, tensor in enumerate(outputs):
        if tensor.rank is None:
            continue
        if tensor.rank > MAX_RANK:
            return f"output {index} has rank {tensor.rank}; an array has {MAX_RANK} axes at most"
        item = tensor.element_type.dtype.itemsize if tensor.element_type.dtype else 1
        # NumPy counts the bytes of an empty array as if its empty axes were not there.
        total += item * math.prod([extent.min or 1 for extent in tensor.shape.dims])
        if total > _SMALL and total > memory():
            return f"output {index}, {tensor}, is more than this machine's memory holds"
    return None


def memory() -> int:
    """The bytes of memory that this process may have, as far as the system says: the machine's, or a limit below."""
    with contextlib.suppress(ImportError):
        import resource  # not on Windows

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        return min(_machine_memory(), limit) if limit != resource.RLIM_INFINITY else _machine_memory()
    return _machine_memory()


@cache
def _machine_memory() -> int:
    found = _ADDRESSES
    with contextlib.suppress(AttributeError, ValueError, OSError):
        found = min(found, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    # In a container; "max" is no number.
    with contextlib.suppress(ValueError, OSError), open("/sys/fs/cgroup/memory.max") as stream:
        found = min(found, int(stream.read()))
    return found


def is_too_large(error: Exception) -> bool:
    """True for what is raised where an array can't be held: NumPy has a ValueError for more bytes than it can count."""
    too_many = ("array is too big", "iterator is too large", "Maximum allowed dimension exceeded")
    return isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(too_many))


def reserve(shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    """In a kernel, before an array that may be larger than inputs and results: raise MemoryError if it cannot be held.

    NumPy raises MemoryError for such an array, but ValueError for one whose size it cannot even count.
    """
    nbytes = dtype.itemsize * math.prod(max(1, extent) for extent in shape)
    if nbytes > _SMALL and nbytes > memory():
        raise MemoryError(f"an array of shape {list(shape)} is more than this machine's memory holds")
