"""Attributes: converts the text of a `<data>` attribute to a Python value or to a fault.

An operator declares plain Python types; this module defines the text form of each type. Source: OpenVINO IR, attribute
syntaxes.
"""

from __future__ import annotations

import math
import types as python_types
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from irexec.core.diagnostics.statements import NOT_COMPILED
from irexec.core.forms import BLANKS, BOOLEAN, F32, F32_ITEM, F64, I64, Form, read, read_list
from irexec.core.records import MISSING
from irexec.core.types import ElementType, PartialShape, ShapeFault, UnreadableShape
from irexec.ir.element_names import ELEMENT_TYPES, suggested_element_types


class AsRead(NamedTuple):
    """What files and OpenVINO's reader make of an attribute, as far as its type and default do not say:
    `Annotated[bool, AsRead("exclude-pad")]`, `Annotated[int, AsRead(default=0)]`.

    `name`: the name in a file, if it is no valid Python name. `default`: OpenVINO's default, if the page has another.
    `is_f64`: OpenVINO stores the number in f64; other numbers have the range of f32. `of_one_length`: OpenVINO requires
    all such lists of a layer to have equal lengths. `is_first`: OpenVINO reads a list of numbers and uses the first.
    `taken_as`: what all readers take a number outside its range for. `computes`: OpenVINO computes with such a number.
    `others`: OpenVINO's behaviour for a text that is not a member of the enumeration, if it does not reject the file.
    """

    name: str | None = None
    default: Any = MISSING
    is_f64: bool = False
    of_one_length: bool = False
    is_first: bool = False
    taken_as: Any = None
    computes: bool = False
    others: str | None = None

    @staticmethod
    def of(annotation: Any) -> AsRead:
        """Return what an annotation says, whose marks add to each other."""
        found = nothing = AsRead()
        for mark in getattr(annotation, "__metadata__", ()):
            if isinstance(mark, AsRead):
                said = zip(AsRead._fields, mark, nothing, strict=True)
                found = found._replace(**{name: value for name, value, default in said if value is not default})
        return found


class Within(NamedTuple):
    """The range of a number: `Annotated[float, Within(gt=0)]`. As pydantic's Field, without importing pydantic."""

    ge: float | None = None
    gt: float | None = None
    le: float | None = None


NonNegative = Annotated[int, Within(ge=0)]
Positive = Annotated[int, Within(ge=1)]
# Length 0 means "not given" for list attributes in OpenVINO; each page has its own rule for the lengths.
PositiveInts = tuple[Annotated[int, Within(ge=1)], ...]
NonNegativeInts = tuple[Annotated[int, Within(ge=0)], ...]


UNCOMPILED = AsRead(others=NOT_COMPILED)
"""OpenVINO reads any text; the CPU refuses texts other than the members."""
Double = Annotated[float, AsRead(is_f64=True)]
# OpenVINO does not check the numbers that avoid a division by zero.
Above0 = Annotated[float, Within(gt=0), AsRead(computes=True)]


class AttributeFault(NamedTuple):
    """A fault of one attribute. `attribute` is its name in the file.

    `defined`: despite the fault, the operator's result is well defined by the value among the accepted attributes.
    `missing`: the name of the required attribute that is missing because of the fault. `computed`: OpenVINO computes
    with the value. `is_limit`: the value is outside the declared range.
    """

    code: str
    attribute: str
    message: str
    hint: str | None = None
    allowed: str | None = None
    defined: bool = True
    candidates: tuple[str, ...] = ()
    missing: str | None = None
    computed: bool = False
    is_limit: bool = False


