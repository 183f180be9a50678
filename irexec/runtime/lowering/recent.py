"""Data that compiled code needs for recent shapes, made once for each shape; any thread may use it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

KEPT = 8


class Recent(dict[K, V]):
    """A cache of up to KEPT values by key, such as a shape; storing a further value clears the cache first."""

    def of(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key; `make` creates it if it is not stored."""
        # Other threads may concurrently execute this method and clear the cache.
        if (found := self.get(key)) is None:
            found = make()
            if len(self) >= KEPT:
                self.clear()
            self[key] = found
        return found
