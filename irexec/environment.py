"""Environment variables that a library reads while it is loaded, set for that long."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def set_while_loading(name: str, value: str) -> Iterator[None]:
    """Inside, the variable has this value, unless the user gave it one. Processes started later know nothing of it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
