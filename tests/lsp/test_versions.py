"""Versions of a text: requests during a check are answered from the previous version, and older versions are freed."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref

import pytest

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")

from lsprotocol.types import Position
from support.nets import two_inputs
from support.waiting import PATIENCE

from irexec.ir.xml.source import Source
from irexec.lsp import analysis, server
from irexec.lsp.analysis import Analysis
from irexec.lsp.opened import Opened
from irexec.lsp.outline import symbols
from irexec.lsp.requests import make_server
from irexec.lsp.server import Server

MODEL = """<net name="x" version="11">
<layers>
</layers>
</net>
"""


def test_a_version_that_is_being_checked_is_asked_about_in_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = threading.Event()

    class Held(Analysis):
        """A check that lasts until the test releases it."""

        def __init__(self, text: str, path: str | None) -> None:
            assert checked.wait(PATIENCE)
            super().__init__(text, path)

    async def ask() -> list[tuple[int, int]]:
        serving = make_server()
        monkeypatch.setattr(Server, "unit", "utf-16")
        monkeypatch.setattr(serving, "text_document_publish_diagnostics", lambda _: None)
        serving.show("file:///a.xml", MODEL, 1)
        await serving.ask("file:///a.xml", lambda *_: None)
        monkeypatch.setattr(server, "Analysis", Held)
        serving.show("file:///a.xml", f"<!-- a\ncomment -->{MODEL}", 2)
        place = Position(1, len("comment -->") + 3)

        def answer(opened: Opened, _: Analysis, offset: int) -> tuple[int, int]:
            return opened.version, offset

        soon = await serving.ask_soon("file:///a.xml", place, answer)
        checked.set()
        await serving.ask("file:///a.xml", lambda *_: None)
        then = await serving.ask_soon("file:///a.xml", place, answer)
        return [told for told in (soon, then) if told is not None]

    # The comment moves the position further on than when the text was checked.
    assert asyncio.run(ask()) == [(1, 3), (2, len("<!-- a\ncomment -->") + 3)]


@pytest.mark.parametrize("each", [1, 3, 100])
def test_versions_that_were_replaced_are_gone_without_the_collector(each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts, analyses and models of completed checks, and of checks that a key cancelled, are freed."""
    made: list[weakref.ref[object]] = []
    models: list[weakref.ref[object]] = []

    class Noted(Analysis):
        def __init__(self, text: str, path: str | None) -> None:
            super().__init__(text, path)
            assert self._model is not None
            models.extend(map(weakref.ref, [self._model, *self._model.nodes]))
            made.append(weakref.ref(self))

    async def edit() -> None:
        serving = make_server()
        monkeypatch.setattr(server, "Analysis", Noted)
        monkeypatch.setattr(Server, "unit", "utf-16")
        monkeypatch.setattr(serving, "text_document_publish_diagnostics", lambda _: None)
        monkeypatch.setattr(server, "SHORTEST_PAUSE", 0.0)
        for version in range(30):
            serving.show("file:///a.xml", f"{two_inputs().text}{' ' * version}", version)
            made.append(weakref.ref(serving.opened["file:///a.xml"]))
            await asyncio.sleep(0)
            if version % each == 0:
                await serving.ask("file:///a.xml", lambda _, found: found.written)
        await serving.ask("file:///a.xml", lambda *_: None)
        # The event loop and the threads hold their last objects until they do something else.
        for _ in range(3):
            await serving._in_thread(serving._checker, int)
            await serving._in_thread(serving._answerer, int)
        living = [one for one in made if one() is not None]
        assert len(living) == 2, living  # The version that is shown, and its analysis.
        assert sum(one() is not None for one in models) == len(two_inputs().layers) + 1

    gc.disable()
    try:
        asyncio.run(edit())
    finally:
        gc.enable()


def test_a_long_text_that_is_not_xml_is_not_corrected_while_it_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The repair would take a second for each million characters, at each move of the cursor."""
    broken = two_inputs().text.replace("</layers>", "")
    assert [len(finding.fixes) for finding in Analysis(broken).repaired] == [1]
    monkeypatch.setattr(analysis, "MOST_REPAIRED", len(broken) - 1)
    assert [len(finding.fixes) for finding in Analysis(broken).repaired] == [0]


def test_a_text_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text is read once for its findings, their fixes, its outline and every other request."""
    read: list[object] = []
    plain = Source.elements
    monkeypatch.setattr(Source, "elements", lambda source: read.append(source) or plain(source))
    found = Analysis(two_inputs().text.replace("FP32", "FP3"))
    assert found.report.errors and found.report.errors[0].fixes and symbols(found) and found.nodes
    assert len(read) == 1
