"""Attributes: how the text of a `<data>` attribute becomes a Python value, and what is said when it cannot.

An operator declares plain Python types; the text form of each lives here, once.
Source: OpenVINO IR, attribute syntaxes.
"""

from __future__ import annotations

import inspect
import math
import operator
import types as python_types
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from irexec.ir import text
from irexec.types import FOREIGN, ElementType, PartialShape


@dataclass(frozen=True, slots=True)
class Alias:
    """The attribute's name in a file, where it is no Python name: `Annotated[bool, Alias("exclude-pad")]`."""

    name: str


@dataclass(frozen=True, slots=True)
class ReaderDefault:
    """What OpenVINO's reader takes when the attribute is left out, where that is not the page's default."""

    value: Any


NonNegative = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]
# 0 is OpenVINO's "not given" for list attributes; pages give each list its own length rule.
PositiveInts = tuple[Annotated[int, Field(ge=1)], ...]
NonNegativeInts = tuple[Annotated[int, Field(ge=0)], ...]


class Problem(NamedTuple):
    """Something wrong with one attribute. `attribute` is its name in the file."""

    code: str
    attribute: str
    message: str
    hint: str | None = None
    allowed: str | None = None


class Unreadable(ValueError):
    """The text is not a value of the attribute's type. `lenient` is what OpenVINO reads all the same, if anything."""

    def __init__(self, code: str, message: str, lenient: Any = None) -> None:
        super().__init__(message)
        self.code, self.lenient = code, lenient


def _read(reading: text.Reading[Any], message: str) -> Any:
    """The strict reading, or Unreadable with what OpenVINO makes of the text."""
    if reading.strict is None:
        raise Unreadable("D010" if reading.openvino is None else "D003", message, reading.openvino)
    return reading.strict


def read_int(value: str) -> int:
    """A decimal 64-bit integer."""
    result: int = _read(text.int64(value), f"{value!r} is not a 64-bit integer")
    return result


def read_float(value: str) -> float:
    """A decimal number, `inf`, `-inf` or `nan`."""
    result: float = _read(text.float64(value), f"{value!r} is not a number")
    return result


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
    if "" in parts:
        trailing = parts.index("") == len(parts) - 1
        lenient = tuple(item(part) for part in parts[:-1]) if trailing else None
        raise Unreadable(
            "D006", f"the list {value!r} has {'a trailing comma' if trailing else 'an empty item'}", lenient
        )
    return tuple(item(part) for part in parts)


def read_element_type(value: str) -> ElementType:
    """An element type by its attribute name (`f32`, `i64`)."""
    found = ElementType.from_attribute(value)
    if found is None:
        port = ElementType.from_port(value)
        hint = f"; attributes spell it {port.name!r}" if port else ""
        raise Unreadable("D010", f"{value!r} is not an element type{hint}")
    return found


def read_shape(value: str) -> PartialShape:
    """A partial shape: `1,3,?,1..10`, `...`, or nothing for a scalar."""
    try:
        return PartialShape.parse(value)
    except ValueError as error:
        said = str(error)
        codes = {"reversed": "S001", "negative": "S002", "64-bit": "S003"}
        raise Unreadable(next((c for word, c in codes.items() if word in said), "S006"), said) from None


_READERS: dict[Any, Callable[[str], Any]] = {
    int: read_int,
    float: read_float,
    bool: read_bool,
    str: str,
    ElementType: read_element_type,
    PartialShape: read_shape,
}
_JSON_SCHEMAS: dict[Any, dict[str, Any]] = {
    ElementType: {"type": "string", "enum": sorted(n for n, t in ElementType.by_name.items() if t not in FOREIGN)},
    PartialShape: {"type": "string", "description": "partial shape, such as 1,3,?,1..10"},
}


