"""The standard streams of a command: closed, full, or a pipe without a reader."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from irexec.core.diagnostics.render.characters import inert, inert_json, visible_text

if TYPE_CHECKING:
    from irexec.tools.render.printing import Printout

# Errors of an open stream: the disk or the quota is full, the device fails, or the reader is gone.
_NO_ROOM = {errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EAGAIN, errno.EPIPE, getattr(errno, "EDQUOT", errno.ENOSPC)}


class NoOutput(OSError):
    """Raised if standard output was closed before the command began."""

    def __init__(self) -> None:
        super().__init__(errno.EBADF, "standard output is closed")


class _Closed(io.RawIOBase):
    """A substitute for a closed standard output: it rejects the first write like a full disk and discards the rest."""

    _refused = False

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        if not self._refused:
            self._refused = True
            raise NoOutput
        return memoryview(data).nbytes  # type: ignore[arg-type]

    def fileno(self) -> int:
        raise NoOutput


def prepare() -> None:
    """Make all three streams usable: reading from a closed stream (`<&-`, `>&-`, `2>&-`) returns no data, and writing
    to a closed standard output fails. Characters that a stream cannot encode are escaped.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _occupy()
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: SIM115
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(_Closed()), encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _occupy() -> None:
    """Occupy the numbers of closed standard streams: libraries would write into a file opened with such a number."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)


def is_of_output(error: OSError) -> bool:
    """Return whether an error concerns a standard stream; errors of files contain a file name."""
    return error.filename is None and (isinstance(error, NoOutput) or error.errno in _NO_ROOM)


def put(text: str) -> None:
    """Print a text of whole lines, on which neither a terminal nor the reader of a log acts. Colours are kept."""
    sys.stdout.write(inert(text))


@contextmanager
def printout() -> Iterator[Printout]:
    """Yield the page of a result, in colour on a terminal, and print it."""
    from irexec.core.diagnostics.render import wants_color
    from irexec.tools.render.printing import Printout

    page = Printout(color=wants_color(sys.stdout))
    yield page
    put(page.text)


def put_exactly(text: str) -> None:
    """Print a text that a program reads: a difference to be applied, a script, a document in another format."""
    sys.stdout.write(text)


def print_json(value: Any, indent: int = 2) -> None:
    """Print a value as JSON."""
    import json

    sys.stdout.write(inert_json(json.dumps(value, indent=indent)) + "\n")


def print_line(text: str) -> None:
    """Print a line that contains names from files or models."""
    put(f"{visible_text(text)}\n")


def complain(text: str) -> None:
    """Print a line as `print_line` does, to standard error, if possible."""
    with suppress(OSError):
        sys.stderr.write(inert(f"{visible_text(text)}\n"))


def settle() -> None:
    """Flush all output. Output that a stream does not accept is discarded; otherwise the interpreter would try again at
    its end and exit with its own code.
    """
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            with suppress(OSError):
                stream.flush()
