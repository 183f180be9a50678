"""Whether a text is well-formed, and what is wrong with one that is not.

Nearly every text is, and Python's own expat says so; lxml takes longer to import than most files to read. What expat
does not accept libxml2 judges and explains.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from xml.parsers import expat

from irexec.ir.xml.positions import Positions, Span
from irexec.records import NamedTuple

if TYPE_CHECKING:
    from lxml.etree import XMLParser, _LogEntry

_CODE_OF_ERROR = {
    "ERR_ATTRIBUTE_REDEFINED": "X003",
    "ERR_DOCUMENT_END": "X004",
    "ERR_UNDECLARED_ENTITY": "X002",
    "ERR_INVALID_CHAR": "X007",
    "ERR_RESOURCE_LIMIT": "X005",
    "NS_ERR_UNDEFINED_NAMESPACE": "X010",
    "ERR_RESERVED_XML_NAME": "X011",
}
# libxml2 limits the length of what it reads as one piece.
_LONG = 10_000_000
# Where the two may differ: what is no version of XML, attributes of XML's own, namespaces, instructions.
_DECLARED = re.compile(r"""\s*<\?xml\s+version=(["'])1\.[0-9]\1|\s*<(?!\?)""", re.ASCII)
_UNBALANCED = {"ERR_TAG_NAME_MISMATCH", "ERR_TAG_NOT_FINISHED"}


class Fault(NamedTuple):
    """What is wrong at a place: the code of the finding, and a second place that belongs to it."""

    code: str
    message: str
    span: Span
    related: tuple[tuple[str, Span], ...] = ()


def is_plain(text: str) -> bool:
    """Whether expat finds a text well-formed, without namespaces, and libxml2 has no reason not to."""
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


def faults(positions: Positions) -> Iterator[Fault]:
    """What keeps a text that is not plain from being well-formed, one fault for each place. No tree is made."""
    from lxml import etree

    parser, summary = _parser(), "not well-formed"
    try:
        etree.fromstring(positions.text.encode(), parser)
        failed = False
    except etree.XMLSyntaxError as error:
        failed, summary = True, str(error)
    log = [entry for entry in parser.error_log if entry.level > etree.ErrorLevels.WARNING]
    if failed or log:
        yield from _explained(positions, log, summary)


def _explained(positions: Positions, log: list[_LogEntry], summary: str) -> Iterator[Fault]:
    """The parser's log as faults; all that follows from one open element is one."""
    from irexec.ir.xml.balance import unbalanced

    found = unbalanced(positions) if log and log[0].type_name in _UNBALANCED else None
    if found is not None:
        yield Fault("X001", found.message, found.span, () if found.opened is None else (found.opened,))
        return
    places = set()
    for entry in log:
        code, span = _CODE_OF_ERROR.get(entry.type_name, "X001"), Span(positions.offset(entry.line, entry.column), 1)
        if code != "X003" and span not in places:
            places.add(span)
            yield Fault(code, _sentence(entry.message), span)
    repeated: list[Fault] = []
    if any(_CODE_OF_ERROR.get(entry.type_name) == "X003" for entry in log):
        repeated += _repeated_attributes(positions)
    yield from repeated
    if not places and not repeated:
        yield Fault("X001", _sentence(summary), Span(0, 1))


def _repeated_attributes(positions: Positions) -> Iterator[Fault]:
    element = 0
    while positions.tag(element) is not None:
        seen: dict[str, Span] = {}
        for name, value, _ in positions.attributes(element):
            if name in seen:
                yield Fault("X003", f"attribute {name!r} is written twice", value, (("first here", seen[name]),))
            seen.setdefault(name, value)
        element += 1


class _Nothing:
    """What the parser makes of a text: nothing."""

    def close(self) -> None:
        """The text has ended."""


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
    return (message or "not well-formed").strip().splitlines()[0]
