"""Tasks: the work for each item, and the dependencies of its result."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import lru_cache
from typing import ClassVar, Generic, TypeVar

from irexec.core.diagnostics import Report
from irexec.ir.io.files import open_regular

R = TypeVar("R")
PathLike = str | os.PathLike[str]

_BLOCK = 1 << 20


class Task(ABC, Generic[R]):
    """The work for each item. A frozen dataclass: other processes get a copy, and its repr contains its options.

    `words` are the classes that results contain, besides the classes of findings; a log needs them to read results.
    """

    words: ClassVar[tuple[type, ...]] = ()

    @abstractmethod
    def __call__(self, item: str) -> R:
        """Return the result for an item."""

    @abstractmethod
    def files(self, item: str) -> Iterable[PathLike]:
        """Return the files that the result for an item depends on, including files that do not exist yet."""

    def needed(self, item: str) -> Iterable[PathLike]:
        """Return the files that every worker must be able to access if they exist."""
        return self.files(item)

    def report(self, result: R) -> Report:
        """Return the findings of the work."""
        return Report()

    def outputs(self, item: str) -> Iterable[PathLike]:
        """Return the files that are written for the item, besides its result."""
        return ()

    def key(self, item: str) -> str:
        """Return a digest of all dependencies of the result: irexec's version, the task, the item, its files."""
        from hashlib import blake2b

        from irexec.version import __version__

        parts = [__version__, repr(self), item, *(content(path) for path in self.files(item))]
        return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def content(path: PathLike) -> str:
    """Return a digest of a file's bytes; empty when it cannot be read."""
    try:
        return _content(os.fspath(path), *state(path))
    except (OSError, ValueError):
        return ""


def state(path: PathLike) -> tuple[int, ...]:
    """Return the properties of a file that change when it is written: size, time and inode. Raises OSError."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino


@lru_cache(maxsize=4096)
def _content(path: str, *state: int) -> str:
    """Return the digest of a file, computed once for each state of the file: all inputs of a model depend on the same
    weights.
    """
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    with open_regular(path) as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
