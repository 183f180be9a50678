"""Records which constraints of an operator were checked, if a caller requests it.

A shape rule records constraints with its `check`, a kernel with `require` or, after a check of another form, with
`holds`. Recording is local to a thread: it does not cover other threads that run the same operator at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar


class Checks:
    """The constraints of one operator that were evaluated, and whether they held at every evaluation.

    Only the checks of `operator` are recorded, not those of other operators that run meanwhile (for example in a body).
    """

    def __init__(self, operator: object) -> None:
        self.operator = operator
        self._held: set[str] = set()
        self._broken: set[str] = set()

    def note(self, constraint: str, held: bool) -> None:
        (self._held if held else self._broken).add(constraint)

    @property
    def held(self) -> list[str]:
        """The numbers of the constraints that held at every check: `["C1", "C2", "C10"]`."""
        numbered = [name for name in self._held - self._broken if name[1:].isdecimal()]
        return sorted(numbered, key=lambda name: int(name[1:]))


_wanted: ContextVar[Checks | None] = ContextVar("wanted", default=None)
_running: ContextVar[Checks | None] = ContextVar("running", default=None)


@contextmanager
def noted(operator: object) -> Iterator[Checks]:
    """Record the operator's checks until the end of the block."""
    checks = Checks(operator)
    token = _wanted.set(checks)
    try:
        yield checks
    finally:
        _wanted.reset(token)


_NOT_RECORDED = nullcontext()


def running(operator: object) -> AbstractContextManager[None]:
    """Attribute the checks in this block to this operator's rule or kernel."""
    checks = _wanted.get()
    return _NOT_RECORDED if checks is None else _noting(checks if checks.operator is operator else None)


@contextmanager
def _noting(checks: Checks | None) -> Iterator[None]:
    token = _running.set(checks)
    try:
        yield
    finally:
        _running.reset(token)


def note(constraint: str, held: bool) -> None:
    """Record that a constraint was evaluated."""
    checks = _running.get()
    if checks is not None:
        checks.note(constraint, held)


def holds(constraint: str) -> None:
    """Record a constraint that holds, after a kernel or a rule checked it without `require` or `check`."""
    if (checks := _running.get()) is not None:
        checks.note(constraint, True)
