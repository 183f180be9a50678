"""Deadlines: work that exceeds its time limit stops at the next check, with a finding about its progress.

Loops check the deadline: `watched` for each layer, `ask` elsewhere. A single NumPy call is not interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic
from typing import Any, TypeVar

from irexec.core.diagnostics.diagnostic import At, IRError
from irexec.core.diagnostics.findings import Findings

T = TypeVar("T")

_ends: ContextVar[tuple[float, float, str] | None] = ContextVar("deadline", default=None)
"""The time at which the work has to end, the time limit in seconds, and the option that sets it."""


class OutOfTime(BaseException):
    """Raised after the deadline. Not an Exception, so that handlers for failing layers do not catch it.

    `doing`: the stage that was reached, as in "while inferring types"; `item`: the layer being processed.
    """

    def __init__(self, seconds: float, option: str, doing: str, progress: str = "", item: object = None) -> None:
        super().__init__(f"stopped after {seconds:g} s, while {doing}{progress}")
        self.seconds, self.option, self.doing, self.progress, self.item = seconds, option, doing, progress, item

    def add_to(self, findings: Findings) -> None:
        """Add the finding to a report, at the layer that was being processed."""
        ref = getattr(self.item, "ref", None)
        layer = getattr(self.item, "layer", self.item)
        at = getattr(layer, "at", None)
        where = "" if ref is None else f" in layer {ref.name!r} ({ref.type})"
        message = f"stopped after {self.seconds:g} s{where}, while {self.doing}{self.progress}"
        hint = f"increase the limit with {self.option} SECONDS, or remove it with {self.option} 0"
        findings.add("U009", message, at=At(at) if isinstance(at, int) else None, layer=ref, hint=hint)


@contextmanager
def time_limit(seconds: float | None, *, file: str | None = None, option: str = "--timeout") -> Iterator[None]:
    """Limit the time of the enclosed work to this many seconds; None or 0: no limit.

    Functions that return a report, such as `irexec.validate`, return the findings made until then and a finding about
    the progress (U009). Other functions raise IRError with that finding. The deadline applies to this thread; the
    earliest of several deadlines applies. A single NumPy call is not interrupted. `file`: the file that the finding
    names. `option`: the option of commands that sets the limit.
    """
    if not seconds:
        yield
        return
    mine, around = (monotonic() + seconds, seconds, option), _ends.get()
    nearest = mine if around is None else min(mine, around)
    token = _ends.set(nearest)
    try:
        yield
    except OutOfTime as stopped:
        if nearest is around:
            raise
        findings = Findings(file=file)
        stopped.add_to(findings)
        raise IRError(findings.report) from None
    finally:
        _ends.reset(token)


def ask(doing: str) -> None:
    """Raise OutOfTime when the deadline, if there is one, has passed."""
    ends = _ends.get()
    if ends is not None and monotonic() >= ends[0]:
        raise OutOfTime(ends[1], ends[2], doing)


def seconds_left(most: float) -> float:
    """Return the seconds until the deadline, but at most this many."""
    ends = _ends.get()
    return most if ends is None else max(0.0, min(most, ends[0] - monotonic()))


def watched(
    items: Iterable[T], doing: str, what: str = "layers", of: Callable[[int, T], object] = lambda _, item: item
) -> Iterable[T]:
    """Return the items; each may raise OutOfTime. Without a deadline, the items themselves are returned, at no cost.

    `what`: the name of the items; `of`: the layer that an item is about, by its number.
    """
    ends = _ends.get()
    return items if ends is None else _watched(items, ends, doing, what, of)


def _watched(
    items: Iterable[T], ends: tuple[float, float, str], doing: str, what: str, of: Callable[[int, T], Any]
) -> Iterator[T]:
    end, seconds, option = ends
    for number, item in enumerate(items):
        if monotonic() >= end:
            total = f" of {len(items):,}" if isinstance(items, Sized) else ""
            raise OutOfTime(seconds, option, doing, f"; {number:,}{total} {what} completed", of(number, item))
        yield item
