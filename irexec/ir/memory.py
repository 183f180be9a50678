"""Memory while many objects are made: without the collector, and what was needed meanwhile given back."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

# A tree takes some twenty times its text. Below this it is not worth the call.
_MIN_TEXT = 1 << 20


@contextmanager
def no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: what makes many objects and no garbage takes half the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def give_back(text_size: int) -> bool:
    """Give back what a tree of a text of this size took, once it is gone; whether anything was.

    Its nodes lie among objects that stay, so the C library keeps the memory between them until it is told not to.
    """
    trim = _trim() if text_size >= _MIN_TEXT else None
    return trim is not None and bool(trim(0))


@cache
def _trim() -> Any:
    """The C library's `malloc_trim`, where there is one."""
    import ctypes

    try:
        return ctypes.CDLL(None).malloc_trim
    except (OSError, AttributeError, TypeError):
        return None
