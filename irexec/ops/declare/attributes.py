"""Attributes: from the text of a `<data>` attribute to a Python value, or to a fault.

An operator declares plain Python types; the text form of each lives here, once.
Source: OpenVINO IR, attribute syntaxes.
"""

from __future__ import annotations

import math
import operator
import types as python_types
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from irexec.ir import text
from irexec.ir.element_names import ELEMENT_TYPES, element_types_meant
from irexec.records import MISSING, NamedTuple
from irexec.types import ElementType, PartialShape, ShapeFault, UnreadableShape


class Alias(NamedTuple):
    """The attribute's name in a file, where it is no Python name: `Annotated[bool, Alias("exclude-pad")]`."""

    name: str


class ReaderDefault(NamedTuple):
    """OpenVINO's default for a missing attribute, where it differs from the page's."""

    value: Any


class OneLength(NamedTuple):
    """Marks the lists of an operator that OpenVINO wants in one length, where the page lets each have its own."""


class Within(NamedTuple):
    """The range of a number: `Annotated[float, Within(gt=0)]`. Says what pydantic's Field says, without its import."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        limits = {"ge": self.ge, "gt": self.gt, "le": self.le}
        return handler(source) | {name: limit for name, limit in limits.items() if limit is not None}


NonNegative = Annotated[int, Within(ge=0)]
Positive = Annotated[int, Within(ge=1)]
# 0 is OpenVINO's "not given" for list attributes; pages give each list its own length rule.
PositiveInts = tuple[Annotated[int, Within(ge=1)], ...]
NonNegativeInts = tuple[Annotated[int, Within(ge=0)], ...]


class TakenAs(NamedTuple):
    """The value that all readers use for a number outside its range: `Annotated[int, Within(ge=0), TakenAs(0)]`."""

    value: Any


class AttributeFault(NamedTuple):
    """Something wrong with one attribute. `attribute` is its name in the file.

    `defined`: the operator's result is well defined despite the fault, with the value that is among the attributes.
    """

    code: str
    attribute: str
    message: str
    hint: str | None = None
    allowed: str | None = None
    defined: bool = True
    candidates: tuple[str, ...] = ()


class Unreadable(ValueError):
    """The text is not a value of the attribute's type.

    `lenient` is the value that OpenVINO reads, if it reads one; `candidates` are texts that may be meant, of those that
    `allowed` lists.
    """

    def __init__(
        self,
        code: str,
        message: str,
        lenient: Any = None,
        candidates: tuple[str, ...] = (),
        allowed: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.lenient, self.candidates, self.allowed = code, lenient, candidates, allowed


def _unreadable(reading: text.Reading[Any], message: str) -> Unreadable:
    """Of a text that is not written as it should be: with what OpenVINO makes of it."""
    return Unreadable("D010" if reading.openvino is None else "D003", message, reading.openvino)


def read_int(value: str) -> int:
    """A decimal 64-bit integer."""
    reading = text.int64(value)
    if reading.strict is None:
        raise _unreadable(reading, f"{value!r} is not a 64-bit integer")
    return reading.strict


def read_float(value: str) -> float:
    """A decimal number, `inf`, `-inf` or `nan`."""
    reading = text.float64(value)
    if reading.strict is None:
        raise _unreadable(reading, f"{value!r} is not a number")
    return reading.strict


def read_bool(value: str) -> bool:
    """`true`, `false`, `1` or `0`, in any letter case."""
    result = text.boolean(value).strict
    if result is None:
        raise Unreadable("D004", f"{value!r} is not a boolean: write true or false")
    return result


def read_list(item: Callable[[str], Any], value: str) -> tuple[Any, ...]:
    """Comma-separated items with free blanks; an empty text is an empty list."""
    if not value.strip():
        return ()
    parts = [part.strip() for part in value.split(",")]
    trailing = parts.index("") == len(parts) - 1 if "" in parts else False
    if "" in parts and not trailing:
        raise Unreadable("D006", f"the list {value!r} has an empty item")
    items, wrong = [], None
    for part in parts[:-1] if trailing else parts:
        try:
            items.append(item(part))
        except Unreadable as error:
            if error.lenient is None:
                raise
            items.append(error.lenient)
            wrong = wrong or error
    if wrong is not None:
        raise Unreadable(wrong.code, str(wrong), tuple(items))
    if trailing:
        raise Unreadable("D006", f"the list {value!r} has a trailing comma", tuple(items))
    return tuple(items)


def read_element_type(value: str) -> ElementType:
    """An element type by its attribute name (`f32`, `i64`)."""
    found = ElementType.from_attribute(value)
    if found is None:
        meant, allowed = element_types_meant(value), ", ".join(ELEMENT_TYPES)
        raise Unreadable("D010", f"{value!r} is not an element type", candidates=meant, allowed=allowed)
    return found


def read_shape(value: str) -> PartialShape:
    """A partial shape: `1,3,?,1..10`, `...`, or nothing for a scalar."""
    try:
        return PartialShape.parse(value)
    except UnreadableShape as error:
        raise Unreadable(_SHAPE_CODES[error.fault], str(error)) from None


_SHAPE_CODES = {
    ShapeFault.REVERSED: "S001",
    ShapeFault.NEGATIVE: "S002",
    ShapeFault.TOO_LARGE: "S003",
    ShapeFault.FORM: "S006",
}


_READERS: dict[Any, Callable[[str], Any]] = {
    int: read_int,
    float: read_float,
    bool: read_bool,
    str: str,
    ElementType: read_element_type,
    PartialShape: read_shape,
}


def base_type(annotation: Any) -> Any:
    """The annotation without Annotated and without `| None`."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, python_types.UnionType):
        members = [a for a in get_args(annotation) if a is not type(None)]
        if len(members) == 1:
            return base_type(members[0])
    return annotation


