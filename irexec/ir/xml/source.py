"""The source text: decoded, limited in size, checked to be well-formed, without entities or access to other files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from irexec.core.diagnostics.diagnostic import Place
from irexec.core.diagnostics.findings import At, Findings
from irexec.ir.io.files import open_regular, unreadable
from irexec.ir.xml.elements import Elements
from irexec.ir.xml.encoding import EncodingProblem, decode, encoding_of
from irexec.ir.xml.events import NOT_XML, Span
from irexec.ir.xml.wellformed import Fault, faults, is_plain

if TYPE_CHECKING:
    from irexec.ir.xml.edits import Editable
    from irexec.ir.xml.positions import Positions

Remap = Callable[[Span], Span]

_PROLOG = re.compile(r"\s*+(?:<\?.*?\?>\s*+|<!--.*?-->\s*+)*+", re.DOTALL)
_ALLOWED_IN_ASCII = b"\t\n\r" + bytes(range(0x20, 0x80))
_MAX_PROBLEMS = 50
# The lengths of the shortest element, `<a/>`, and attribute, ` a=""`: short texts cannot exceed the limits.
_LEAST_ELEMENT, _LEAST_ATTRIBUTE = 4, 5


class Limits(NamedTuple):
    """Limits of a file: bytes, elements, attributes, characters between two tags. libxml2 limits the length of
    attributes, and the readers of the elements limit their depth."""

    size: int = 1 << 30
    elements: int = 5_000_000
    attributes: int = 50_000_000
    text: int = 10_000_000


def bytes_of(path: str | os.PathLike[str], limits: Limits | None = None) -> bytes:
    """Return the bytes of a file; of a file above the size limit, one byte more than the limit. Raises OSError."""
    with open_regular(path, "the model") as stream:
        # Python allocates the requested number of bytes before it reads.
        return stream.read(min(os.fstat(stream.fileno()).st_size, (limits or Limits()).size) + 1)


class Source:
    """The text of a file.

    If it is not `readable`, `problems` contains the reasons. `positions` locates elements and attributes in the text.
    `encoding` relates the bytes of the file to the text (see `encoding_of`); None if they are unrelated. `remap` and
    `display_text` are for a text that was repaired before: positions are then reported in the original text.
    """

    is_xml = True
    """Whether the file itself is XML; False for the text form of a model."""
    constants = b""
    """The bytes of the constants that the text itself contains, as the text form of a model does."""

    def __init__(
        self,
        text: str,
        *,
        file: str | None = None,
        remap: Remap | None = None,
        display_text: str | None = None,
        limits: Limits | None = None,
        encoding: tuple[int, str] | None = (0, "utf-8"),
    ) -> None:
        self.text = text
        self.encoding = encoding
        self.file = file
        self._limits: Limits | None = limits or Limits()
        self._faults: list[Fault] = []
        self._readable = self._is_plain = False
        self._remap = remap
        self._display_text = text if display_text is None else display_text

    @property
    def readable(self) -> bool:
        """Whether the elements can be read; False if the text is refused."""
        self._read()
        return self._readable

    def elements(self) -> Elements:
        """Return the elements of a readable text, its root entered."""
        elements = Elements(self.text, plain=self._is_plain or not (self.problems or "xmlns" in self.text))
        elements.enter()
        return elements

    @property
    def problems(self) -> list[Fault]:
        """The errors in the text itself: encoding, size, well-formedness."""
        self._read()
        return self._faults

    def _read(self) -> None:
        if self._limits is not None:
            limits, self._limits = self._limits, None
            if self._screen(limits):
                self._parse()

    @classmethod
    def from_path(cls, path: str | os.PathLike[str], *, limits: Limits | None = None) -> Source:
        """Read a file. A file that cannot be opened is not readable, with the reason as its problem."""
        limits, name = limits or Limits(), os.fspath(path)
        try:
            data = bytes_of(path, limits)
        except OSError as error:
            message, hint = unreadable(path, error)
            return cls._refused(Fault("U001", message, None, hint=hint), name)
        return cls.from_bytes(data, file=name, limits=limits)

    @classmethod
    def from_bytes(cls, data: bytes, file: str | None = None, *, limits: Limits | None = None) -> Source:
        """Decode the bytes of a file."""
        limits = limits or Limits()
        known = data.startswith(_BEGINNINGS) and b"<compiled_blob" not in data[:_HEADER]
        if (foreign := None if known else _foreign_kind(data)) is not None:
            kind, hint = foreign
            return cls._refused(Fault("X008", f"the file is {kind}, not an IR", Span(0, 1), hint=hint), file)
        if len(data) > limits.size:
            return cls._refused(Fault("X005", f"the file is larger than {limits.size:,} bytes", Span(0, 1)), file)
        try:
            text = decode(data)
        except EncodingProblem as problem:
            span = Span(len(problem.before), 1)
            if problem.text is None or "<net" not in problem.text:
                found = Fault("X006", str(problem), span, hint=problem.hint, defined=False)
                return cls._refused(found, file, problem.before)
            source = cls(problem.text, file=file, limits=limits, encoding=None)
            source.problems.insert(0, Fault("X006", str(problem), span, hint=problem.hint))
            return source
        return cls(text, file=file, limits=limits, encoding=encoding_of(data))

    @classmethod
    def _refused(cls, problem: Fault, file: str | None, text: str = "") -> Source:
        source = cls.__new__(cls)
        source.text = source._display_text = text
        source.file, source._remap, source._limits = file, None, None
        source._readable, source._is_plain, source._faults = False, False, [problem]
        source.encoding = None
        return source

    # Positions

    @cached_property
    def positions(self) -> Positions:
        """The positions in the text. The module is imported with the first finding: a valid file has no findings."""
        from irexec.ir.xml.positions import Positions

        return Positions(self.text)

    @cached_property
    def editable(self) -> Editable:
        """The text as it can be edited in its file."""
        from irexec.ir.xml.edits import Editable

        return Editable(self.positions, self.encoding or (0, "utf-8"))

    @cached_property
    def _display(self) -> Positions:
        return self.positions if self._display_text is self.text else type(self.positions)(self._display_text)

    def locate(self, at: At) -> Place:
        """Return the location of an element's start tag, of an attribute's value or name, or of the text inside
        ("#text").

        A missing attribute or text is located at the element's start tag.
        """
        span: Span | None = None
        if at.attribute == "#text":
            span = self.positions.inner_text(at.element)
        elif at.attribute is not None:
            written = self.positions.written(at.element, at.attribute)
            if written is not None:
                span = Span(written.whole.start, len(at.attribute)) if at.named else written.value
        return self.place(span or self.positions.tag(at.element) or Span(0, 1))

    def place(self, span: Span | None) -> Place:
        """Return the location of a span of the text, on its first line; without a span, the location is the file."""
        if span is None:
            return Place(file=self.file)
        return self.display_place(span if self._remap is None else self._remap(span))

    def display_place(self, span: Span) -> Place:
        """Return the location of a span of the original text, if this text was repaired; otherwise as `place`."""
        line, column = self._display.line_column(span.start)
        written = self._display_lines[line - 1] if 0 < line <= len(self._display_lines) else ""
        length = max(1, min(span.length, len(written) - column + 1))
        return Place(file=self.file, line=line, column=column, length=length, source_line=written)

    @cached_property
    def _display_lines(self) -> list[str]:
        return [line.removesuffix("\r") for line in self._display_text.split("\n")]

    # Findings

    def report(self, findings: Findings) -> None:
        """Add the errors in the text to `findings`."""
        for problem in self.problems:
            findings.add(
                problem.code,
                problem.message,
                place=self.place(problem.span),
                hint=problem.hint,
                related=tuple((text, self.place(span)) for text, span in problem.related),
                defined=problem.defined,
            )

    # Parsing

    def _fault(self, code: str, message: str, span: Span, hint: str | None = None) -> None:
        if len(self._faults) < _MAX_PROBLEMS:
            self._faults.append(Fault(code, message, span, hint=hint))

    def _screen(self, limits: Limits) -> bool:
        """Report texts that must not reach the parser, or whose errors it explains badly. Returns False for these."""
        if not self.text.isascii() or self.text.encode().translate(None, _ALLOWED_IN_ASCII):
            for match in islice(re.finditer(NOT_XML, self.text), _MAX_PROBLEMS):
                self._fault("X007", f"character U+{ord(match[0]):04X} is not allowed in XML", Span(match.start(), 1))
        if self._faults:
            return False
        start = _PROLOG.match(self.text).end()  # type: ignore[union-attr]
        head = self.text[start : start + 64].lower()
        if head.startswith("<!doctype"):
            self._fault("X002", "a document type declaration is not allowed", Span(start, 9))
        elif not head:
            self._fault("X008", "the file contains no element", Span(max(start - 1, 0), 1))
        elif not head.startswith("<"):
            self._fault("X008", "the file is not XML because it does not start with '<'", Span(start, 1))
        elif len(self.text) > _LEAST_ELEMENT * limits.elements and (
            self.text.count("<") - self.text.count("</") > limits.elements
        ):
            excess = next(match for n, match in enumerate(re.finditer("<(?!/)", self.text)) if n >= limits.elements)
            self._fault("X005", f"more than {limits.elements:,} elements", Span(excess.start(), 1))
        elif len(self.text) > _LEAST_ATTRIBUTE * limits.attributes and self.text.count("=") > limits.attributes:
            self._fault("X005", f"more than {limits.attributes:,} attributes", Span(start, 1))
        elif len(self.text) > limits.text and (long := re.search(f">[^<]{{{limits.text + 1}}}", self.text)):
            self._fault("X005", f"more than {limits.text:,} characters between two tags", Span(long.end() - 1, 1))
        return not self._faults

    def _parse(self) -> None:
        """Check whether the text is well-formed."""
        self._is_plain = is_plain(self.text)
        for fault in () if self._is_plain else faults(self.text):
            if fault.code == "X003" or len(self._faults) < _MAX_PROBLEMS:
                at_end = fault.span is not None and fault.span.start >= len(self.text.rstrip()) - 1
                hint = _CUT_OFF if at_end and fault.code == "X001" else None
                self._faults.append(fault._replace(hint=hint))
        # After these faults (a repeated attribute, content after the root, an undeclared prefix, a late declaration,
        # two hyphens in a comment) the elements that OpenVINO reads can still be read.
        self._readable = not self._faults or (
            {problem.code for problem in self._faults} <= _READABLE and Elements(self.text, plain=False).enter()
        )


_CUT_OFF = "the end of the file is missing: it may have been cut off when it was copied or downloaded"
# The first bytes of nearly all IR files, and of no other kind of file.
_BEGINNINGS = (b"<?xml", b"<net")
_HEADER = 256
"""The bytes in which the root element of a file begins, unless comments precede it."""
_READABLE = {"X003", "X004", "X010", "X011", "X012"}


def _foreign_kind(data: bytes) -> tuple[str, str | None] | None:
    from irexec.ir.xml.foreign import foreign_kind

    return foreign_kind(data[:4096])
