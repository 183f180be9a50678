"""Tasks for tests of parallel work, in a module that new processes and the workers of a cluster can import."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from threadpoolctl import threadpool_info

from irexec.core.threads.parallel import num_threads
from irexec.tools.parallel.task import Task
from support.waiting import PATIENCE, until


@dataclass(frozen=True)
class Words(Task[list[str]]):
    """The words of a file. For certain words the task behaves as the word says."""

    def __call__(self, item: str) -> list[str]:
        words = Path(item).read_text().split()
        if words == ["die"]:
            os.kill(os.getpid(), signal.SIGKILL)
        if words == ["end"]:
            os.kill(os.getpid(), signal.SIGTERM)
        if words == ["raise"]:
            raise ValueError("no words")
        if words == ["leave"]:
            raise SystemExit(3)
        return words

    def files(self, item: str) -> Iterable[str]:
        return [item]


@dataclass(frozen=True)
class Threads(Task[list[int]]):
    """The number of threads that kernels and each library may use."""

    def __call__(self, item: str) -> list[int]:
        import numpy  # noqa: F401

        return [num_threads(), *(info["num_threads"] for info in threadpool_info())]

    def files(self, item: str) -> Iterable[str]:
        return []


@dataclass(frozen=True)
class Held(Task[int]):
    """The process that does the work, which writes a file when it has begun.

    The first `free` items are completed at once, the others when the folder contains a file `go`.
    """

    folder: str
    free: int = 0

    def __call__(self, item: str) -> int:
        folder = Path(self.folder)
        (folder / f"{item}.{os.getpid()}").touch()
        if int(item) >= self.free:
            until((folder / "go").exists, "the test says go")
        return os.getpid()

    def files(self, item: str) -> Iterable[str]:
        return []


def no_more() -> None:
    """Raise the exception that also reports the end of a pipe."""
    raise EOFError


def drops_exceptions(begun: str) -> None:
    """Wait, after creating a file, and drop the exception that ends the wait."""
    Path(begun).touch()
    with contextlib.suppress(BaseException):
        time.sleep(PATIENCE)
