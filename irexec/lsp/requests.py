"""The requests of an editor, answered from the latest version of each document. Source: LSP 3.17."""

from __future__ import annotations

import logging

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from irexec.lsp.actions import action, fix_all
from irexec.lsp.analysis import Analysis
from irexec.lsp.complete import choices
from irexec.lsp.complete_text import text_choices
from irexec.lsp.cursor import cursor_at
from irexec.lsp.hover import hover
from irexec.lsp.links import Refusal, definition, edge_labels, references, rename, renamed_at, size_labels, type_labels
from irexec.lsp.more_requests import answer_commands, answer_structure
from irexec.lsp.opened import Opened
from irexec.lsp.outline import Symbol, folds, symbols
from irexec.lsp.server import Project, Server


def make_server(limit: float | None = None, project: Project | None = None) -> Server:
    """Return a server with all supported requests. `limit`: the time limit for a check in seconds; 0: no limit."""
    server = Server(limit, project)
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_unexpected)
    for register in (_texts, _findings, _places, _navigation, answer_structure, answer_commands):
        register(server)
    return server


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Return False for the log of a refused request: the editor shows the reason, and a traceback would not help."""
    return record.exc_info is None or not isinstance(record.exc_info[1], JsonRpcInvalidParams)


# Texts that come and change


def _texts(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.show(document.uri, document.text, document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        # pygls has already applied the changes to its own copy of the text.
        uri = params.text_document.uri
        server.show(uri, server.workspace.get_text_document(uri).source, params.text_document.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: lsp.DidSaveTextDocumentParams) -> None:
        # The weights next to the file may have been saved together with it.
        if (known := server.opened.get(params.text_document.uri)) is not None:
            server.show(params.text_document.uri, known.text, known.version)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        server.close(params.text_document.uri)


# Findings and their fixes


def _findings(server: Server) -> None:
    options = lsp.CodeActionOptions([lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.SourceFixAll])

    @server.answers(lsp.TEXT_DOCUMENT_CODE_ACTION, options)
    def actions(params: lsp.CodeActionParams, opened: Opened, analysis: Analysis) -> list[lsp.CodeAction]:
        uri = params.text_document.uri
        if lsp.CodeActionKind.SourceFixAll in (params.context.only or ()):
            return fix_all(uri, opened, analysis)
        there = [number for number, (range, _) in enumerate(opened.findings) if _overlap(range, params.range)]
        findings = list(analysis.repaired) if there else []
        return [
            action(uri, opened, opened.findings[number][0], finding, fix)
            for number, finding in enumerate(findings)
            for fix in finding.fixes
            if number in there
        ]


def _overlap(one: lsp.Range, other: lsp.Range) -> bool:
    return one.start <= other.end and other.start <= one.end


# Information and completions at a position


def _places(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    async def hovered(params: lsp.HoverParams) -> lsp.Hover | None:
        def answer(opened: Opened, analysis: Analysis, offset: int) -> lsp.Hover | None:
            text = hover(analysis, cursor_at(opened.text, offset), offset)
            return None if text is None else lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text))

        return await server.ask_soon(params.text_document.uri, params.position, answer)

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=['"', " ", "<"]))
    def complete(params: lsp.CompletionParams) -> lsp.CompletionList:
        # The text being typed need not be checked.
        opened = server.opened.get(params.text_document.uri)
        items = []
        if opened is not None:
            offset = opened.units.offset(params.position)
            is_text = params.text_document.uri.lower().endswith(".irt")
            cursor = None if is_text else cursor_at(opened.text, offset)
            found = text_choices(opened.text, offset) if is_text else choices(opened.text, cursor)
            is_name = cursor is not None and cursor.in_name
            for number, choice in enumerate(found):
                range = opened.range(choice.span)
                described = lsp.MarkupContent(lsp.MarkupKind.Markdown, choice.documentation)
                items.append(
                    lsp.CompletionItem(
                        choice.label or choice.text,
                        kind=lsp.CompletionItemKind.Property if is_name else lsp.CompletionItemKind.Value,
                        detail=choice.detail or None,
                        documentation=described if choice.documentation else None,
                        sort_text=f"{number:05}",
                        text_edit=lsp.TextEdit(range, choice.text),
                    )
                )
        return lsp.CompletionList(is_incomplete=False, items=items)

    @server.answers(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def outline(params: lsp.DocumentSymbolParams, opened: Opened, analysis: Analysis) -> list[lsp.DocumentSymbol]:
        return [_symbol(opened, symbol) for symbol in symbols(analysis)]

    @server.answers(lsp.TEXT_DOCUMENT_FOLDING_RANGE)
    def folding(params: lsp.FoldingRangeParams, opened: Opened, analysis: Analysis) -> list[lsp.FoldingRange]:
        ranges = [opened.range(span) for span in folds(analysis)]
        return [lsp.FoldingRange(range.start.line, range.end.line) for range in ranges]

    @server.answers(lsp.TEXT_DOCUMENT_INLAY_HINT)
    def hints(params: lsp.InlayHintParams, opened: Opened, analysis: Analysis) -> list[lsp.InlayHint]:
        start, stop = opened.units.offset(params.range.start), opened.units.offset(params.range.end)
        return [
            lsp.InlayHint(opened.units.position(place), label, padding_left=True)
            for labels in (size_labels, edge_labels, type_labels)
            for place, label in labels(analysis, start, stop)
        ]


def _symbol(opened: Opened, symbol: Symbol) -> lsp.DocumentSymbol:
    # Both ranges begin with the tag; the position is computed once, because there may be tens of thousands of layers.
    begin, position = opened.units.position(symbol.tag.start), opened.units.position
    return lsp.DocumentSymbol(
        symbol.name,
        lsp.SymbolKind.Namespace if symbol.is_net else lsp.SymbolKind.Object,
        lsp.Range(begin, position(symbol.extent.stop)),
        lsp.Range(begin, position(symbol.tag.stop)),
        symbol.detail,
        children=[_symbol(opened, child) for child in symbol.children],
    )


# From place to place


def _navigation(server: Server) -> None:
    @server.answers(lsp.TEXT_DOCUMENT_DEFINITION)
    def defined(params: lsp.DefinitionParams, opened: Opened, analysis: Analysis) -> lsp.Location | None:
        uri = params.text_document.uri
        span = definition(analysis, opened.units.offset(params.position))
        return None if span is None else lsp.Location(uri, opened.range(span))

    @server.answers(lsp.TEXT_DOCUMENT_REFERENCES)
    def referred(params: lsp.ReferenceParams, opened: Opened, analysis: Analysis) -> list[lsp.Location]:
        uri = params.text_document.uri
        spans = references(analysis, opened.units.offset(params.position))
        return [lsp.Location(uri, opened.range(span)) for span in spans]

    @server.answers(lsp.TEXT_DOCUMENT_PREPARE_RENAME)
    def may_rename(params: lsp.PrepareRenameParams, opened: Opened, analysis: Analysis) -> lsp.Range | None:
        span = renamed_at(analysis, opened.units.offset(params.position))
        return None if span is None else opened.range(span)

    @server.answers(lsp.TEXT_DOCUMENT_RENAME, lsp.RenameOptions(prepare_provider=True))
    def renamed(params: lsp.RenameParams, opened: Opened, analysis: Analysis) -> lsp.WorkspaceEdit:
        uri = params.text_document.uri
        try:
            replacements = rename(analysis, opened.units.offset(params.position), params.new_name)
        except Refusal as refusal:
            raise JsonRpcInvalidParams(str(refusal)) from None
        edits = [lsp.TextEdit(opened.range(span), new) for span, new in replacements]
        return lsp.WorkspaceEdit({uri: edits})
