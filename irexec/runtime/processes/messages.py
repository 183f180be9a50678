"""The message format of both ends of a pipe: values are pickled; large arrays follow the pickle, to avoid copies."""

from __future__ import annotations

import io
import pickle
import signal
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple

Parts = Sequence[bytes | bytearray | memoryview]

PROGRAM, ITS_COPY = "__main__", "__mp_main__"
"""The names of the main program, here and in a child process, where it must not run as the main program again."""

SIGNALS = {signal.SIGINT, signal.SIGTERM}
"""The signals that are blocked while a child process starts: until it handles them, they would print a traceback."""

GRACE = 5.0
"""Seconds that a process may take to exit after SIGTERM or the end of its input: it removes its temporary files."""

_WIDTH = 8


class Answer(NamedTuple):
    """A response: the result of a call or its exception, with the text of the traceback."""

    result: Any
    error: BaseException | None = None
    trace: str = ""


def encoded(value: Any) -> Parts:
    """Return the parts of a message that contains the value. Raises the exceptions of pickling."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    return [data, *(buffer.raw() for buffer in buffers)]


def decoded(parts: Parts, load_program: Callable[[], object] = lambda: None) -> Any:
    """Return the value of a message. `load_program` is called before a class or function of the program is needed."""
    return _Unpickler(parts, load_program).load()


def send(stream: IO[bytes], parts: Parts) -> None:
    """Write a complete message. Raises OSError if the reader is gone."""
    numbers = [len(parts), *(len(part) for part in parts)]
    stream.write(b"".join(number.to_bytes(_WIDTH, "little") for number in numbers))
    for part in parts:
        stream.write(part)
    stream.flush()


def receive(stream: IO[bytes]) -> Parts | None:
    """Return the next message; None if the stream ends, even in the middle of a message."""
    try:
        sizes = [_number(stream) for _ in range(_number(stream))]
        return [_exactly(stream, size) for size in sizes]
    except (EOFError, OSError):
        return None


def _number(stream: IO[bytes]) -> int:
    return int.from_bytes(_exactly(stream, _WIDTH), "little")


def _exactly(stream: IO[bytes], size: int) -> bytearray:
    """Return exactly `size` bytes. Raises EOFError if the stream ends before."""
    found = bytearray(size)
    rest = memoryview(found)
    while rest:
        read = stream.readinto(rest)  # type: ignore[attr-defined]
        if not read:
            raise EOFError
        rest = rest[read:]
    return found


class _Unpickler(pickle.Unpickler):
    def __init__(self, parts: Parts, load_program: Callable[[], object]) -> None:
        super().__init__(io.BytesIO(parts[0]), buffers=parts[1:])
        self._load_program = load_program

    def find_class(self, module: str, name: str) -> Any:
        if module in (PROGRAM, ITS_COPY):
            self._load_program()
            module = PROGRAM
        return super().find_class(module, name)
