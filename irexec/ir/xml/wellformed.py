"""Checking whether a text is well-formed, and locating the errors in a text that is not.

Nearly every text is accepted by Python's own expat; importing lxml takes longer than reading most files. A text that
expat rejects is checked by libxml2, which explains the errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from irexec.ir.xml.events import Span, events

if TYPE_CHECKING:
    from lxml.etree import XMLParser, _LogEntry

    from irexec.ir.xml.positions import Positions


class Fault(NamedTuple):
    """An error in a text, found before there is a document: the code of the finding, and related positions. `span` is
    None if there is no text. `defined`: the text is unambiguous despite the error.
    """

    code: str
    message: str
    span: Span | None
    related: tuple[tuple[str, Span], ...] = ()
    hint: str | None = None
    defined: bool = True


def unbalanced(text: str) -> Fault | None:
    """Return the first fault in the nesting of elements; None if every element is closed."""
    stack: list[tuple[str, Span]] = []
    for kind, start, stop, name in events(text):
        span = Span(start, stop - start)
        if kind == "start":
            stack.append((name, span))
        elif kind != "end":
            continue
        elif stack and stack[-1][0] == name:
            stack.pop()
        elif any(name == other for other, _ in stack):
            inner, opened = stack[-1]
            message = f"<{inner}> is not closed before </{name}>"
            return Fault("X001", message, span, ((f"<{inner}> is opened here", opened),))
        else:
            message = f"</{name}> does not match an open element"
            return Fault("X001", message, span, ((f"<{stack[-1][0]}> is open here", stack[-1][1]),) if stack else ())
    if not stack:
        return None
    name, opened = stack[-1]
    end = len(text.rstrip())
    message = f"<{name}> is not closed before the end of the text"
    return Fault("X001", message, Span(max(end - 1, 0), 1), ((f"<{name}> is opened here", opened),))


_CODE_OF_ERROR = {
    "ERR_ATTRIBUTE_REDEFINED": "X003", "ERR_DOCUMENT_END": "X004", "ERR_UNDECLARED_ENTITY": "X002",
    "ERR_INVALID_CHAR": "X007", "ERR_RESOURCE_LIMIT": "X005", "NS_ERR_UNDEFINED_NAMESPACE": "X010",
    "ERR_RESERVED_XML_NAME": "X011",
}  # fmt: skip
# The length from which libxml2 may reject a text or attribute.
_LONG = 10_000_000
# Constructs on which the two parsers may differ: invalid versions of XML, attributes of XML's own, namespaces,
# instructions.
_DECLARED = re.compile(r"""\s*<\?xml\s+version=(["'])1\.[0-9]\1|\s*<(?!\?)""", re.ASCII)
# Plain descriptions that replace libxml2's messages, by the first words of the message.
_PLAINLY = {
    "AttValue: ' expected": "the text ends inside an attribute value",
    "AttValue: \" or ' expected": "an attribute value is not quoted",
    "attributes construct error": "white space is missing between attributes",
    "Couldn't find end of Start Tag": "a start tag does not end with '>'",
    "Specification mandates value for attribute": "an attribute has no value",
    "error parsing attribute name": "the text between attributes is not a valid attribute name",
    "StartTag: invalid element name": "'<' does not start an element; write &lt; for the character itself",
    "xmlParseEntityRef: no name": "'&' does not start an entity; write &amp; for the character itself",
    "EntityRef: expecting ';'": "an entity does not end with ';'; write &amp; for the character '&' itself",
    "Comment not terminated": "a comment does not end with '-->'",
    "ParsePI:": "a processing instruction does not end with '?>'",
    "Excessive depth in document": "more than 256 elements are nested",
}
_UNBALANCED = {"ERR_TAG_NAME_MISMATCH", "ERR_TAG_NOT_FINISHED"}


def is_plain(text: str) -> bool:
    """Return whether expat accepts a text as well-formed without namespaces, and libxml2 cannot reject it."""
    if len(text) > _LONG or not _DECLARED.match(text) or "xml:" in text:
        return False
    unusual: list[str] = []
    parser = expat.ParserCreate("utf-8", " ")  # with a separator for namespaces: undeclared ones are errors
    parser.StartNamespaceDeclHandler = parser.ProcessingInstructionHandler = lambda name, _: unusual.append(name)
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError:
        return False
    return not unusual


def faults(text: str) -> Iterator[Fault]:
    """Yield the faults that make a text not well-formed, one for each position. No tree is built."""
    from lxml import etree

    from irexec.ir.xml.positions import Positions

    parts, done = [], 0
    for comment, hyphens in _hyphens(text):
        yield Fault("X012", "'--' is not allowed inside a comment", hyphens)
        parts += [text[done : comment.start], text[comment.start : comment.stop].replace("-", " ")]
        done = comment.stop
    text = "".join([*parts, text[done:]])
    parser, summary = _parser(), "not well-formed"
    try:
        etree.fromstring(text.encode(), parser)
        failed = False
    except etree.XMLSyntaxError as error:
        failed, summary = True, str(error)
    log = [entry for entry in parser.error_log if entry.level > etree.ErrorLevels.WARNING]
    if failed or log:
        yield from _explained(Positions(text), log, summary)


def _hyphens(text: str) -> Iterator[tuple[Span, Span]]:
    """Yield the contents of comments that XML does not allow, with their first two hyphens. They end nevertheless."""
    for kind, start, _, content in events(text):
        if kind == "comment" and (at := f"{content}-".find("--")) >= 0:
            yield Span(start + 4, len(content)), Span(start + 4 + at, 2)


def _explained(positions: Positions, log: list[_LogEntry], summary: str) -> Iterator[Fault]:
    """Yield the entries of the parser's log as faults; all follow-up errors of one open element are one fault."""
    found = unbalanced(positions.text) if log and log[0].type_name in _UNBALANCED else None
    if found is not None:
        yield found
        return
    places = set()
    torn = _torn(positions.text)
    for entry in log:
        code, span = _CODE_OF_ERROR.get(entry.type_name, "X001"), Span(positions.offset(entry.line, entry.column), 1)
        if torn is not None and code == "X001" and span.start >= torn.related[0][1].start:
            if torn.span not in places:
                places.add(torn.span)
                yield torn
        elif code != "X003" and span not in places:
            places.add(span)
            yield Fault(code, _sentence(entry.message), span)
    repeated: list[Fault] = []
    if any(_CODE_OF_ERROR.get(entry.type_name) == "X003" for entry in log):
        repeated += _repeated_attributes(positions)
    yield from repeated
    if not places and not repeated:
        yield Fault("X001", _sentence(summary), Span(0, 1))


def _torn(text: str) -> Fault | None:
    """Return the fault of a text that ends inside a tag; None for any other text."""
    begin, end = text.rfind("<"), len(text.rstrip())
    if begin <= text.rfind(">") or text.startswith(("<!", "<?"), begin):
        return None
    related = (("the tag begins here", Span(begin, 1)),)
    return Fault("X001", "the text ends inside a tag", Span(max(end - 1, 0), 1), related)


def _repeated_attributes(positions: Positions) -> Iterator[Fault]:
    element = 0
    while positions.tag(element) is not None:
        seen: dict[str, Span] = {}
        for name, value, _ in positions.attributes(element):
            if name in seen:
                yield Fault("X003", f"attribute {name!r} is repeated", value, (("first occurrence", seen[name]),))
            seen.setdefault(name, value)
        element += 1


class _Nothing:
    """A parser target that ignores the contents of a text."""

    def close(self) -> None:
        """End the text."""


def _parser() -> XMLParser:
    from lxml import etree

    return etree.XMLParser(
        encoding="utf-8",
        target=_Nothing(),  # type: ignore[arg-type]  # The stubs ask for the methods of all events.
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        collect_ids=False,
    )


def _sentence(message: str | None) -> str:
    line = (message or "not well-formed").strip().splitlines()[0]
    return next((plainly for theirs, plainly in _PLAINLY.items() if line.startswith(theirs)), line)
