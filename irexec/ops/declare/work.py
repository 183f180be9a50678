"""What a call of an operator costs, before it is made: for budgets, not for clocks; what this machine cannot hold."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from irexec.ops.declare.operator import Operator
from irexec.types import MAX_RANK, TensorType, UnknownRank

# The addresses that a process of today's machines has.
_ADDRESSES = 1 << 47
# What is not worth asking the system for.
_SMALL = 1 << 24


def steps(
    operator: Operator, inputs: Sequence[TensorType | None], attributes: dict[str, Any], outputs: Sequence[TensorType]
) -> int | None:
    """About how many elements a call goes over; None where extents are not known."""
    try:
        total = 0
        for tensor in (*inputs, *outputs):
            size = 0 if tensor is None else tensor.shape.size.max
            if size is None:
                return None
            total += size
        if operator.worker is None:
            return total
        missing = [] if operator.signature.is_variadic else [None] * (len(operator.inputs) - len(inputs))
        return total + operator.worker(outputs, *inputs, *missing, attributes=attributes)
    except (UnknownRank, ValueError):
        return None


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
        total += item * math.prod(max(1, extent.min) for extent in tensor.shape)
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
    with contextlib.suppress(ValueError, OSError):  # In a container; "max" is no number.
        found = min(found, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return found


def lacks_memory(error: Exception) -> bool:
    """True for what Python and NumPy raise when an array on the way to a result is too large."""
    return isinstance(error, MemoryError) or (isinstance(error, ValueError) and str(error).startswith(_TOO_LARGE))


# NumPy says so by ValueError where the number of bytes is none that it can count.
_TOO_LARGE = ("array is too big", "Maximum allowed dimension exceeded", "iterator is too large")
