"""The code that runs in the other process of a Process: it creates one object and calls its methods.

Large values are kept in this process: `keep` observes values and returns which are available; `kept` returns some.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

from irexec.tools.compare.runtimes.runtime import CannotRun

_served: Any = None
_kept: Sequence[dict[int, Any]] = []

Reply = tuple[bool, Any]
"""True and the returned value, or False and the reason why the object cannot run the model, with its code."""


def make(name: str, arguments: tuple[Any, ...]) -> Reply:
    """Create the object of the class `name`, given as `module:Class`."""
    module, _, attribute = name.partition(":")

    def made() -> None:
        global _served
        _served = getattr(importlib.import_module(module), attribute)(*arguments)

    return _reply(made)


def call(method: str, arguments: tuple[Any, ...]) -> Reply:
    """Call a method of the object."""
    if method == "keep":
        return _reply(lambda: _keep(arguments))
    if method == "kept":
        step, indices = arguments
        return True, [_kept[step][index] for index in indices]
    return _reply(lambda: getattr(_served, method)(*arguments))


def _keep(arguments: tuple[Any, ...]) -> list[list[int]]:
    global _kept
    _kept = []
    _kept = _served.observe(*arguments)
    return [list(step) for step in _kept]


def _reply(work: Callable[[], Any]) -> Reply:
    try:
        return True, work()
    except CannotRun as error:
        return False, (str(error), error.code)
    except Exception:
        # After an unexpected error, as after a crash, the object must not be used again.
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
