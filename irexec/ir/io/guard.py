"""Guarding inputs against outputs: the files that a command reads and writes, none of which may be both."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

PathLike = str | os.PathLike[str]


class _Input(NamedTuple):
    role: str
    path: str


class _Output(NamedTuple):
    option: str
    path: str


class OutputIsInput(Exception):
    """Raised if a command would write a file that it reads. `path` is that file; the message names both roles."""

    def __init__(self, output: _Output, source: _Input) -> None:
        self.path = output.path
        super().__init__(
            f"{output.option} {output.path} is also {source.role}, which this command reads; choose another file"
        )


class _Command:
    """The files of one command, by keys that identify a file: see `_keys`."""

    def __init__(self) -> None:
        self.inputs: dict[Hashable, _Input] = {}
        self.outputs: dict[Hashable, _Output] = {}
        self.folders: list[_Output] = []
        self.own = 0

    def read(self, path: PathLike, role: str, status: os.stat_result | None) -> None:
        source = _Input(role, os.fspath(path))
        for key in _keys(path, status):
            self.inputs[key] = source
            if (output := self.outputs.get(key)) is not None and _same(output.path, source.path):
                raise OutputIsInput(output, source)

    def write(self, path: PathLike, option: str | None) -> None:
        output = _Output(option or self._option_of(path), os.fspath(path))
        for key in _keys(path):
            if (source := self.inputs.get(key)) is not None and _same(output.path, source.path):
                raise OutputIsInput(output, source)
            if option is not None:
                self.outputs.setdefault(key, output)

    def _option_of(self, path: PathLike) -> str:
        """Return the option into whose folder a file is written."""
        whole = os.path.abspath(path)
        options = (o.option for o in self.folders if whole.startswith(os.path.join(os.path.abspath(o.path), "")))
        return next(options, "the output")


_current: _Command | None = None
"""The files of the running command; shared by all threads, because all of them work for this command."""


@contextmanager
def guarded() -> Iterator[None]:
    """Raise OutputIsInput in this context for a file that is read and then written, or the reverse.

    Outside of such a block, as in a program that uses irexec, any file may be replaced: see `irexec.ir.io.writing`.
    """
    global _current
    before, _current = _current, _Command()
    try:
        yield
    finally:
        _current = before


@contextmanager
def own_files() -> Iterator[None]:
    """Treat files read in this context not as inputs, but as outputs of an earlier run that is continued."""
    command = _current
    if command is None:
        yield
        return
    command.own += 1
    try:
        yield
    finally:
        command.own -= 1


def reads(path: PathLike, role: str, status: os.stat_result | None = None) -> None:
    """Record a file that is read, or will be. `role`: its purpose for the command, such as "the model". `status`: its
    stat result, if it is open. Raises OutputIsInput for a file that was announced as an output."""
    if _current is not None and not _current.own:
        _current.read(path, role, status)


def announce(option: str, paths: Iterable[PathLike]) -> None:
    """Record files that will be written because of an option, before their contents are computed; for a folder, files
    that are written below it are attributed to the option. Raises OutputIsInput for a file that is read."""
    if _current is None:
        return
    for path in paths:
        _current.folders.append(_Output(option, os.fspath(path)))
        _current.write(path, option)


def check_output(path: PathLike) -> None:
    """Raise OutputIsInput for a file that the command reads."""
    if _current is not None:
        _current.write(path, None)


def _keys(path: PathLike, status: os.stat_result | None = None) -> Iterator[Hashable]:
    """Yield keys that identify a file: the absolute path, although another file may have it by now, and the device and
    inode numbers, which all links share.
    """
    try:
        yield os.path.normcase(os.path.abspath(path))
        found = status or os.stat(path)
    except (OSError, ValueError):  # The file does not exist, or cannot exist.
        return
    if found.st_ino:
        yield found.st_dev, found.st_ino


def _same(one: str, other: str) -> bool:
    """Return whether two paths that share a key refer to one file now: the number of a removed file may be reused."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):
        return os.path.abspath(one) == os.path.abspath(other)
