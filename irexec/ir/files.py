"""Files that a user names: found in folders, read only when they are regular, written whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import IO

_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file for reading. Raises OSError for anything else: reading a pipe could block for ever.

    A path that the system cannot take (with a NUL or an unencodable character) raises OSError too.
    """
    with _path_errors(path):
        # Without O_NONBLOCK, opening a pipe waits until somebody writes to it.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        _refuse_special(os.fstat(handle).st_mode, path)
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def named_files(paths: Iterable[str | os.PathLike[str]], suffixes: tuple[str, ...]) -> list[str]:
    """The files that are named, and those with these suffixes (in lower case) below the folders that are.

    Each is there once; those of a folder are sorted by name, without hidden folders.
    """
    found: dict[str, None] = {}
    for named in paths:
        path = os.fspath(named)
        found.update(dict.fromkeys(_files_below(path, suffixes) if os.path.isdir(path) else [path]))
    return list(found)


def _files_below(folder: str, suffixes: tuple[str, ...]) -> Iterator[str]:
    for path, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (os.path.join(path, name) for name in sorted(files) if name.lower().endswith(suffixes))


@contextmanager
def staged(*paths: str | os.PathLike[str]) -> Iterator[list[IO[bytes]]]:
    """Streams to temporary files, which replace the named files, in this order, when the block ends.

    A symbolic link stays, and its target is replaced. Raises OSError, also when the name belongs to something other
    than a regular file. When the block raises, the temporary files are removed and the old files are untouched.
    """
    import secrets

    targets = [_target(path) for path in paths]
    names: list[str] = []
    try:
        with ExitStack() as stack:
            streams: list[IO[bytes]] = []
            for path, target in zip(paths, targets, strict=True):
                folder, base = os.path.split(target)
                name = os.path.join(folder, f".{base[:40]}.{secrets.token_hex(8)}.part")
                names.append(name)  # Before there is a file: a signal may raise as soon as it is there.
                try:
                    streams.append(stack.enter_context(open(name, "xb", opener=_open_privately)))
                except OSError as error:
                    error.filename = os.fspath(path)  # Not that of the temporary file.
                    raise
            yield streams
        for name, target in zip(names, targets, strict=True):
            os.chmod(name, _mode_of(target))
            os.replace(name, target)
    finally:
        for name in names:
            with suppress(FileNotFoundError):
                os.unlink(name)


def _open_privately(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _target(path: str | os.PathLike[str]) -> str:
    """The file that is written for `path`, behind all links."""
    with _path_errors(path):
        target = os.path.realpath(os.fspath(path))
        if os.path.exists(target):
            _refuse_special(os.stat(target).st_mode, path)
    return target


def _refuse_special(mode: int, path: str | os.PathLike[str]) -> None:
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "something special")
        raise OSError(errno.EINVAL, f"it is {what}, not a regular file", os.fspath(path))


@contextmanager
def _path_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Python refuses some paths with a ValueError before the system can refuse them with an OSError."""
    try:
        yield
    except ValueError as error:
        raise OSError(errno.EINVAL, f"there can be no file of this name ({error})", ascii(os.fspath(path))) from None


def _mode_of(target: str) -> int:
    """The permissions of the file that is replaced, or the defaults for a new file."""
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