def reader_of(annotation: Any) -> Callable[[str], Any]:
    """The text form of a declared type. Raises TypeError for a type that has none."""
    base = base_type(annotation)
    if get_origin(base) is tuple:
        return partial(read_list, reader_of(get_args(base)[0]))
    if get_origin(base) is Literal:
        return partial(_read_member, get_args(base))
    if base in _READERS:
        return _READERS[base]
    raise TypeError(
        f"{annotation!r} has no text form: use int, float, bool, str, ElementType, PartialShape, Literal or tuple"
    )


def _read_member(members: tuple[str, ...], value: str) -> str:
    if value in members:
        return value
    folded = {m.lower(): m for m in members}
    if (meant := folded.get(value.lower())) is not None:
        raise Unreadable("D008", f"{value!r} is spelt {meant!r}", meant)
    allowed = ", ".join(repr(m) for m in members)
    raise Unreadable("D005", f"{value!r} is not one of {allowed}")


# A limit comes first: `ge(1)` holds of 2 because 1 <= 2.
_LIMITS = {"ge": operator.le, "gt": operator.lt, "le": operator.ge}


def _bounds(annotation: Any) -> tuple[Callable[[Any], bool], ...] | None:
    """The bounds that Within, or pydantic's Field, sets in an annotation; None where there is another of its marks."""
    found: tuple[Callable[[Any], bool], ...] = ()
    inner = get_args(annotation) if get_origin(annotation) is not Literal else ()
    if get_origin(annotation) is Annotated:
        inner, marks = inner[:1], inner[1:]
        for mark in [item for m in marks for item in getattr(m, "metadata", [m])]:
            limits: list[tuple[Any, Any]] = [(holds, getattr(mark, name, None)) for name, holds in _LIMITS.items()]
            limits = [(holds, limit) for holds, limit in limits if limit is not None]
            if not limits and not isinstance(mark, (Alias, ReaderDefault, TakenAs)):
                return None
            found += tuple(partial(holds, limit) for holds, limit in limits)
    for part in inner:
        if part is not Ellipsis and part is not type(None):
            if (bounds := _bounds(part)) is None:
                return None
            found += bounds
    return found


