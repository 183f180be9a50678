"""A clock that is moved by those who look at it: a deadline passes after so many looks, on every machine."""

from __future__ import annotations

import pytest

from irexec.diagnostics import deadline


class Clock:
    """Each look at it takes a second, from now on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.looks = 0
        monkeypatch.setattr(deadline, "monotonic", self._look)

    def _look(self) -> float:
        self.looks += 1
        return float(self.looks)
