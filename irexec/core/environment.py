"""The environment of irexec: variables for a library that is being loaded, and how to install optional packages."""

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


def installing(extra: str) -> str:
    """Return the advice to install an extra of irexec. irexec is installed from its folder, not from an index."""
    return f"install irexec with the extra {extra}, e.g. pip install '.[{extra}]' in its folder"
