"""A clock that advances with each query: a deadline passes after a number of queries, on every machine."""

from __future__ import annotations

import pytest

from irexec.core.diagnostics import deadline


class Clock:
    """Each query takes a second, from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = 0
        monkeypatch.setattr(deadline, "monotonic", self._look)

    def _look(self) -> float:
        self.looks += 1
        return float(self.looks)
