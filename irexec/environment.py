"""Environment variables that are set only while a library that reads them is being loaded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def set_while_loading(name: str, value: str) -> Iterator[None]:
    """Set a variable in this context, unless the user set it. Processes started later do not inherit it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
