"""Files named by a user: searched for in folders, and read only if they are regular files."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from irexec.core.diagnostics.nearest import did_you_mean, suggestion
from irexec.ir.io.guard import reads

_KINDS = {
    stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}  # fmt: skip


def open_regular(path: str | os.PathLike[str], role: str = "a file") -> IO[bytes]:
    """Open a regular file for reading. Raises OSError for anything else: reading a pipe could block forever.

    A path that the system does not accept (with a NUL or an unencodable character) also raises OSError. `role`: the
    purpose of the file for a command, which never writes to it: see guard.py, whose OutputIsInput is raised.
    """
    with path_errors(path):
        # Without O_NONBLOCK, opening a pipe waits until a process writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        status = os.fstat(handle)
        refuse_special(status.st_mode, path)
        reads(path, role, status)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def check_regular(path: str | os.PathLike[str], role: str = "a file") -> None:
    """Raise OSError if `open_regular` would, without opening the file: its reader then opens it only once."""
    with path_errors(path):
        status = os.stat(path)
    refuse_special(status.st_mode, path)
    if not os.access(path, os.R_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    reads(path, role, status)


def read_file(path: str | os.PathLike[str], role: str = "a file") -> bytes:
    """Return the bytes of a regular file; see `open_regular`."""
    with open_regular(path, role) as stream:
        return stream.read()


def unreadable(path: str | os.PathLike[str], error: OSError | ValueError) -> tuple[str, str | None]:
    """Return the message about a file that cannot be read, and a hint with the files that may be meant."""
    path = os.fspath(path)
    if isinstance(error, FileNotFoundError) and not os.path.lexists(path):
        return "the file does not exist", _similar(path)
    models = sorted(_entries(path, (".xml", ".onnx", ".irt"))) if os.path.isdir(path) else []
    hint = suggestion(os.path.join(path, name) for name in models[:3])
    return f"cannot read the file: {getattr(error, 'strerror', None) or error}", hint


def _similar(path: str) -> str | None:
    """Return a hint with the file beside `path` that has a similar name, or the folder for a name without suffix."""
    folder, name = os.path.split(path)
    entries = _entries(folder or ".", (), folders=not os.path.splitext(name)[1])
    return did_you_mean(name, entries, 1, form=lambda other: os.path.join(folder, other))


def _entries(folder: str, suffixes: tuple[str, ...], folders: bool = False) -> list[str]:
    exists = os.path.exists if folders else os.path.isfile
    try:
        found = [name for name in os.listdir(folder) if exists(os.path.join(folder, name))]
    except (OSError, ValueError):
        return []
    return [name for name in found if not suffixes or name.lower().endswith(suffixes)]


def named_files(paths: Iterable[str | os.PathLike[str]], suffixes: tuple[str, ...]) -> list[str]:
    """Return the named files, and the files with these suffixes (in lower case) below the named folders.

    Each file is listed once; files of a folder are sorted by name. Hidden folders are skipped.
    """
    found: dict[str, None] = {}
    for named in paths:
        path = os.fspath(named)
        found.update(dict.fromkeys(_files_below(path, suffixes) if os.path.isdir(path) else [path]))
    return list(found)


def _files_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = path.removeprefix(os.path.join(os.curdir, "")) if path != os.curdir else ""
        yield from (os.path.join(below, name) for name in sorted(files) if name.lower().endswith(suffixes))


def refuse_special(mode: int, path: str | os.PathLike[str]) -> None:
    """Raise OSError unless `mode` is the mode of a regular file."""
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "a special file")
        raise OSError(errno.EINVAL, f"the path is {what}, not a regular file", os.fspath(path))


@contextmanager
def path_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Convert the ValueError with which Python refuses some paths into an OSError."""
    try:
        yield
    except ValueError as error:
        raise OSError(errno.EINVAL, f"the file name is invalid ({error})", ascii(os.fspath(path))) from None
