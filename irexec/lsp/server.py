"""The language server: the documents that are open in an editor, their checks, and answers to requests about them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from irexec.core.collector import no_collection
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.choice import EVERY, Choice
from irexec.core.diagnostics.deadline import time_limit
from irexec.core.diagnostics.findings import Mode
from irexec.frontends.pages.page import SUFFIXES
from irexec.ir.xml.source import Source
from irexec.lsp.actions import diagnostic, range_of_place
from irexec.lsp.analysis import Analysis
from irexec.lsp.opened import Opened
from irexec.lsp.units import Unit, offset_before
from irexec.tools.doctest.doctest import check_page
from irexec.tools.fixes.applying import examine_page, improve
from irexec.tools.fixes.written import Written
from irexec.version import __version__


def is_page(path: str | None) -> bool:
    """Return whether a file is a page that contains examples, rather than a model."""
    return path is not None and Path(path).suffix.lower() in SUFFIXES and not path.lower().endswith(".xml")


class PageAnalysis(Analysis):
    """The analysis of one version of a page: its examples have findings; there is no model to navigate in."""

    def __init__(self, text: str, path: str, choice: Choice = EVERY) -> None:
        self.text, self.path = text, path
        self._source = Source(text, file=path)
        self._is_xml, self._model = True, None
        self._ports = {}
        page = check_page(path, data=text.encode())
        # Most Markdown pages are not about operators and get no findings.
        self.report: Report = choice.of(page.report) if page.examples else Report()

    @cached_property
    def repaired(self) -> Report:
        return self.report

    @cached_property
    def written(self) -> Written | None:
        return None

    def fixed(self) -> str:
        return improve(self.text.encode(), lambda data: examine_page(data, self.path or ""), unsafe=False).data.decode()


T = TypeVar("T")

SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 2.0
"""The limits, in seconds, of the pause in typing after which a text is checked; it is at least as long as the last
check took."""
PATIENCE = 0.2
"""The time in seconds for which a request about a place waits for a check; then the last checked version is used."""


Project = Callable[[str | None], tuple[Mode, Choice]]
"""Returns the mode and the choice of findings in the settings of the project to which the path of a text belongs."""


Answer = Callable[[Any, Opened, Analysis], Any]
"""The answer to a request with these parameters, about a version of a document and its analysis."""


class Server(LanguageServer):
    """Documents are checked in one thread, and requests about them answered in another, so that typing never waits."""

    def __init__(self, limit: float | None = None, project: Project | None = None) -> None:
        """`limit`: the maximum number of seconds for the check of a text; 0: no limit.

        `project`: see `Project`.
        """
        self._limit, self._project = limit, project
        super().__init__("irexec", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.opened: dict[str, Opened] = {}
        self._checker, self._answerer = ThreadPoolExecutor(1, "check"), ThreadPoolExecutor(1, "answer")

    # Texts

    @property
    def unit(self) -> Unit:
        return cast(Unit, str(getattr(self.workspace.position_encoding, "value", "utf-16")))

    def show(self, uri: str, text: str, version: int) -> None:
        """Accept a new version of a document, and check it when no key was pressed for a while."""
        known = self.opened.get(uri)
        opened = self.opened[uri] = Opened(text, version, self.unit)
        if known is not None:
            known.stop()
            opened.pause = known.pause
            opened.earlier, known.earlier = known if known.checked is not None else known.earlier, None
        opened.checking = asyncio.ensure_future(self._check(uri, opened))

    def close(self, uri: str) -> None:
        """Forget a document and its findings."""
        known = self.opened.pop(uri, None)
        if known is not None:
            known.stop()
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    async def _check(self, uri: str, opened: Opened) -> Analysis:
        await asyncio.sleep(opened.pause)
        began = time.monotonic()
        analysis = await self._in_thread(self._checker, partial(self._analysis, opened.text, to_fs_path(uri)))
        opened.checked, opened.earlier = analysis, None
        opened.pause = min(max(SHORTEST_PAUSE, time.monotonic() - began), LONGEST_PAUSE)
        opened.findings = [(range_of_place(opened, finding.place), finding) for finding in analysis.report]
        shown = [diagnostic(uri, opened, range, finding) for range, finding in opened.findings]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown, opened.version))
        return analysis

    def _analysis(self, text: str, path: str | None) -> Analysis:
        settings = () if self._project is None else self._project(path)
        with time_limit(self._limit):
            if path is not None and is_page(path):
                return PageAnalysis(text, path, *settings[1:])
            return Analysis(text, path, *settings)

    async def ask(self, uri: str, answer: Callable[[Opened, Analysis], T]) -> T | None:
        """Return an answer about the latest version of a document, after its check; None if it is not open."""
        while (opened := self.opened.get(uri)) is not None and opened.checking is not None:
            try:
                analysis = await asyncio.shield(opened.checking)
            except asyncio.CancelledError:
                if self.opened.get(uri) is opened:
                    raise
                continue  # The text was changed in the meantime: repeat the request for the current version.
            return await self._in_thread(self._answerer, partial(answer, opened, analysis))
        return None

    def answers(self, method: str, options: Any = None) -> Callable[[Answer], Answer]:
        """Return a decorator for functions that answer a request about a document, as `ask` does."""

        def register(answer: Answer) -> Answer:
            @self.feature(method, options)
            async def answered(params: Any) -> Any:
                return await self.ask(params.text_document.uri, partial(answer, params))

            return answer

        return register

    async def ask_soon(
        self, uri: str, position: lsp.Position, answer: Callable[[Opened, Analysis, int], T]
    ) -> T | None:
        """Return an answer about an offset, as `ask` does; during a long check, an answer about the same place in the
        previous version.
        """
        opened = self.opened.get(uri)
        if opened is not None and opened.checking is not None and opened.earlier is not None:
            await asyncio.wait({opened.checking}, timeout=PATIENCE)
            earlier = opened.earlier
            if earlier is not None and (analysis := earlier.checked) is not None:
                offset = offset_before(earlier.text, opened.text, opened.units.offset(position))
                if offset is not None:
                    return await self._in_thread(self._answerer, partial(answer, earlier, analysis, offset))
        return await self.ask(uri, lambda opened, analysis: answer(opened, analysis, opened.units.offset(position)))

    async def _in_thread(self, executor: ThreadPoolExecutor, work: Callable[[], T]) -> T:
        def quietly() -> T:
            with no_collection():
                return work()

        return await asyncio.get_running_loop().run_in_executor(executor, quietly)
