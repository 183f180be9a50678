"""Replacing a file atomically by its new contents, and only if no other process has changed it meanwhile."""

from __future__ import annotations

import os

from irexec.frontends.reading import PathLike
from irexec.ir.io.files import read_file
from irexec.ir.io.writing import replace_expected
from irexec.model.arrays.brief import plural


class FileChanged(RuntimeError):
    """Raised if another process wrote the file while it was being fixed."""


def read_bytes(path: PathLike) -> bytes:
    """Return the bytes of a file. Raises OSError."""
    return read_file(path, "the model")


def replace_file(path: PathLike, before: bytes, after: bytes) -> list[str]:
    """Write the bytes `after` to a file that contained `before`, if they differ; see `replace_expected`.

    Returns sentences about properties of the file that could not be preserved. Raises FileChanged and OSError.
    """
    if after == before:
        return []
    old = os.stat(path)
    if not replace_expected(path, before, after):
        raise FileChanged("the file was changed by another program or is being written, so it was not modified")
    new = os.stat(path)
    notes = []
    if old.st_nlink > 1:
        others = plural(old.st_nlink - 1, "other hard link")
        notes.append(f"{others} to the file still {'has' if old.st_nlink == 2 else 'have'} the old content")
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        notes.append("the owner or the group of the file could not be preserved")
    return notes
