"""A progress bar for runs that take longer than a second: a listener, on terminals only."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from irexec.graph.model import Node
from irexec.types import Array

PATIENCE = 1.0
"""Seconds before the bar appears."""
_INTERVAL = 0.1


class Progress:
    """Counts the layers that ran. Shown on stderr if it is a terminal, and removed after the run."""

    def __init__(self, total: int, *, patience: float = PATIENCE) -> None:
        self.total, self.done = total, 0
        self._depth = 0
        self._next = time.monotonic() + patience
        self._bar: Any = None
        self._task: Any = None

    @staticmethod
    def wanted() -> bool:
        """Return True if the bar would be visible."""
        return sys.stderr.isatty()

    def __enter__(self) -> Progress:
        return self

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        self._depth += 1
        if time.monotonic() >= self._next:
            self._update(node)

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.done += 1

    def _update(self, node: Node) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
            self._bar = Bar(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._task = self._bar.add_task("", total=self.total)
        # The description is parsed as markup, in which `[` begins a tag.
        self._bar.update(self._task, completed=self.done, description=node.type.replace("[", "("))
        self._next = time.monotonic() + _INTERVAL

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