def _base(annotation: Any) -> Any:
    """The annotation without Annotated and without `| None`."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, python_types.UnionType):
        members = [a for a in get_args(annotation) if a is not type(None)]
        if len(members) == 1:
            return _base(members[0])
    return annotation


def _reader(annotation: Any) -> Callable[[str], Any]:
    """The text form of a declared type. Raises TypeError for a type that has none."""
    base = _base(annotation)
    if get_origin(base) is tuple:
        return partial(read_list, _reader(get_args(base)[0]))
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
    allowed = ", ".join(repr(m) for m in members)
    raise Unreadable("D005", f"{value!r} is not one of {allowed}", folded.get(value.lower()))


def _bounds(annotation: Any) -> tuple[Callable[[Any], bool], ...] | None:
    """The bounds that `Field(ge=...)` and `Field(gt=...)` set in an annotation; None for any other mark of pydantic."""
    found: tuple[Callable[[Any], bool], ...] = ()
    inner = get_args(annotation) if get_origin(annotation) is not Literal else ()
    if get_origin(annotation) is Annotated:
        inner, marks = inner[:1], inner[1:]
        for mark in [item for m in marks for item in getattr(m, "metadata", [m])]:
            if (low := getattr(mark, "ge", None)) is not None:
                found += (partial(operator.le, low),)
            elif (low := getattr(mark, "gt", None)) is not None:
                found += (partial(operator.lt, low),)
            elif not isinstance(mark, (Alias, ReaderDefault)):
                return None
    for part in inner:
        if part is not Ellipsis and part is not type(None):
            if (bounds := _bounds(part)) is None:
                return None
            found += bounds
    return found


def _validator(annotation: Any) -> Callable[[Any], Any]:
    read = _reader(annotation)
    base = _base(annotation)
    is_list = get_origin(base) is tuple
    enum = get_args(base) if get_origin(base) is Literal else ()

    def validate(value: Any) -> Any:
        if isinstance(value, str) and (base is not str):
            try:
                return read(value)
            except Unreadable as error:
                raise PydanticCustomError(
                    "unreadable", "{reason}", {"reason": str(error), "code": error.code, "lenient": error.lenient}
                ) from None
        if is_list and not isinstance(value, tuple) and hasattr(value, "__iter__"):
            return tuple(v.item() if hasattr(v, "item") else v for v in value)
        if base is ElementType and not isinstance(value, ElementType) and value is not None:
            return ElementType.of(value)
        if base is PartialShape and value is not None and not isinstance(value, PartialShape):
            return PartialShape(value)
        if enum and value is None and "none" in enum:
            return "none"
        return value

    return validate


@dataclass(frozen=True, slots=True)
class Attribute:
    """One declared attribute: its Python name, its name in a file, its annotation and default.

    `read` makes a value of a text; `bounds` are what each number of it must satisfy, None where the annotation asks for
    something else.
    """

    name: str
    file_name: str
    annotation: Any
    read: Callable[[str], Any]
    bounds: tuple[Callable[[Any], bool], ...] | None
    default: Any = inspect.Parameter.empty
    reader_default: Any = inspect.Parameter.empty

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty

    @property
    def differs(self) -> bool:
        """True when OpenVINO's reader takes another default than the page's."""
        return self.reader_default is not inspect.Parameter.empty

    @property
    def members(self) -> tuple[str, ...]:
        """The allowed texts of an enumeration; empty for other types."""
        base = _base(self.annotation)
        return get_args(base) if get_origin(base) is Literal else ()

    @staticmethod
    def declare(name: str, annotation: Any, default: Any) -> Attribute:
        """From a keyword-only parameter. Raises TypeError for a type that has no text form."""
        read, bounds = _reader(annotation), _bounds(annotation)
        marks = getattr(annotation, "__metadata__", ())
        file_name = next((m.name for m in marks if isinstance(m, Alias)), name)
        reader_default = next((m.value for m in marks if isinstance(m, ReaderDefault)), inspect.Parameter.empty)
        return Attribute(name, file_name, annotation, read, bounds, default, reader_default)


def attribute_model(title: str, attributes: tuple[Attribute, ...], doc: str | None) -> type[BaseModel]:
    """The pydantic model of an operator's `<data>`: unknown attributes forbidden, text forms and values both taken."""
    fields: dict[str, Any] = {}
    for a in attributes:
        extra: list[Any] = [BeforeValidator(_validator(a.annotation))]
        if (schema := _JSON_SCHEMAS.get(_base(a.annotation))) is not None:
            extra.append(WithJsonSchema(schema))
        if _base(a.annotation) is float:
            extra.append(AfterValidator(float))
        annotation = a.annotation
        for mark in extra:
            annotation = Annotated[annotation, mark]
        default = ... if a.required else a.default
        alias = None if a.file_name == a.name else a.file_name
        fields[a.name] = (annotation, Field(default, alias=alias))
    config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)
    return create_model(title, __config__=config, __doc__=doc, **fields)


