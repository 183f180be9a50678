"""The status line: on a terminal, after a while, and gone when the work is done."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.commands import Terminal

import irexec
from irexec.tools import status
from irexec.tools.status import Status

SAMPLES = Path(__file__).parents[2] / "samples"
SEGMENTER = SAMPLES / "segmenter" / "model.xml"
CLASSIFIER, CONVERTED = (SAMPLES / name / "model.xml" for name in ("classifier", "converted"))


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


class Handle:
    def __init__(self) -> None:
        self.shown: list[str] = []

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        self.shown.append(data["text/plain"])


def test_a_notebook_shows_it_below_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Handle()

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        handle.update(data, raw=raw)
        return handle

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    monkeypatch.setattr(status, "PATIENCE", 0.0)
    assert irexec.shapes(SEGMENTER).symbols
    assert "combinations of sizes" in handle.shown[0] and handle.shown[-1] == ""
    handle.shown.clear()
    assert not irexec.compare(CLASSIFIER, CONVERTED).agrees
    assert "layers compared with" in handle.shown[0] and handle.shown[-1] == ""


def test_programs_show_nothing(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status, "PATIENCE", 0.0)
    irexec.shapes(SEGMENTER)
    assert capsys.readouterr() == ("", "")
