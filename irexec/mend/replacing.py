"""A file replaced by what it became: whole or not at all, and only if nobody else changed it meanwhile."""

from __future__ import annotations

import os

from irexec.ir.files import open_regular, staged

PathLike = str | os.PathLike[str]


class FileChanged(RuntimeError):
    """Somebody else wrote the file while it was being mended."""


def read_bytes(path: PathLike) -> bytes:
    """The bytes of a file. Raises OSError."""
    with open_regular(path) as stream:
        return stream.read()


def replace_file(path: PathLike, before: bytes, after: bytes) -> None:
    """Write a file that held `before`, where that is not what it is to hold. Raises FileChanged and OSError."""
    if after == before:
        return
    with staged(path) as (stream,):
        stream.write(after)
        if read_bytes(path) != before:
            raise FileChanged("the file was changed by somebody else meanwhile; it is left as it is")
