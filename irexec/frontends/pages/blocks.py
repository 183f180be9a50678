"""Finding the examples on a page: fenced, in a directive, indented, preformatted, or within the text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from irexec.frontends.pages.repairs.grammar import NAMES

Range = tuple[int, int]

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^([ \t]*)\.\. +(?:code-block|code|sourcecode|parsed-literal)::[^\n]*$", re.MULTILINE)
_OPTION = re.compile(r"[ \t]+:[\w-]+:[^\n]*")
# The start of a layer or model: `<layer`, `<net`, or an ellipsis in place of the name.
_START = re.compile(r"^[^\S\n]*(<\s?(?:layers?|net)\b|<(?:\.{2,}|…)\s+type=)", re.MULTILINE)
_LAYER = re.compile(r"<\s?(?:(?:layer|net)\b|(?:\.{2,}|…)\s+type=)")
_GRAMMAR = re.compile(rf"</?(?:{'|'.join(sorted(NAMES))})\b|/(?:dim|port|layer)>|<!--|-->")
# HTML markup around an example, which Markdown may contain.
_HTML = re.compile(
    r"</?(?:pre|code|p|div|span|a|h\d|[uo]l|li|d[ltd]|table|t[rhd]|br|img|details|summary)\b", re.IGNORECASE
)


def explicit_blocks(text: str) -> list[Range]:
    """Return the contents of fences and of code directives, in order."""
    found = [*_fences(text), *_directives(text)]
    return _apart(sorted(found))


def loose_layers(text: str, taken: Sequence[Range]) -> list[Range]:
    """Return ranges of consecutive layers, or of a model, outside the ranges `taken`: in indented code or text."""
    found: list[Range] = []
    position = 0
    while (match := _START.search(text, position)) is not None:
        start = match.start(1)
        around = next((r for r in taken if r[0] <= start < r[1]), None)
        if around is not None:
            position = around[1]
            continue
        limit = min((r[0] for r in taken if r[0] > start), default=len(text))
        end = _end_of_run(text, start, limit)
        found.append((start, end))
        position = max(end, match.end())
    return found


def is_example(text: str) -> bool:
    """Return whether a block is an example of an IR: it begins with markup or an ellipsis, and contains a layer."""
    return _LAYER.search(text) is not None and _is_markup(text.strip().split("\n", 1)[0])


def _fences(text: str) -> Iterator[Range]:
    opened: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match
        elif match[1].startswith(opened[1]) and not match[0].strip("> \t").strip("`~"):
            yield min(opened.end() + 1, match.start()), match.start()
            opened = None
    if opened is not None:
        yield min(opened.end() + 1, len(text)), len(text)


def _directives(text: str) -> Iterator[Range]:
    for match in _DIRECTIVE.finditer(text):
        indent = len(match[1].expandtabs())
        start = end = min(match.end() + 1, len(text))
        in_options = True
        while end < len(text):
            newline = text.find("\n", end)
            line = text[end : len(text) if newline < 0 else newline + 1]
            written = line.rstrip()
            if written and len(line.expandtabs()) - len(line.expandtabs().lstrip()) <= indent:
                break
            if in_options and _OPTION.fullmatch(written):
                start = end + len(line)
            elif written:
                in_options = False
            end += len(line)
        yield start, end


def _apart(ranges: list[Range]) -> list[Range]:
    """Return the ranges that are not inside an earlier range."""
    found: list[Range] = []
    for start, end in ranges:
        if start < end and (not found or start >= found[-1][1]):
            found.append((start, end))
    return found


def _end_of_run(text: str, start: int, limit: int) -> int:
    """Return the position where markup that starts at `start` ends (at most `limit`)."""
    end = position = start
    while position < limit:
        newline = text.find("\n", position, limit)
        newline = limit if newline < 0 else newline + 1
        line = text[position:newline].strip()
        if line and not (_is_markup(line) or _is_open(text, start, position, limit)):
            break
        if line:
            end = position + len(text[position:newline].rstrip())
        position = newline
    return end


def _is_markup(line: str) -> bool:
    if _HTML.match(line) is not None:
        return False
    return line.startswith("<") or _GRAMMAR.search(line) is not None or re.fullmatch(r"\.{2,}|…", line) is not None


def _is_open(text: str, start: int, position: int, limit: int) -> bool:
    """Return whether a comment, a tag or a layer that began before `position` ends after it."""
    comment = text.rfind("<!--", start, position)
    if comment >= 0 and text.rfind("-->", comment, position) < 0:
        return text.find("-->", position, limit) >= 0
    if text.rfind("<", start, position) > text.rfind(">", start, position):
        return text.find(">", position, limit) >= 0
    closing = text.find("</layer", position, limit)
    opened = len(re.findall(r"<layer\b", text[start:position])) > text.count("</layer", start, position)
    another = text.find("<layer", position, limit)
    return opened and closing >= 0 and not 0 <= another < closing
