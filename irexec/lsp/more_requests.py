"""Requests about the structure of a document and about all open documents, and the commands of the server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import from_fs_path, to_fs_path

from irexec.frontends.pages.page import SUFFIXES
from irexec.frontends.pages.run import run_examples
from irexec.frontends.reading import read
from irexec.ir.xml.events import Event, Span, events
from irexec.ir.xml.source import Source
from irexec.lsp.actions import fix_all
from irexec.lsp.analysis import Analysis
from irexec.lsp.complete import operator_of
from irexec.lsp.links import references, renamed_at, types
from irexec.lsp.opened import Opened
from irexec.lsp.outline import named_layers
from irexec.lsp.server import Server
from irexec.model.arrays.given import Given
from irexec.model.arrays.saving import save_text
from irexec.tools.catalog.documentation import page_address
from irexec.tools.inspect.read import summary_of
from irexec.tools.render.example import show_examples
from irexec.tools.render.model import show_model
from irexec.tools.render.printing import Printout
from irexec.tools.render.report.examples import examples_page
from irexec.tools.render.report.page import report_page
from irexec.tools.render.shapes import open_sizes
from irexec.tools.run.run import run_model

REPORT, RUN, FIX = "irexec.showReport", "irexec.run", "irexec.fixAll"


class Impossible(Exception):
    """Raised for a command that cannot be executed for a text; the message gives the reason."""


def write_report(text: str, path: str | None, folder: Path) -> Path:
    """Write the report of a text into a folder, and return the file. Raises Impossible and OSError."""
    name = Path(path or "model.xml")
    reading = read(Source(text, file=path), mode="strict")
    if reading.snippet is not None or (name.suffix.lower() in SUFFIXES and name.suffix.lower() != ".xml"):
        page = examples_page(path or "text", text.encode())
    else:
        summary, found = summary_of(reading)
        if summary is None:
            raise Impossible(f"the report cannot be created: {found.errors[0].message}")
        page = report_page([summary], sizes=[open_sizes(reading.model)])
    file = folder / f"{name.stem}.html"
    save_text(file, page)
    return file


def run_text(text: str, path: str | None) -> str:
    """Run a model or a snippet with random inputs, and return the output of `irexec run`. Raises Impossible."""
    reading = read(Source(text, file=path))
    page = Printout(columns=100)
    if reading.snippet is not None:
        show_examples(run_examples(reading.snippet, Given()), page)
    elif reading.model is not None and reading.report.ok:
        show_model(run_model(reading.model, Given()), page)
    else:
        errors = reading.report.errors
        raise Impossible(f"the document cannot be run: {errors[0].message if errors else 'it contains no model'}")
    return page.text


def selections(analysis: Analysis, offset: int) -> list[Span]:
    """Return the ranges around an offset, the innermost first: a value, an attribute, a tag, and the elements."""
    found: list[Span] = []
    for number, element in enumerate(analysis.extents.around(offset)):
        tag = analysis.tag(element)
        if number == 0 and tag is not None and tag.start <= offset <= tag.stop:
            for attribute in analysis.attributes_of(element):
                if attribute.whole.start <= offset <= attribute.whole.stop:
                    found += [attribute.value] if attribute.value.start <= offset <= attribute.value.stop else []
                    found.append(attribute.whole)
            found.append(tag)
        found.append(analysis.extents.whole(element))
    distinct: list[Span] = []
    for span in found:
        if not distinct or (
            span.start <= distinct[-1].start and span.stop >= distinct[-1].stop and span != distinct[-1]
        ):
            distinct.append(span)
    return distinct


def tag_names(analysis: Analysis, offset: int) -> list[Span]:
    """Return the name in the start tag and in the end tag of an element, if the offset is in one of them."""
    text = analysis.text
    for element in analysis.extents.around(offset)[:1]:
        whole, tag = analysis.extents.whole(element), analysis.extents.tag(element)
        name = text[tag.start + 1 : tag.stop].split(None, 1)[0].rstrip("/>")
        begin = text.rfind("</", tag.stop, whole.stop)
        if begin < 0 or text[begin + 2 : whole.stop].rstrip("> \t\r\n") != name:
            return []
        names = [Span(tag.start + 1, len(name)), Span(begin + 2, len(name))]
        return names if any(span.start <= offset <= span.stop for span in names) else []
    return []


def highlights(analysis: Analysis, offset: int) -> list[Span]:
    """Return the place of an id or of a port at an offset, and all places that refer to it."""
    spans = references(analysis, offset)
    owner = analysis.port_at(offset)
    own = analysis.tag(owner.port.at) if owner is not None else renamed_at(analysis, offset)
    if own is None:
        return []
    return [own, *(span for span in spans if span != own)]


def indented(text: str) -> Iterator[tuple[Span, str]]:
    """Yield the replacements of white space between tags that indent each element by one tab more than its parent, as
    in OpenVINO's files. Comments and elements that contain text are not changed.
    """
    depth = 0
    before: Event | None = None
    for event in events(text):
        kind, start = event[:2]
        if kind == "end":
            depth -= 1
        if before is not None:
            gap = Span(before[2], start - before[2])
            blank = not text[gap.start : gap.stop].strip()
            wanted = "\n" + "\t" * max(depth, 0)
            is_short = before[0] == "start" and kind == "end"
            if blank and not is_short and "comment" not in (kind, before[0]) and text[gap.start : gap.stop] != wanted:
                yield gap, wanted
        if kind == "start":
            depth += 1
        before = event


_MOST_SYMBOLS = 500


def answer_structure(server: Server) -> None:
    """Register selections, names of elements, places of a layer, links to operation pages, indentation, symbols."""

    @server.answers(lsp.TEXT_DOCUMENT_SELECTION_RANGE)
    def selected(params: lsp.SelectionRangeParams, opened: Opened, analysis: Analysis) -> list[lsp.SelectionRange]:
        found = []
        for position in params.positions:
            outer: lsp.SelectionRange | None = None
            for span in reversed(selections(analysis, opened.units.offset(position))):
                outer = lsp.SelectionRange(opened.range(span), outer)
            found.append(outer or lsp.SelectionRange(lsp.Range(position, position)))
        return found

    @server.answers(lsp.TEXT_DOCUMENT_LINKED_EDITING_RANGE)
    def linked(
        params: lsp.LinkedEditingRangeParams, opened: Opened, analysis: Analysis
    ) -> lsp.LinkedEditingRanges | None:
        names = tag_names(analysis, opened.units.offset(params.position))
        return lsp.LinkedEditingRanges([opened.range(span) for span in names]) if names else None

    @server.answers(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    def highlighted(
        params: lsp.DocumentHighlightParams, opened: Opened, analysis: Analysis
    ) -> list[lsp.DocumentHighlight]:
        spans = highlights(analysis, opened.units.offset(params.position))
        return [lsp.DocumentHighlight(opened.range(span), lsp.DocumentHighlightKind.Text) for span in spans]

    @server.answers(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatted(params: lsp.DocumentFormattingParams, opened: Opened, analysis: Analysis) -> list[lsp.TextEdit]:
        # A text that is not XML has no structure that could be indented.
        whole = analysis.written is not None
        return [lsp.TextEdit(opened.range(span), new) for span, new in indented(opened.text) if whole]

    @server.answers(lsp.TEXT_DOCUMENT_DOCUMENT_LINK)
    def linking(params: lsp.DocumentLinkParams, opened: Opened, analysis: Analysis) -> list[lsp.DocumentLink]:
        links = []
        for data, span in types(analysis):
            facts = operator_of(data)
            address = facts and page_address(facts)
            if facts is not None and address and span is not None:
                links.append(lsp.DocumentLink(opened.range(span), address, f"operation page of {facts.name}"))
        return links

    @server.feature(lsp.WORKSPACE_SYMBOL)
    async def found(params: lsp.WorkspaceSymbolParams) -> list[lsp.SymbolInformation]:
        def answer(uri: str, opened: Opened, analysis: Analysis) -> list[lsp.SymbolInformation]:
            return [
                lsp.SymbolInformation(
                    lsp.Location(uri, opened.range(tag)), name, lsp.SymbolKind.Object, container_name=type
                )
                for name, type, tag in named_layers(analysis, params.query, _MOST_SYMBOLS)
            ]

        symbols: list[lsp.SymbolInformation] = []
        for uri in [*server.opened]:
            symbols += await server.ask(uri, partial(answer, uri)) or []
        return symbols[:_MOST_SYMBOLS]


def answer_commands(server: Server) -> None:
    """Register the commands; their argument is the URI of an open document."""
    folder = tempfile.TemporaryDirectory(prefix="irexec-lsp-")

    async def about(uri: Any, work: Any) -> Any:
        """Return the result of a function of the document and its path, called in the thread that answers requests."""
        if not isinstance(uri, str) or uri not in server.opened:
            raise JsonRpcInvalidParams("the argument of the command must be the URI of an open document")
        try:
            return await server.ask(uri, lambda opened, _: work(opened.text, to_fs_path(uri)))
        except Impossible as reason:
            raise JsonRpcInvalidParams(str(reason)) from None

    @server.command(REPORT)
    async def report(uri: str) -> str:
        """Write the report on a document, show it, and return its URI."""
        file: Path = await about(uri, lambda text, path: write_report(text, path, Path(folder.name)))
        address = from_fs_path(str(file)) or ""
        shows = server.client_capabilities.window
        if shows is not None and shows.show_document is not None and shows.show_document.support:
            await server.window_show_document_async(lsp.ShowDocumentParams(address, external=True))
        return address

    @server.command(RUN)
    async def run(uri: str) -> str:
        """Run a document with random inputs, and return the output of `irexec run`."""
        text: str = await about(uri, run_text)
        return text

    @server.command(FIX)
    async def fix(uri: str) -> bool:
        """Apply all safe fixes; returns whether there were any."""
        if uri not in server.opened:
            raise JsonRpcInvalidParams("the argument of the command must be the URI of an open document")
        actions = await server.ask(uri, lambda opened, analysis: fix_all(uri, opened, analysis)) or []
        for action in actions:
            if action.edit is not None:
                await server.workspace_apply_edit_async(lsp.ApplyWorkspaceEditParams(action.edit, "irexec: safe fixes"))
        return bool(actions)