def read_plainly(attributes: tuple[Attribute, ...], given: dict[str, Any]) -> dict[str, Any] | None:
    """The values by Python name, where every text is what its attribute takes; None where something is to be said.

    Nearly all layers are read here, and the pydantic model, which takes long to build, only where it has a finding.
    """
    by_file_name = {a.file_name: a for a in attributes}
    values: dict[str, Any] = {}
    for name, written in given.items():
        attribute = by_file_name.get(name)
        if attribute is None or attribute.bounds is None or not isinstance(written, str):
            return None
        try:
            value = values[attribute.name] = attribute.read(written)
        except Unreadable:
            return None
        if attribute.bounds:
            items = value if isinstance(value, tuple) else (value,)
            if not all(holds(item) for holds in attribute.bounds for item in items):
                return None
    if any(a.required and a.name not in values for a in attributes):
        return None
    return {a.name: values.get(a.name, a.default) for a in attributes}


def parse_attributes(
    model: type[BaseModel], attributes: tuple[Attribute, ...], given: dict[str, Any]
) -> tuple[dict[str, Any], list[Problem]]:
    """Validate `given` (file name → text or value): the values by Python name, and every problem found.

    A text that OpenVINO would still read stands with the value OpenVINO reads; other bad attributes are left out, so
    that a required one may be missing from the result.
    """
    problems: list[Problem] = []
    given = dict(given)
    by_file_name = {a.file_name: a for a in attributes} | {a.name: a for a in attributes}
    for _ in range(3):
        try:
            parsed = model.model_validate(given)
            break
        except pydantic.ValidationError as error:
            for finding in error.errors(include_url=False):
                _note(finding, given, by_file_name, problems)
    else:
        parsed = model.model_construct()
    return {a.name: getattr(parsed, a.name) for a in attributes if hasattr(parsed, a.name)}, problems


def _note(finding: Any, given: dict[str, Any], declared: dict[str, Attribute], problems: list[Problem]) -> None:
    """Turn one pydantic error into a Problem, and mend `given` so that the rest can be validated."""
    name = str(finding["loc"][0])
    kind, given_value = finding["type"], given.get(name)
    attribute = declared.get(name)
    allowed = ", ".join(attribute.members) if attribute and attribute.members else None
    if kind == "extra_forbidden":
        problems.append(Problem("D001", name, f"the operator has no attribute {name!r}", _nearest(name, declared)))
        given.pop(name, None)
        return
    if kind == "missing":
        problems.append(Problem("D002", name, f"the required attribute {name!r} is missing", allowed=allowed))
        given[name] = _neutral(attribute)
        return
    if kind == "unreadable":
        context = finding["ctx"]
        hint = None
        if context["code"] == "D005" and attribute:
            hint = _nearest(str(given_value), dict.fromkeys(attribute.members))
        problems.append(Problem(context["code"], name, f"{name}: {context['reason']}", hint, allowed))
        lenient = context["lenient"]
        given[name] = lenient if lenient is not None else _neutral(attribute)
        return
    message = f"{name}: {finding['msg'][0].lower()}{finding['msg'][1:]}, not {_shown(given_value)}"
    negative = kind in ("greater_than", "greater_than_equal") and "-" in _shown(given_value)
    code = "D007" if negative else "D005"
    if not any(p.code == code and p.attribute == name for p in problems):
        problems.append(Problem(code, name, message, allowed=allowed))
    given[name] = _neutral(attribute)


def _neutral(attribute: Attribute | None) -> Any:
    """A value that passes, so that the other attributes can be judged."""
    if attribute is None:
        return None
    if not attribute.required:
        return attribute.default
    base = _base(attribute.annotation)
    if attribute.members:
        return attribute.members[0]
    neutral: dict[Any, Any] = {
        int: max(1, _least(attribute.annotation)),
        float: 1.0,
        bool: False,
        str: "",
        PartialShape: PartialShape.dynamic(),
    }
    neutral[ElementType] = ElementType.by_name["dynamic"]
    return () if get_origin(base) is tuple else neutral.get(base)


def _least(annotation: Any) -> int:
    """The least integer that a declared range holds; 0 without a range."""
    fields = [mark for mark in getattr(annotation, "__metadata__", ()) if hasattr(mark, "metadata")]
    return max((bound.ge for field in fields for bound in field.metadata if hasattr(bound, "ge")), default=0)


def _nearest(name: str, known: dict[str, Any]) -> str | None:
    import difflib

    folded = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), folded, 1, 0.6)
    return f"did you mean {folded[close[0]]!r}?" if close else None


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str) else str(value)


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
