"""The parts of a tolerantly read text: attributes, elements, comments, and the repairs that were needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from irexec.ir.xml.events import Span


class Change(NamedTuple):
    """A replacement for a range of the original text."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Repair:
    """One repair and its location in the original text; `found` was replaced by `allowed`.

    `changes` are edits that make the repair in the text, described by `change_title`. They are empty if a page may keep
    the text as printed, or if the user has to choose.
    """

    code: str
    message: str
    span: Span
    hint: str | None = None
    found: str | None = None
    allowed: str | None = None
    change_title: str = ""
    changes: tuple[Change, ...] = ()


@dataclass(slots=True)
class Attribute:
    """An attribute after repair. `span`: its value in the original text, or the tag if the attribute was not written.

    `named`: its name in the original text, or None if the attribute was not written.
    """

    name: str
    value: str
    span: Span
    named: Span | None = None

    @property
    def written(self) -> bool:
        return self.named is not None


@dataclass(slots=True, eq=False)
class PrintedComment:
    """A comment: its text without `<!--` and `-->`, and its place including them."""

    text: str
    span: Span


@dataclass(slots=True, eq=False)
class Text:
    """Characters between tags."""

    text: str
    start: int


@dataclass(slots=True, eq=False)
class PrintedElement:
    """An element. `span` is its start tag; `end` the offset after its end tag; `at` its number in the written text.

    `elided`: an ellipsis stands for part of its content.
    """

    name: str
    span: Span
    attributes: dict[str, Attribute] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)
    end: int = -1
    at: int = -1
    elided: bool = False

    def get(self, name: str) -> Attribute | None:
        return self.attributes.get(name)

    def put(self, attribute: Attribute) -> None:
        """Add an attribute unless there is an attribute of that name."""
        self.attributes.setdefault(attribute.name, attribute)

    def elements(self, *names: str) -> list[PrintedElement]:
        """Return the child elements; if `names` are given, only elements with one of these names."""
        return [c for c in self.children if isinstance(c, PrintedElement) and (not names or c.name in names)]

    @property
    def text(self) -> str:
        return "".join(c.text for c in self.children if isinstance(c, Text))


Child: TypeAlias = "PrintedElement | PrintedComment | Text"
