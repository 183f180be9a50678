"""A status line on a terminal, shown after a second and removed when the work is done."""

from __future__ import annotations

import sys
import time
from types import TracebackType

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
        self._wanted = Progress.wanted()
        self._next = time.monotonic() + PATIENCE
        self._shown = False

    def __enter__(self) -> Status:
        return self

    def show(self, text: str) -> None:
        if self._wanted and time.monotonic() >= self._next:
            sys.stderr.write(f"\r\x1b[K{text}")
            sys.stderr.flush()
            self._shown, self._next = True, time.monotonic() + _INTERVAL

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
