"""Versions of a text: what is asked while one is checked is answered from the one before."""

from __future__ import annotations

import asyncio
import threading

import pytest

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")

from lsprotocol.types import Position
from support.waiting import PATIENCE

from irexec.lsp import server
from irexec.lsp.analysis import Analysis
from irexec.lsp.server import Opened, Server, make_server

MODEL = """<net name="x" version="11">
<layers>
</layers>
</net>
"""


def test_a_version_that_is_being_checked_is_asked_about_in_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = threading.Event()

    class Held(Analysis):
        """A check that takes until it may end."""

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

    # The place is further on by the comment than when the text was checked.
    assert asyncio.run(ask()) == [(1, 3), (2, len("<!-- a\ncomment -->") + 3)]