class Attribute(NamedTuple):
    """One declared attribute: its Python name, its name in a file, its annotation and default.

    `read` makes a value of a text; `bounds` are what each number of it must satisfy, None where the annotation asks for
    something else.
    """

    name: str
    file_name: str
    annotation: Any
    read: Callable[[str], Any]
    bounds: tuple[Callable[[Any], bool], ...] | None
    default: Any = MISSING
    reader_default: Any = MISSING

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def differs(self) -> bool:
        """True when OpenVINO's reader takes another default than the page's."""
        return self.reader_default is not MISSING

    @property
    def of_one_length(self) -> bool:
        """True for a list that OpenVINO refuses where another of these is written with another length."""
        return any(isinstance(mark, OneLength) for mark in getattr(self.annotation, "__metadata__", ()))

    @property
    def members(self) -> tuple[str, ...]:
        """The allowed texts of an enumeration; empty for other types."""
        base = base_type(self.annotation)
        return get_args(base) if get_origin(base) is Literal else ()

    def allows(self, value: Any) -> bool:
        """True for a value of the attribute's type that is within its bounds, as far as they are plain numbers."""
        items = value if isinstance(value, tuple) else (value,)
        return all(holds(item) for holds in self.bounds or () for item in items)

    @property
    def taken_as(self) -> Any:
        """What a number outside of the declared range means; None where it means nothing."""
        marks = getattr(self.annotation, "__metadata__", ())
        return next((mark.value for mark in marks if isinstance(mark, TakenAs)), None)

    @staticmethod
    def declare(name: str, annotation: Any, default: Any) -> Attribute:
        """From a keyword-only parameter. Raises TypeError for a type that has no text form."""
        read, bounds = reader_of(annotation), _bounds(annotation)
        marks = getattr(annotation, "__metadata__", ())
        file_name = next((m.name for m in marks if isinstance(m, Alias)), name)
        reader_default = next((m.value for m in marks if isinstance(m, ReaderDefault)), MISSING)
        return Attribute(name, file_name, annotation, read, bounds, default, reader_default)


class Declared(NamedTuple):
    """The attributes of an operator by their names in a file, and their defaults by Python name, in order."""

    by_file_name: dict[str, Attribute]
    defaults: dict[str, Any]

    @staticmethod
    def of(attributes: Iterable[Attribute]) -> Declared:
        attributes = tuple(attributes)
        return Declared({a.file_name: a for a in attributes}, {a.name: a.default for a in attributes})


def read_plainly(declared: Declared, given: dict[str, Any]) -> dict[str, Any] | None:
    """The values by Python name, where every text or value is what its attribute takes; None where one is not.

    Nearly all layers are read here, and the pydantic model, which takes long to build, only where it has a finding.
    """
    values = declared.defaults.copy()
    for name, written in given.items():
        attribute = declared.by_file_name.get(name)
        if attribute is None or attribute.bounds is None:
            return None
        try:
            value = attribute.read(written) if isinstance(written, str) else _as_it_is(attribute, written)
            values[attribute.name] = value
        except Unreadable:
            return None
        if not attribute.allows(value):
            return None
    return None if any(value is MISSING for value in values.values()) else values


def _as_it_is(attribute: Attribute, value: Any) -> Any:
    """A value that is of the attribute's own type. Raises Unreadable for any other."""
    if value is None and attribute.default is None:
        return None
    base = base_type(attribute.annotation)
    if get_origin(base) is tuple and type(value) in (tuple, list):
        member = base_type(get_args(base)[0])
        return tuple(_one(member, item) for item in value)
    return _one(base, value)


def _one(kind: Any, value: Any) -> Any:
    if kind is float and type(value) in (int, float):
        return float(value)
    if kind is int and type(value) is int and -(1 << 63) <= value < 1 << 63:
        return value
    if (
        (kind in (bool, str) and type(value) is kind)
        or (kind in (ElementType, PartialShape) and isinstance(value, kind))
        or (get_origin(kind) is Literal and value in get_args(kind))
    ):
        return value
    raise Unreadable("D003", "of another type")


def attribute_text(value: Any) -> str:
    """The text that a file holds for a value: OpenVINO's own form, floats exact."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, ElementType):
        return value.name
    if isinstance(value, PartialShape):
        return value.to_string()
    if isinstance(value, float):
        return (
            repr(int(value))
            if value.is_integer() and abs(value) < 1e15 and not math.copysign(1, value) < 0
            else repr(value)
        )
    if isinstance(value, (tuple, list)):
        return ", ".join(attribute_text(v) for v in value)
    return str(value)
