"""The status line: on a terminal, after a while, and gone when the work is done."""

from __future__ import annotations

import io
import sys

import pytest

from irexec.render import status
from irexec.render.status import Status


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch, patience: float) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(status, "PATIENCE", patience)
    with Status() as line:
        line.show("3 of 20 layers compared")
    return stream.getvalue()


def test_it_is_shown_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = told(Terminal(), monkeypatch, 0.0)
    assert "3 of 20 layers compared" in text
    assert text.endswith("\r\x1b[K")


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(Terminal(), monkeypatch, 1000.0) == ""


def test_files_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(io.StringIO(), monkeypatch, 0.0) == ""
