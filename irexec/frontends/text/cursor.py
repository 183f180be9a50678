"""A position in the tokens of a line, and the parts that occur everywhere: words, types, attributes, elements."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.frontends.text.lexer import Token
from irexec.frontends.text.syntax import Rest, TypeText, Word
from irexec.frontends.text.words import NOTHING
from irexec.ir.text import quoted
from irexec.ir.xml.events import Span

_DEEPEST = 100
"""The maximum nesting of elements and of brackets; XML has a limit as well."""


class Wrong(Exception):
    """Raised for an error that ends a line: a message, its range of the text, and a hint."""

    def __init__(self, message: str, span: Span, hint: str | None = None) -> None:
        super().__init__(message)
        self.span, self.hint = span, hint


class Cursor:
    """The tokens of a line, and the next of them."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        # At the end the cursor stands behind the last token.
        self._end = Token("the end of the line", "", Span(tokens[-1].span.stop - 1, 1))

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._at] if self._at < len(self._tokens) else self._end

    @property
    def kind(self) -> str:
        """The kind of the next token."""
        return self.token.kind

    @property
    def span(self) -> Span:
        """The range of the next token."""
        return self.token.span

    @property
    def stop(self) -> int:
        """The end of the last token that was taken."""
        return self._tokens[self._at - 1].span.stop

    def is_word(self, text: str) -> bool:
        """Return whether the next token is this word without quotes."""
        token = self.token
        return token.kind == "word" and token.text == text and not token.quoted and not token.tail

    def takes(self, kind: str) -> bool:
        """Take the next token if it is this mark, and return whether it is."""
        if self.kind != kind:
            return False
        self._at += 1
        return True

    def expect(self, kind: str, where: str) -> None:
        """Take a mark. Raises Wrong if the next token is another."""
        if not self.takes(kind):
            raise self._unexpected(f"'{kind}' {where}")

    def keyword(self, text: str) -> None:
        """Take a word that must be this text."""
        if not self.is_word(text):
            raise self._unexpected(f"'{text}'")
        self._at += 1

    def end(self) -> None:
        """Raise Wrong unless all tokens were taken."""
        if self._at < len(self._tokens):
            raise self._unexpected("the end of the line")

    def _unexpected(self, wanted: str) -> Wrong:
        return Wrong(f"expected {wanted}, not {self.token if self.kind != self._end.kind else self.kind}", self.span)

    # Words

    def word(self, wanted: str) -> Word:
        """Take a word; `wanted` describes it in a message."""
        token = self.token
        if token.kind != "word":
            raise self._unexpected(wanted)
        self._at += 1
        return Word(token.text, token.span, token.quoted, token.tail)

    def names(self) -> list[Word]:
        """Take the tensor names of an output: `as x`, or `as (x, y)`."""
        self.keyword("as")
        if self.kind == "(":
            return [self.word("a name") for _ in self.listed("(", ")")]
        return [self.word("a name")]

    def listed(self, begin: str, end: str) -> Iterator[None]:
        """Yield before each item of a list in brackets; the caller takes the item. A comma may follow the last."""
        self.expect(begin, "before a list")
        if self.takes(end):
            return
        while True:
            yield
            if self.takes(end):
                return
            if not self.takes(","):
                raise self._unexpected(f"',' or '{end}'")
            if self.takes(end):
                return

    def values(self) -> list[Word | None]:
        """Take the inputs of a layer: names of values, and `_` where no value is connected."""
        found: list[Word | None] = []
        for _ in self.listed("(", ")"):
            is_connected = not self.is_word(NOTHING)
            use = self.word("a value")
            found.append(use if is_connected else None)
        return found

    def _peek(self) -> str:
        return self._tokens[self._at + 1].kind if self._at + 1 < len(self._tokens) else ""

    def type_and_version(self) -> tuple[Word, Word | None]:
        """Take the type of a layer, and its version: `Add-1`, `Add`, `"My Type"-"my opset"`."""
        token = self.word("the type of a layer")
        if token.quoted or token.tail:
            type, version = token.text, token.tail
            if token.quoted and version:
                if not version.startswith("-"):
                    raise Wrong(f"expected '-' and a version after the type {quoted(type)}", token.span)
                version = version[1:]
            elif not token.quoted:
                type = type.removesuffix("-")
            return Word(type, token.span), Word(version, token.span) if token.tail else None
        type, dash, version = token.text.rpartition("-")
        if not dash:
            return token, None
        begin = token.span.start
        behind = Span(begin + len(type) + 1, max(len(version), 1))
        return Word(type, Span(begin, len(type))), Word(f"opset{version}" if version.isdecimal() else version, behind)

    # Types and values

    def type(self) -> TypeText:
        """Take a type: `f32[1,?,3]`, `f32[]`, `f32[...]`."""
        kind = self.word("a type such as f32[1,3]")
        if self.kind != "[":
            raise Wrong(
                f"expected a shape in brackets after {quoted(kind.text)}", kind.span, "write f32[] for a scalar"
            )
        return TypeText(kind, self._list())

    def _list(self) -> Word:
        """Take a list in brackets and return its text without them."""
        start = self.span.start
        found = [self.word("an item") for _ in self.listed("[", "]")]
        return Word(",".join(item.text + item.tail for item in found), Span(start, self.stop - start), True)

    def begins_attribute(self) -> bool:
        """Return whether the next tokens are a word and `=`."""
        return self.kind == "word" and self._peek() == "="

    def attributes(self, *, pairs: bool = False) -> list[tuple[Word, Word]]:
        """Take attributes: `name=value`, `name=[item,item]`. `pairs`: also `name=begin:end`."""
        found = []
        while self.begins_attribute():
            name = self.word("an attribute")
            self.expect("=", "after an attribute")
            value = self._value()
            if pairs and self.takes(":"):
                found += [(_ending(name, "_begin"), value), (_ending(name, "_end"), self._value())]
            else:
                found.append((name, value))
        return found

    def _value(self) -> Word:
        return self._list() if self.kind == "[" else self.word("a value")

    def nested(self) -> tuple[list[Word], tuple[int, ...] | None]:
        """Take values in nested brackets; return them and the shape of the brackets, None if rows differ in length."""
        words: list[Word] = []
        counts: list[int] = []
        shape: dict[int, int] = {}
        leaves = set[int]()
        is_even = True
        while True:
            if self.takes("["):
                if len(counts) >= _DEEPEST:
                    raise Wrong(f"brackets are nested deeper than {_DEEPEST} levels", self.span)
                counts.append(0)
                if self.kind != "]":
                    continue
            else:
                words.append(self.word("a value"))
                leaves.add(len(counts))
                counts[-1] += 1
            while self.takes("]"):
                count = counts.pop()
                is_even = shape.setdefault(len(counts), count) == count and is_even
                if not counts:
                    is_even = is_even and leaves <= {len(shape)}
                    return words, tuple(shape[level] for level in sorted(shape)) if is_even else None
                counts[-1] += 1
            self.expect(",", "between values")

    # Other parts of a file

    def rest(self, tag: str) -> Rest:
        """Take attributes and elements in braces."""
        found = Rest(Word(tag, self.span))
        self._content(found, 0)
        return found

    def begins_element(self) -> bool:
        """Return whether the next tokens are a word and its attributes or braces, and not the beginning of a layer."""
        kinds = [token.kind for token in self._tokens[self._at : self._at + 3]]
        return kinds == ["word"] or kinds[:2] == ["word", "{"] or kinds == ["word", "word", "="]

    def element(self, depth: int) -> Rest:
        """Take an element: a tag, attributes, and elements in braces."""
        found = Rest(self.word("an element"))
        found.attributes = self.attributes()
        if self.kind == "{":
            self._content(found, depth + 1)
        return found

    def _content(self, around: Rest, depth: int) -> None:
        if depth > _DEEPEST:
            raise Wrong(f"elements are nested deeper than {_DEEPEST} levels", self.span)
        self.expect("{", "before elements")
        around.attributes += self.attributes()
        while not self.takes("}"):
            around.children.append(self.element(depth))


def _ending(name: Word, end: str) -> Word:
    return name._replace(text=name.text + end)
