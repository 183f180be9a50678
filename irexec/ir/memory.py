"""Memory while many objects are made that all stay: without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


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
