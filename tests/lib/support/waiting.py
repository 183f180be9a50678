"""Waiting for other processes and threads in tests: as long as it takes on a busy machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 600.0
"""Seconds after which a wait counts as a hang, whatever it waits for: a program that runs hundreds of tests on a busy
machine also ends within it."""


def until(found: Callable[[], T], what: str = "") -> T:
    """Return the first result of `found` that counts as true. Raises TimeoutError after PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not (value := found()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain: {what or found}")
        time.sleep(0.01)
    return value
