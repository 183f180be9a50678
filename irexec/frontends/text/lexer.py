"""Tokens of the text form, and the lines that they make: a line continues while a bracket is open."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from irexec.core.diagnostics.deadline import watched
from irexec.ir.beside import Unreadable, read_json
from irexec.ir.xml.events import Span

Report = Callable[[str, str, Span, str | None], None]
"""Reports an error: its code, message, range of the text, and hint."""

_TOKEN = re.compile(
    r"""(?P<blank>[^\S\n]++|\#[^\n]*+)
        |(?P<line>\n)
        |(?P<word>(?:(?:[^\s,()\[\]{}=:\#"@<>\x00-\x1f-]|-(?!>))++|"(?:[^"\\\n]|\\[^\n])*+")++)
        |(?P<mark>->|[,()\[\]{}=:@])
        |(?P<open>"[^\n]*+)
        |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
# The beginning of a layer: a bracket before it was not closed.
_LAYER = re.compile(r'[^\S\n]*+[^\s=(,:"]++[^\S\n]*+=[^\S\n]*+[A-Za-z][\w-]*+(?:\(|\[| \w++\[)')
_PART = re.compile(r'"(?:[^"\\]|\\.)*+"|[^"]++')
_TAB = 8
_PAIRS = {")": "(", "]": "[", "}": "{"}


class Token(NamedTuple):
    """A word or a mark. `quoted`: the word begins with a quoted part; `tail`: what follows that part, such as `.1`."""

    kind: str
    text: str
    span: Span
    quoted: bool = False
    tail: str = ""

    def __str__(self) -> str:
        return f"'{self.text}{self.tail}'" if self.kind == "word" else f"'{self.kind}'"


class Line(NamedTuple):
    """A line with the lines that continue it: the width of its indentation, and its tokens."""

    indent: int
    tokens: list[Token]

    @property
    def span(self) -> Span:
        """The range of the line, without what continues it in braces."""
        last = next((before for before, token in zip(self.tokens, self.tokens[1:], strict=False) if token.kind == "{"),
                    self.tokens[-1])  # fmt: skip
        return Span(self.tokens[0].span.start, last.span.stop - self.tokens[0].span.start)


def lines(text: str, report: Report) -> Iterator[Line]:
    """Yield the lines of a text; characters that no token contains are reported and skipped."""
    tokens: list[Token] = []
    opened: list[Token] = []
    start = 0
    for match in watched(_TOKEN.finditer(text), "reading"):
        kind, span = match.lastgroup, Span(match.start(), match.end() - match.start())
        if kind == "line":
            if opened and opened[-1].kind != "{" and _LAYER.match(text, match.end()):
                report("X013", f"'{opened[-1].kind}' is not closed", opened[-1].span, None)
                opened, tokens = [], []
            if tokens and not opened:
                yield Line(_width(text[start : tokens[0].span.start]), tokens)
                tokens = []
            if not tokens:
                start = match.end()
        elif kind == "word":
            tokens.append(_word(match[0], span, report))
        elif kind == "mark":
            token = Token(match[0], match[0], span)
            tokens.append(token)
            if token.kind in _PAIRS.values():
                opened.append(token)
            elif token.kind in _PAIRS:
                if not opened or opened[-1].kind != _PAIRS[token.kind]:
                    report("X013", f"'{token.kind}' closes no bracket", span, None)
                    tokens.pop()
                else:
                    opened.pop()
        elif kind == "open":
            report("X013", "the quote is not closed on its line", Span(span.start, 1), None)
        elif kind == "other":
            report("X013", f"the character {match[0]!r} is not part of the text form", span, _hint(match[0]))
    for token in opened[-1:]:
        report("X013", f"'{token.kind}' is not closed", token.span, None)
    if tokens and not opened:
        yield Line(_width(text[start : tokens[0].span.start]), tokens)


def _width(blanks: str) -> int:
    return len(blanks.expandtabs(_TAB))


def _word(text: str, span: Span, report: Report) -> Token:
    if '"' not in text:
        return Token("word", text, span)
    parts = [part[0] for part in _PART.finditer(text)]
    texts = []
    for part in parts:
        try:
            texts.append(read_json(part) if part[0] == '"' else part)
        except Unreadable:
            report("X013", "the quoted text has an invalid escape", span, 'write \\" for a quote and \\\\ for \\')
            texts.append(part)
    return Token("word", texts[0], span, parts[0][0] == '"', "".join(texts[1:]))


def _hint(character: str) -> str | None:
    return "this text is XML, but its first word is 'model'" if character in "<>" else None
