"""Capture of the calls of compiled code that a layer makes while running, so that they can be replayed without Python.

See `recording`, which uses the captures. Outside of `capturing` the reports here do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from irexec.threads import parallel
from irexec.types import Array


class Capture:
    """The jobs of one layer, in order, and whether they are all the work that it did on its arrays.

    `memory` is scratch memory by slot, for captured layers only: the scratch memory of a thread may have been freed or
    reused when the jobs are replayed.
    """

    def __init__(self, memory: dict[str, Array]) -> None:
        self.memory = memory
        self.jobs: list[Any] = []
        self._captured_all = self._has_uncaptured_work = False

    @property
    def are_complete(self) -> bool:
        """Whether the layer reported that its jobs are all its work and no other work was reported."""
        return self._captured_all and not self._has_uncaptured_work


_current: ContextVar[Capture | None] = ContextVar("capture", default=None)
current_capture = _current.get
"""The capture of the layer that this thread runs, or None."""


@contextmanager
def capturing(memory: dict[str, Array]) -> Iterator[Capture]:
    """Capture the jobs of the layer that runs inside the block."""
    token = _current.set(Capture(memory))
    try:
        taken = _current.get()
        assert taken is not None
        yield taken
    finally:
        _current.reset(token)


def captured_all() -> None:
    """Report that the captured jobs are all that the calling kernel did to its arrays.

    The kernel would make the same calls for other values in the same f32 arrays.
    """
    if (taken := current_capture()) is not None:
        taken._captured_all = True


def note_uncaptured_work() -> None:
    """Report work on arrays outside compiled code, such as a copy made by NumPy."""
    if (taken := current_capture()) is not None:
        taken._has_uncaptured_work = True


def scratch(slot: str, shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """Return scratch memory for compiled code: this thread's own, or the capture's while a layer is captured."""
    taken = current_capture()
    return parallel.scratch(slot, shape, dtype, None if taken is None else taken.memory)
