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
def no_collection(*, to_stay: bool = False) -> Iterator[None]:
    """Pause the cyclic garbage collector: what makes many objects and no garbage takes half the time.

    `to_stay`: what is made lives as long as the process, as modules do, so that it is not worth a look afterwards, when
    the collector would go through all that is new. It is counted among what is old at once.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        # Unfreezing makes old what was frozen, at no cost; what the program froze itself stays as it is.
        if enabled and to_stay and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()
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
