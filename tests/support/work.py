"""Work that is counted, not timed: how a cost grows with a size is asserted so.

What is counted are calls of functions, lookups in sets and dicts (the hashes of some classes), and the characters that
searches with regular expressions went over.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType
from typing import Any

import pytest

from irexec.diagnostics import LayerRef, Place
from irexec.graph.model import Node, Value

# So many times the work for four times the size, at most.
MOST = 4.4


class Work:
    """Counts while it is entered."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, searching: Iterable[ModuleType] = ()) -> None:
        """`searching`: modules whose patterns are watched."""
        self.count = 0
        for kind in (Node, Value, LayerRef, Place):
            monkeypatch.setattr(kind, "__hash__", self._counting(kind.__hash__))
        for module in searching:
            for name, pattern in list(vars(module).items()):
                if isinstance(pattern, re.Pattern):
                    monkeypatch.setattr(module, name, _Watched(pattern, self))
                elif isinstance(pattern, dict) and all(isinstance(p, re.Pattern) for p in pattern.values()):
                    monkeypatch.setattr(module, name, {k: _Watched(p, self) for k, p in pattern.items()})

    def _counting(self, hash: Callable[[object], int]) -> Callable[[object], int]:
        def counting(item: object) -> int:
            self.count += 1
            return hash(item)

        return counting

    def of(self, work: Callable[[], object]) -> int:
        """How much work is done."""
        self.count = 0

        def called(frame: object, event: str, argument: object) -> None:
            self.count += event in ("call", "c_call")

        sys.setprofile(called)
        try:
            work()
        finally:
            sys.setprofile(None)
        return self.count

    def growth(self, task: Callable[[int], Callable[[], object]], size: int) -> float:
        """How many times the work a task of four times the size is. `task(size)` prepares it and is not counted."""
        self.of(task(size))  # What happens only once.
        small, large = (self.of(task(n)) for n in (size, 4 * size))
        return large / small


class _Watched:
    """A pattern whose searches count the characters from where they begin to where the match ends, or the text does."""

    def __init__(self, pattern: re.Pattern[str], work: Work) -> None:
        self._pattern, self._work = pattern, work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def _counted(self, match: re.Match[str] | None, begin: int, stop: int) -> re.Match[str] | None:
        self._work.count += max(0, (stop if match is None else match.end()) - begin)
        return match

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.search(text, pos, endpos), pos, min(endpos, len(text)))

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.match(text, pos, endpos), pos, pos)

    def fullmatch(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.fullmatch(text, pos, endpos), pos, pos)

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        self._work.count += min(endpos, len(text)) - pos
        return self._pattern.finditer(text, pos, endpos)

    def sub(self, new: Any, text: str, count: int = 0) -> str:
        self._work.count += len(text)
        return self._pattern.sub(new, text, count)
