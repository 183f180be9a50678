"""Memory in large pages, where the system has them: a page is cleared when it is first touched, at a cost of its own.

Clearing 2 MiB takes some 45 µs in one page and 800 in 512 of them, which would be a third of a first inference.
"""

from __future__ import annotations

import numpy as np

from irexec.types import Array

_PAGE = 1 << 21
# Smaller pieces would leave most of a page unused.
_LEAST = 1 << 20
# NumPy asks the system for large pages for arrays from this size on.
_ASKED_FOR = 1 << 22


def uninitialised(nbytes: int) -> Array:
    """So many bytes, in large pages if they fill half of one."""
    if nbytes < _LEAST:
        return np.empty(nbytes, np.uint8)
    # What is never touched takes no memory: neither before the first page nor after the last byte's.
    pages = -(-nbytes // _PAGE) * _PAGE
    memory = np.empty(max(pages + _PAGE, _ASKED_FOR), np.uint8)
    start = -memory.ctypes.data % _PAGE
    return memory[start : start + nbytes]
