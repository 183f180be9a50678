"""The parts of a text: a net, its lines, and what a line says about a layer, each with its range of the text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from irexec.ir.xml.events import Span


class Word(NamedTuple):
    """A text and its range. `quoted`: it was written in quotes; `tail`: what follows the quotes, such as `.1`."""

    text: str
    span: Span
    quoted: bool = False
    tail: str = ""


class TypeText(NamedTuple):
    """A type as written: the element type and the text of the shape, `...` for a dynamic rank."""

    element_type: Word
    shape: Word


@dataclass(slots=True)
class Rest:
    """An element of the file as it is: a tag, attributes, elements."""

    tag: Word
    attributes: list[tuple[Word, Word]] = field(default_factory=list)
    children: list[Rest] = field(default_factory=list)


@dataclass(slots=True)
class Port:
    """An input or output of a net, or an output of a layer: `type` and `names` are None if they are not written.

    `value`: the value that a net returns. `name`: the name of the Parameter or Result.
    """

    span: Span
    name: Word | None = None
    value: Word | None = None
    type: TypeText | None = None
    names: list[Word] | None = None
    rest: Rest | None = None


class Literal(NamedTuple):
    """The contents of a constant in the text. `kind`: `values`, whose nested brackets have the shape `extents` (None if
    rows differ in length), `seed` of random values, `hex` digits of the bytes, or `@`, the offset in the weights.
    """

    kind: str
    span: Span
    words: list[Word]
    extents: tuple[int, ...] | None = ()


@dataclass(slots=True)
class Map:
    """A line that connects a body: `kind` is in, out or back; `body` is its layer, `outer` the position outside."""

    kind: Word
    body: Word
    outer: Word | None
    attributes: list[tuple[Word, Word]]


@dataclass(slots=True)
class Layer:
    """A layer. `outputs` is None if the line does not list them; an input is None where none is connected."""

    span: Span
    name: Word
    type: Word
    version: Word | None
    inputs: list[Word | None] = field(default_factory=list)
    attributes: list[tuple[Word, Word]] = field(default_factory=list)
    outputs: list[Port] | None = None
    rest: Rest | None = None
    constant: TypeText | None = None
    literal: Literal | None = None
    bodies: list[tuple[Word, Net]] = field(default_factory=list)
    maps: dict[str, list[Map]] = field(default_factory=dict)


@dataclass(slots=True)
class Net:
    """A model or a body: its head, its layers, and the elements that follow them."""

    span: Span
    name: Word | None = None
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    rest: Rest | None = None
    layers: list[Layer] = field(default_factory=list)
    others: list[Rest] = field(default_factory=list)
