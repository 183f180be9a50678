"""The memory limits of this machine: arrays that are too large are rejected before they are allocated."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from irexec.core.types import MAX_RANK, TensorType

# The bytes of the address space of a process on current machines.
_ADDRESSES = 1 << 47
# Below this number of bytes, the system's limits are not queried.
_SMALL = 1 << 24


def beyond_memory(outputs: Sequence[TensorType]) -> str | None:
    """Return the reason why these results do not fit into this machine's memory; None if they fit."""
    total = 0
    for index, tensor in enumerate(outputs):
        if tensor.rank is None:
            continue
        if tensor.rank > MAX_RANK:
            return f"output {index} has rank {tensor.rank}; an array has {MAX_RANK} axes at most"
        item = tensor.element_type.dtype.itemsize if tensor.element_type.dtype else 1
        # NumPy counts the bytes of an empty array as if axes of extent 0 were absent.
        total += item * math.prod([extent.min or 1 for extent in tensor.shape.dims])
        if total > _SMALL and total > memory():
            return f"output {index}, {tensor}, exceeds this machine's memory"
    return None


def memory() -> int:
    """Return the bytes of memory available to this process: the machine's, or a lower limit of the system."""
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
    # The limit of a container; "max" means unlimited.
    with contextlib.suppress(ValueError, OSError), open("/sys/fs/cgroup/memory.max") as stream:
        found = min(found, int(stream.read()))
    return found


def is_too_large(error: Exception) -> bool:
    """Return True for the exceptions of arrays that are too large: MemoryError, or NumPy's ValueError."""
    too_many = ("array is too big", "iterator is too large", "Maximum allowed dimension exceeded")
    return isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(too_many))


def reserve(shape: Sequence[int], dtype: np.dtype[Any]) -> None:
    """Raise MemoryError if an array does not fit into memory; kernels call this function before they allocate arrays
    that may be larger than inputs and results.

    NumPy raises MemoryError for such an array, but ValueError if it cannot represent the size.
    """
    nbytes = dtype.itemsize * math.prod(max(1, extent) for extent in shape)
    if nbytes > _SMALL and nbytes > memory():
        raise MemoryError(f"an array of shape {list(shape)} exceeds this machine's memory")
