"""Memory management while many long-lived objects are created: the garbage collector is paused for that time."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MANY_LAYERS = 1 << 15
"""The number of layers in dropped models, some 140 MB, from which a garbage collection is worth its time."""
_SECONDS_PER_LAYER = 20e-6
"""The time of reading a layer. If a garbage collection takes longer than reading the layers that it could free, the
next one waits until more layers can be freed.
"""
# A program that calls gc.freeze() freezes all its objects, thousands even if it is empty. The few hundred that Python
# 3.12 reports as frozen are constants of its own, which it removes from the collector because they live as long as the
# process.
_FROZEN_BY_A_PROGRAM = 1000


@contextmanager
def no_collection(*, to_stay: bool = False) -> Iterator[None]:
    """Pause the cyclic garbage collector in this context; creating many objects without garbage then takes half the
    time.

    Pauses nest, and pauses of several threads may overlap: the collector resumes when the last pause ends. `to_stay`:
    the created objects live long, as modules and models do, so that a collection of all new objects afterwards is not
    worthwhile. They are counted as old objects immediately.
    """
    _pauses.begin()
    stays = False
    try:
        yield
        stays = to_stay
    finally:
        _pauses.end(stays)


class _Pauses:
    """The pauses in progress, by thread, and the number of layers to be freed."""

    def __init__(self) -> None:
        self.waiting = 0
        self._last_search = 0.0
        self._lock = threading.Lock()
        self._depths: dict[int, int] = {}
        self._was_enabled = self._stays = self._is_frozen = False

    def begin(self) -> None:
        thread = threading.get_ident()
        with self._lock:
            if not self._depths:
                self._was_enabled, self._stays = gc.isenabled(), False
                gc.disable()
            self._depths[thread] = self._depths.get(thread, 0) + 1

    def end(self, stays: bool) -> None:
        thread = threading.get_ident()
        with self._lock:
            self._stays |= stays
            self._depths[thread] -= 1
            if not self._depths[thread]:
                del self._depths[thread]
            self._resume()
        self.collect()

    def _resume(self) -> None:
        """Resume collection when no pause is in progress."""
        if self._depths or not self._was_enabled:
            return
        # Freezing and unfreezing makes all objects old, at no cost. It would also unfreeze objects that the program has
        # frozen; once such objects are found, it is omitted, and frozen objects are no longer counted (one by one).
        if self._stays and not self._is_frozen:
            self._is_frozen = gc.get_freeze_count() >= _FROZEN_BY_A_PROGRAM
            if not self._is_frozen:
                gc.freeze()
                gc.unfreeze()
        gc.enable()

    def collect(self) -> None:
        """Free dropped objects, unless there are few, or the collector is paused or switched off."""
        if self.waiting < max(_MANY_LAYERS, self._last_search / _SECONDS_PER_LAYER) or not gc.isenabled():
            return
        self.waiting = 0
        begin = time.monotonic()
        gc.collect()
        self._last_search = time.monotonic() - begin

    def dropped(self, layers: int, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        """Count the layers of a model that was dropped. Its nodes and values refer to each other.

        Python searches old objects when many more have become old, and objects created during a pause are not counted
        among these. Therefore this function runs the collector as soon as many objects can be freed. While Python
        exits, the names of modules are already cleared, and nothing needs to be freed.
        """
        if is_finalizing():
            return
        self.waiting += layers
        self.collect()

    def in_child(self) -> None:
        """Reset the state after a fork: threads that paused the collector or held the lock do not exist in it."""
        own, was_paused = threading.get_ident(), bool(self._depths)
        self._lock = threading.Lock()
        self._depths = {thread: depth for thread, depth in self._depths.items() if thread == own}
        if was_paused:
            self._resume()


_pauses = _Pauses()
dropped = _pauses.dropped
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pauses.in_child)
