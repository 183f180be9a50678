"""Files that are whole or not there: each is written beside its place, and all are moved when all are complete."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def staged(*paths: str | os.PathLike[str]) -> Iterator[list[IO[bytes]]]:
    """Streams for these files, which take their places, in this order, at the end of the block.

    Raises OSError. When the block raises, nothing of what it wrote stays behind and the old files are untouched.
    """
    targets = [Path(path) for path in paths]
    names: list[str] = []
    try:
        with ExitStack() as stack:
            streams: list[IO[bytes]] = []
            for target in targets:
                handle, name = tempfile.mkstemp(prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent)
                names.append(name)
                streams.append(stack.enter_context(os.fdopen(handle, "wb")))
            yield streams
        for name, target in zip(names, targets, strict=True):
            os.chmod(name, _mode_of(target))
            os.replace(name, target)
    finally:
        for name in names:
            Path(name).unlink(missing_ok=True)


def _mode_of(target: Path) -> int:
    """The permissions of the file that is replaced, or those that a new file gets."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
