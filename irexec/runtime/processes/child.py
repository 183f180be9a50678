"""A Python process that executes pickled calls, of any functions that are defined in modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from irexec.runtime.processes.calls import Answer, decoded, encoded
from irexec.runtime.processes.worker import Worker

T = TypeVar("T")


class Child:
    """Executes calls in a Worker. Functions, arguments and results must be picklable.

    `quiet`: the output of the process is hidden; otherwise it goes to standard error.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        name, file = _program()
        self.worker = Worker("irexec.runtime.processes.calls:Calls", {"name": name, "file": file}, quiet=quiet)
        self.worker.start()

    def call(self, function: Callable[..., T], /, *arguments: Any, limit: float | None = None) -> T:
        """Return the result of the function, or raise its exception. `limit`: in seconds. Raises Ended."""
        self.send(partial(function, *arguments), limit)
        return self.receive(limit)  # type: ignore[no-any-return]

    def send(self, call: Callable[[], object], limit: float | None = None) -> None:
        """Send a call, whose answer `receive` waits for. `limit`: seconds after which the process ends itself."""
        self.worker.send("do", encoded(call), limit=limit)

    def receive(self, limit: float | None = None) -> Any:
        """Return the result of the oldest unanswered call, or its exception. Raises Ended, also after `limit`
        seconds.
        """
        parts: Sequence[Any] = self.worker.receive(limit)
        answer: Answer = decoded(parts)
        if answer.error is not None:
            raise answer.error from _Elsewhere(answer.trace)
        return answer.result


class _Elsewhere(Exception):
    """The traceback in the other process as text, used as the cause of the exception in this process."""


def _program() -> tuple[str | None, str | None]:
    """Return the name, if any, and the file of the running program, whose classes may occur in calls."""
    main = sys.modules.get("__main__")
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    return (None if spec is None else spec.name), (None if file is None else os.path.abspath(file))