class Unreadable(ValueError):
    """Raised for a text that is not a value of the attribute's type.

    `lenient` is the value that OpenVINO reads, if it accepts the text; `candidates` are the texts among `allowed` that
    may be intended.
    """

    def __init__(
        self, code: str, message: str, lenient: Any = None, candidates: tuple[str, ...] = (), allowed: str | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.lenient, self.candidates, self.allowed = code, lenient, candidates, allowed


def _read_scalar(form: Form[Any], value: str) -> Any:
    """Read a number or a boolean. Raises Unreadable, with the value that OpenVINO reads."""
    reading = read(form, value)
    if reading.strict is not None:
        return reading.strict
    if form is BOOLEAN:
        raise Unreadable("D004", f"{value!r} is not a boolean: write true or false")
    if form.convert is not I64.convert and form.strict.fullmatch(value.strip(BLANKS)):
        wide = "f64" if form is F64 else "f32"
        raise Unreadable("D005", f"{value!r} is out of the range of {wide}", reading.openvino)
    message = f"{value!r} is not {form.name}"
    raise Unreadable("D010" if reading.openvino is None else "D003", message, reading.openvino)


def _read_list(item: Callable[[str], Any], value: str) -> tuple[Any, ...]:
    """Read comma-separated items, with optional blanks; an empty text is an empty list."""
    if not value.strip(BLANKS):
        return ()
    parts = value.split(",")
    trailing = not parts[-1]
    if trailing:
        del parts[-1]
    if not all(part.strip(BLANKS) for part in parts):
        raise Unreadable("D006", f"the list {value!r} has an empty item")
    items, wrong = [], None
    for part in parts:
        try:
            items.append(item(part.strip(BLANKS)))
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


def _read_first(value: str) -> int:
    """Read an integer that OpenVINO reads as a list. Raises Unreadable."""
    try:
        number: int = _read_scalar(I64, value)
    except Unreadable as error:
        readable = error.lenient is not None and read_list(I64, value).openvino is not None
        raise error if readable else Unreadable("D010", str(error)) from None
    return number


def read_element_type(value: str) -> ElementType:
    """Read an element type by its attribute name (`f32`, `i64`)."""
    found = ElementType.from_attribute(value)
    if found is None:
        meant, allowed = suggested_element_types(value), ", ".join(ELEMENT_TYPES)
        raise Unreadable("D010", f"{value!r} is not an element type", candidates=meant, allowed=allowed)
    return found


def read_shape(value: str) -> PartialShape:
    """Read a partial shape: `1,3,?,1..10`, `...`, or an empty text for a scalar."""
    try:
        return PartialShape.parse(value)
    except UnreadableShape as error:
        lenient = None if error.lenient is None else PartialShape(error.lenient)
        raise Unreadable(_SHAPE_CODES[error.fault], str(error), lenient) from None


_SHAPE_CODES = {
    ShapeFault.REVERSED: "S001", ShapeFault.NEGATIVE: "S002", ShapeFault.TOO_LARGE: "S003", ShapeFault.FORM: "S006",
}  # fmt: skip


_READERS: dict[Any, Callable[[str], Any]] = {
    int: partial(_read_scalar, I64), float: partial(_read_scalar, F32), bool: partial(_read_scalar, BOOLEAN), str: str,
    ElementType: read_element_type, PartialShape: read_shape,
}  # fmt: skip


def base_type(annotation: Any) -> Any:
    """Return the annotation without Annotated and without `| None`."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, python_types.UnionType):
        members = [a for a in get_args(annotation) if a is not type(None)]
        if len(members) == 1:
            return base_type(members[0])
    return annotation


def reader_of(annotation: Any) -> Callable[[str], Any]:
    """Return the reader of a declared type's text form. Raises TypeError for a type without a text form."""
    base = base_type(annotation)
    if get_origin(base) is tuple:
        item = get_args(base)[0]
        return partial(_read_list, partial(_read_scalar, F32_ITEM) if base_type(item) is float else reader_of(item))
    reading = AsRead.of(annotation)
    if base is float and reading.is_f64:
        return partial(_read_scalar, F64)
    if reading.is_first:
        return _read_first
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
        raise Unreadable("D008", f"{value!r} is spelled {meant!r}", meant)
    allowed = ", ".join(repr(m) for m in members)
    raise Unreadable("D005", f"{value!r} is not one of {allowed}")


class Attribute(NamedTuple):
    """One declared attribute: its Python name, its name in a file, its annotation and default.

    `read` converts a text to a value; the schema of the layer determines which values are accepted (see acceptance.py).
    """

    name: str
    file_name: str
    annotation: Any
    read: Callable[[str], Any]
    default: Any = MISSING
    reading: AsRead = AsRead()

    @property
    def required(self) -> bool:
        return self.default is MISSING

    @property
    def differs(self) -> bool:
        """True if OpenVINO's default differs from the default on the page."""
        return self.reading.default is not MISSING

    @property
    def is_list(self) -> bool:
        return get_origin(base_type(self.annotation)) is tuple

    @property
    def members(self) -> tuple[str, ...]:
        """The allowed texts of an enumeration; empty for other types."""
        base = base_type(self.annotation)
        return get_args(base) if get_origin(base) is Literal else ()

    @staticmethod
    def declare(name: str, annotation: Any, default: Any) -> Attribute:
        """Declare an attribute from a keyword-only parameter. Raises TypeError for a type without a text form."""
        reading = AsRead.of(annotation)
        return Attribute(name, reading.name or name, annotation, reader_of(annotation), default, reading)


def attribute_text(value: Any) -> str:
    """Return the text of a value as OpenVINO writes it in a file, with floats exact."""
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
