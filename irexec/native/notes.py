"""What a layer hands to compiled code, noted while it runs, so that the same can be done again without Python.

See irexec.engine.recorded, which takes the notes. Outside of `noting` the functions here do nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class Notes:
    """The jobs of one layer, in order, and whether they are all that it did to its arrays.

    `memory` is scratch memory by slot, for noted layers alone: that of a thread is not there any more, or somebody
    else's, when they are done again.
    """

    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory
        self.jobs: list[Any] = []
        self._said_all = self._did_more = False

    @property
    def are_complete(self) -> bool:
        """Whether the layer said that its jobs are all it did, and nothing else noticed that it did more."""
        return self._said_all and not self._did_more


_notes: ContextVar[Notes | None] = ContextVar("notes", default=None)
notes = _notes.get
"""The notes of the layer that this thread runs, if somebody takes any."""


@contextmanager
def noting(memory: dict[str, Any]) -> Iterator[Notes]:
    """Note what the layer does that runs inside."""
    token = _notes.set(Notes(memory))
    try:
        taken = _notes.get()
        assert taken is not None
        yield taken
    finally:
        _notes.reset(token)


def all_is_noted() -> None:
    """Said by a kernel when it is done: what it handed to compiled code is all that it did to its arrays.

    So it would hand over the same for other numbers in the same f32 arrays.
    """
    if (taken := notes()) is not None:
        taken._said_all = True


def more_is_done() -> None:
    """Said by who does something to arrays that is not compiled code's, as a copy that NumPy makes."""
    if (taken := notes()) is not None:
        taken._did_more = True
