"""Work that is counted, not timed, so that tests can assert how a cost grows with a size.

Lines and calls are counted, as Python reports them to a trace function: each iteration of a loop is one or two, whether
it is written on one line, as a comprehension, a generator or a callback, and in each version of Python. (Steps of
bytecode differ between the versions, and 3.12 and 3.13 do not report them for a function's first call.) The work inside
of a line is counted as well: hashes and comparisons of some classes, as in lookups and searches in lists; the items of
lists, sets and dicts whose methods read all of them; the characters that searches with regular expressions read.
"""

from __future__ import annotations

import gc
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import Any

import pytest

from irexec.core.diagnostics import LayerRef, Place
from irexec.core.diagnostics.nearest import _nearest
from irexec.ir.document import Edge, Layer, Port
from irexec.model.graph.model import Node, Value

# The maximum factor of the work for four times the size.
MOST = 4.4
# Methods of containers that process all items.
_WHOLE = {"copy", "count", "difference", "index", "insert", "intersection", "remove", "reverse", "sort", "union"}
_CONTAINERS = (list, set, dict)


class Work:
    """A context in which work is counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, searching: Iterable[ModuleType] = ()) -> None:
        """`searching`: modules whose patterns are counted."""
        self.counts: Counter[str] = Counter()
        for kind in (Node, Value, LayerRef, Place):
            monkeypatch.setattr(kind, "__hash__", self._counting(kind.__hash__))
        for kind in (Node, Value, Layer, Port, Edge):
            monkeypatch.setattr(kind, "__eq__", self._counting(kind.__eq__))
        for module in searching:
            for name, pattern in list(vars(module).items()):
                if isinstance(pattern, re.Pattern):
                    monkeypatch.setattr(module, name, _Watched(pattern, self))
                elif isinstance(pattern, dict) and all(isinstance(p, re.Pattern) for p in pattern.values()):
                    monkeypatch.setattr(module, name, {k: _Watched(p, self) for k, p in pattern.items()})

    def _counting(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*items: object) -> Any:
            self.counts["hashes and comparisons"] += 1
            return method(*items)

        return counting

    def number(self) -> type[int]:
        """A class of numbers whose comparisons are counted."""
        names = ("__hash__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__")
        kind = type("Number", (int,), {name: self._counting(getattr(int, name)) for name in names})
        for name in ("__mul__", "__rmul__"):
            setattr(kind, name, lambda one, other: kind(int(one) * int(other)))
        return kind

    def of(self, work: Callable[[], object]) -> Counter[str]:
        """Return the amount of work of each kind, with names looked up in advance."""
        self.counts = Counter()
        _nearest.cache_clear()

        def traced(frame: FrameType, event: str, argument: object) -> Any:
            self.counts["lines and calls"] += event in ("line", "call")
            return traced

        def called(frame: FrameType, event: str, argument: Any) -> None:
            if event == "c_call" and argument.__name__ in _WHOLE:
                self.counts["items"] += len(argument.__self__) if isinstance(argument.__self__, _CONTAINERS) else 0

        # Models of earlier tests must not be freed, by traced code, while this work is counted.
        was_enabled = gc.isenabled()
        gc.disable()
        before = sys.gettrace()
        sys.settrace(traced)
        sys.setprofile(called)
        try:
            work()
        finally:
            sys.setprofile(None)
            sys.settrace(before)
            if was_enabled:
                gc.enable()
        return self.counts

    def growth(self, task: Callable[[int], Callable[[], object]], size: int) -> float:
        """Return the factor by which the work of a task of four times the size is larger, for the kind that grows
        fastest.

        `task(size)` prepares the task and is not counted.
        """
        task(size)()  # work that is done only once
        small, large = (self.of(task(n)) for n in (size, 4 * size))
        # Each item adds one to every kind, so that kinds with little work do not count.
        return max((large[kind] + 4 * size) / (small[kind] + size) for kind in large)


class _Watched:
    """A pattern whose searches count the characters from their start to the end of the match, or of the text."""

    def __init__(self, pattern: re.Pattern[str], work: Work) -> None:
        self._pattern, self._work = pattern, work

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pattern, name)

    def _counted(self, match: re.Match[str] | None, begin: int, stop: int) -> re.Match[str] | None:
        self._work.counts["characters"] += max(0, (stop if match is None else match.end()) - begin)
        return match

    def search(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.search(text, pos, endpos), pos, min(endpos, len(text)))

    def match(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.match(text, pos, endpos), pos, pos)

    def fullmatch(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> re.Match[str] | None:
        return self._counted(self._pattern.fullmatch(text, pos, endpos), pos, pos)

    def finditer(self, text: str, pos: int = 0, endpos: int = sys.maxsize) -> Iterator[re.Match[str]]:
        self._work.counts["characters"] += min(endpos, len(text)) - pos
        return self._pattern.finditer(text, pos, endpos)

    def sub(self, new: Any, text: str, count: int = 0) -> str:
        self._work.counts["characters"] += len(text)
        return self._pattern.sub(new, text, count)
