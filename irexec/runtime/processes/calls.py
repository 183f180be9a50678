"""Pickled calls, as the object of a Worker: large arrays follow the pickle, to avoid copies."""

from __future__ import annotations

import io
import os
import pickle
import runpy
import sys
from collections.abc import Callable, Sequence
from traceback import format_exception
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import Array

_PROGRAM, _ITS_COPY = "__main__", "__mp_main__"
"""The names of the main program, here and in another process, where it must not run as the main program again."""


class Answer(NamedTuple):
    """A response: the result of a call or its exception, with the text of the traceback."""

    result: Any
    error: BaseException | None = None
    trace: str = ""


class Calls:
    """Executes calls. `name` and `file` are those of the parent's program."""

    def __init__(self, name: str | None, file: str | None) -> None:
        self._name, self._file = name, file

    def describe(self) -> dict[str, str]:
        """Return nothing: calls have no description."""
        return {}

    def do(self, parts: Sequence[Array]) -> list[Array]:
        """Execute a call, and return its Answer."""
        try:
            return encoded(Answer(decoded(parts, self._load_program)()))
        except BaseException as error:
            return _failure(error)

    def _load_program(self) -> None:
        """Import the parent's program once, under a name that prevents it from running as the main program."""
        if _ITS_COPY in sys.modules:
            return
        program = sys.modules[_PROGRAM] = sys.modules[_ITS_COPY] = ModuleType(_ITS_COPY)
        if self._name is not None:
            program.__dict__.update(runpy.run_module(self._name, run_name=_ITS_COPY, alter_sys=True))
        elif self._file is not None and os.path.isfile(self._file):
            program.__dict__.update(runpy.run_path(self._file, run_name=_ITS_COPY))


def encoded(value: Any) -> list[Array]:
    """Return the parts of a message that contains the value. Raises the exceptions of pickling."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return [np.frombuffer(part, np.uint8) for part in (memoryview(data), *(buffer.raw() for buffer in buffers))]


def decoded(parts: Sequence[Array], load_program: Callable[[], object] = lambda: None) -> Any:
    """Return the value of a message. `load_program` is called before a class or function of the program is needed."""
    return _Unpickler(parts, load_program).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, parts: Sequence[Array], load_program: Callable[[], object]) -> None:
        super().__init__(io.BytesIO(parts[0].data), buffers=parts[1:])
        self._load_program = load_program

    def find_class(self, module: str, name: str) -> Any:
        if module in (_PROGRAM, _ITS_COPY):
            self._load_program()
            module = _PROGRAM
        return super().find_class(module, name)


def _failure(error: BaseException) -> list[Array]:
    """Return the exception of a call, or its text if the exception cannot be pickled."""
    trace = "".join(format_exception(error))
    try:
        pickle.loads(pickle.dumps(error))
        return encoded(Answer(None, error, trace))
    except Exception:
        return encoded(Answer(None, RuntimeError(f"{type(error).__name__}: {error}"), trace))
