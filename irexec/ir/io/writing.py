"""Atomic writing of files: complete or not at all, groups of files together, and never over an input.

Nothing else in irexec writes to a path that a user names; a test asserts it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from irexec.ir.io.files import open_regular, path_errors, refuse_special
from irexec.ir.io.guard import PathLike, check_output, own_files


class Together:
    """Files that replace the files of the same names together: see `together`."""

    def __init__(self) -> None:
        self._files: list[_Staged] = []

    @contextmanager
    def create(self, path: PathLike) -> Iterator[IO[bytes]]:
        """Return a stream to the new file. A symbolic link is kept, and its target is replaced.

        Raises OutputIsInput, or OSError, for example if the path is not a regular file.
        """
        check_output(path)
        file = _Staged(path)
        self._files.append(file)  # Registered before the file exists: a signal handler may raise at any time.
        with file.filled() as stream:
            yield stream

    def place(self) -> None:
        """Rename all files to their final names, in order of creation; if one fails, none is renamed."""
        if not self._files:
            return
        *others, last = self._files
        for file in self._files:
            file.take_over()
        try:
            for file in others:
                file.keep_old()
                file.place()
            last.place()
        finally:
            # A signal may also have raised an exception after the last rename.
            for file in reversed(others):
                if last.is_placed:
                    file.drop_old()
                else:
                    file.put_back()

    def clear(self) -> None:
        """Remove all remaining temporary files."""
        for file in self._files:
            file.clear()


@contextmanager
def together(files: Together | None = None) -> Iterator[Together]:
    """Let the files created in this context replace the files of these names when it ends: all of them, or none.

    They are renamed in the order in which they were created, so a file that refers to other files must be created last:
    a reader that sees it also sees these files. If the block raises, or a file cannot be renamed, the previous files
    are restored, and no temporary file is left. (A process that is killed between two of the renames leaves the files
    that were renamed by then; the names of temporary files begin with a dot, and end with `.part` or `.old`.)
    `files`: files of a context around this one, at whose end they are replaced.
    """
    if files is not None:
        yield files
        return
    files = Together()
    try:
        yield files
        files.place()
    finally:
        files.clear()


def appended(path: PathLike) -> IO[str]:
    """Return an ASCII stream to which lines are appended. Raises OSError and OutputIsInput."""
    check_output(path)
    return open(path, "a", encoding="ascii")


def remove(path: PathLike) -> None:
    """Remove a file that an earlier run wrote, if it exists. Raises OSError and OutputIsInput."""
    check_output(path)
    with suppress(FileNotFoundError):
        os.unlink(path)


def replace_expected(path: PathLike, before: bytes, after: bytes) -> bool:
    """Replace a file that contains `before`, even if it is an input; return False, with the file unchanged, if it
    contains anything else or is being written. Raises OSError.

    If the system can exchange two files atomically (Linux, on most file systems), the decision is made on the file that
    was taken out, so that no other file is ever lost. On other systems, a file that another process creates under this
    name between the last check and the rename is lost.
    """
    from irexec.ir.io.exchange import exchanged

    file = _Staged(path)
    try:
        with file.filled() as stream:
            stream.write(after)
        if not _holds(file.target, before):
            return False
        file.take_over()
        if not exchanged(file.name, file.target):
            file.place()
        elif not _holds(file.name, before):
            _put_back(file)
            return False
        return True
    except FileNotFoundError:  # Another process removed it.
        return False
    finally:
        file.clear()


def _holds(path: str, expected: bytes) -> bool:
    """Return whether the path is a regular file with these bytes which no process is known to have open for writing."""
    from irexec.ir.io.exchange import is_open_for_writing

    with own_files(), open_regular(path) as stream:
        return not (os.path.islink(path) or is_open_for_writing(stream.fileno())) and stream.read() == expected


def _put_back(file: _Staged) -> None:
    """Exchange the file that was taken out with the file now at its path, until the latter is the file that irexec has
    written. Any other file at the path was written later by another program, and is put back in turn.
    """
    from irexec.ir.io.exchange import exchanged

    standing = file.identity
    while True:
        held = _identity(file.name)
        exchanged(file.name, file.target)
        if _identity(file.name) == standing:
            return
        standing = held


class _Staged:
    """A temporary file beside the file that it will replace: `target`, the result of resolving all links of `path`."""

    def __init__(self, path: PathLike) -> None:
        import secrets

        self.path, self.target = os.fspath(path), _target(path)
        folder, base = os.path.split(self.target)
        hidden = os.path.join(folder, f".{base[:40]}.{secrets.token_hex(8)}")
        self.name, self._old = f"{hidden}.part", f"{hidden}.old"
        self.identity: tuple[int, int] | None = None

    @contextmanager
    def filled(self) -> Iterator[IO[bytes]]:
        """Return, in this context, the stream to the temporary file, which other users cannot read."""
        try:
            with open(self.name, "xb", opener=_open_privately) as stream:
                self.identity = _identity(self.name)
                yield stream
                stream.flush()
                if os.path.exists(self.target):  # The old file is removed only after the new one is on the disk.
                    os.fsync(stream.fileno())
        except OSError as error:
            if error.filename in (None, self.name):
                error.filename = self.path
            raise

    def take_over(self) -> None:
        """Give the new file the owner, the permissions and the extended attributes (including access control lists) of
        the file that it replaces, as far as the system permits. If it replaces no file, it gets the defaults.
        """
        try:
            old = os.stat(self.target)
        except FileNotFoundError:
            os.chmod(self.name, _default_mode())
            return
        _copy_owner(old, self.name)
        _copy_attributes(self.target, self.name)
        os.chmod(self.name, stat.S_IMODE(old.st_mode))

    def keep_old(self) -> None:
        """Give the file to be replaced, if it exists, a second name, so that it can be restored."""
        with suppress(FileNotFoundError):
            try:
                os.link(self.target, self._old)
            except OSError:  # The file system does not support links, or the system does not permit this one.
                os.replace(self.target, self._old)

    def place(self) -> None:
        """Rename the new file to its final name."""
        try:
            os.replace(self.name, self.target)
        except OSError as error:
            error.filename, error.filename2 = self.path, None
            raise

    @property
    def is_placed(self) -> bool:
        return self.identity is not None and _identity(self.target) == self.identity

    def put_back(self) -> None:
        """Undo `keep_old` and `place`, if they were done. If that fails, the old file keeps its second name."""
        with suppress(OSError):
            if os.path.lexists(self._old):
                os.replace(self._old, self.target)
                self.drop_old()  # Renaming between two names of one file has no effect.
            elif self.is_placed:
                os.unlink(self.target)

    def drop_old(self) -> None:
        """Remove the second name that `keep_old` created."""
        with suppress(FileNotFoundError):
            os.unlink(self._old)

    def clear(self) -> None:
        """Remove the temporary file, unless it has been renamed."""
        with suppress(FileNotFoundError):
            os.unlink(self.name)


def _open_privately(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _target(path: PathLike) -> str:
    """Return the file that is written for `path`, with all links resolved."""
    with path_errors(path):
        target = os.path.realpath(os.fspath(path))
        if os.path.exists(target):
            refuse_special(os.stat(target).st_mode, path)
    return target


def _identity(path: str) -> tuple[int, int] | None:
    """Return a value that identifies a file; None if there is no file."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _copy_owner(old: os.stat_result, name: str) -> None:
    """Give a file the owner and the group of the file `old`, if the system permits."""
    new = os.stat(name)
    if old.st_gid != new.st_gid:
        with suppress(PermissionError):
            os.chown(name, -1, old.st_gid)
    if old.st_uid != new.st_uid:
        with suppress(PermissionError):
            os.chown(name, old.st_uid, -1)


def _copy_attributes(source: str, target: str) -> None:
    """Copy the extended attributes that may be copied, if the system supports them."""
    if not hasattr(os, "listxattr"):
        return
    with suppress(OSError):
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))


def _default_mode() -> int:
    """Return the permissions of a new file."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
