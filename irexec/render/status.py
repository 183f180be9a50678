"""A status line on a terminal or in a notebook, shown after a second and removed when the work is done."""

from __future__ import annotations

import sys
import time
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from irexec.runs.progress import PATIENCE, Progress

_INTERVAL = 0.1
_WIDTH = 20


def bar(done: int, total: int) -> str:
    """Return a progress bar: `[#####               ]`."""
    full = _WIDTH * done // max(1, total)
    return f"[{'#' * full}{' ' * (_WIDTH - full)}]"


class Status:
    """Shows the most recent text on stderr, if that is a terminal."""

    def __init__(self) -> None:
        self._wanted = self._can_show()
        self._next = time.monotonic() + PATIENCE
        self._shown = False

    def __enter__(self) -> Self:
        return self

    def show(self, text: str) -> None:
        if self._wanted and time.monotonic() >= self._next:
            self._write(text)
            self._shown, self._next = True, time.monotonic() + _INTERVAL

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")

    @staticmethod
    def _can_show() -> bool:
        return Progress.wanted()

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


class NotebookStatus(Status):
    """Shows the most recent text below the cell of a notebook; nothing elsewhere."""

    _handle: Any = None

    @staticmethod
    def _can_show() -> bool:
        module: Any = sys.modules.get("IPython")
        return module is not None and getattr(module.get_ipython(), "kernel", None) is not None

    def _write(self, text: str) -> None:
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
