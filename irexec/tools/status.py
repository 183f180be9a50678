"""A status line on a terminal or in a notebook, shown after a second and removed when the work is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from irexec.core.diagnostics.render.characters import visible_text

if TYPE_CHECKING:
    from irexec.core.types import Array
    from irexec.model.graph.model import Node

Progress = Callable[[int, int], None]
"""A function that is called with the numbers of completed and of planned steps."""

PATIENCE = 1.0
"""Seconds before the line appears."""
_INTERVAL = 0.1
_WIDTH = 20


class Status:
    """Shows the most recent text on stderr, if that is a terminal."""

    def __init__(self) -> None:
        self._wanted = self.can_show()
        self._next = time.monotonic() + PATIENCE
        self._shown = False

    @staticmethod
    def can_show() -> bool:
        """Return True if the line would be visible."""
        return sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def show(self, text: str) -> None:
        """Replace the line by a text."""
        if self._wanted and time.monotonic() >= self._next:
            self._write(text)
            self._shown, self._next = True, time.monotonic() + _INTERVAL

    def count(self, done: int, total: int, what: str) -> None:
        """Replace the line by a bar and a text: `[#####               ] 5 of 20 layers`."""
        full = _WIDTH * done // max(1, total)
        self.show(f"[{'#' * full}{' ' * (_WIDTH - full)}] {done} of {total} {what}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")

    def _write(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{visible_text(text)}")
        sys.stderr.flush()


class NotebookStatus(Status):
    """Shows the most recent text below the cell of a notebook; outside notebooks, it shows nothing."""

    _handle: Any = None

    @staticmethod
    def can_show() -> bool:
        module: Any = sys.modules.get("IPython")
        return module is not None and getattr(module.get_ipython(), "kernel", None) is not None

    def _write(self, text: str) -> None:
        data = {"text/plain": text}
        if self._handle is None:
            self._handle = import_module("IPython.display").display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


class LayerStatus(Status):
    """A listener that shows the number of layers that ran, of `total`, and the type of the current one."""

    def __init__(self, total: int) -> None:
        super().__init__()
        self._total, self._done, self._depth = total, 0, 0

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        self._depth += 1
        self.count(self._done, self._total, f"layers: {node.type}")

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        self._depth -= 1
        self._done += self._depth == 0
