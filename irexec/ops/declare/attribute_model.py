"""The pydantic model of an operator's attributes, and its errors as faults.

Imported only when there is a fault or a schema is wanted: valid texts are read without it, because importing pydantic
takes longer than reading most models.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Annotated, Any, Literal, get_args, get_origin

import numpy as np
import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, create_model
from pydantic_core import PydanticCustomError

from irexec.diagnostics.nearest import nearest, suggestion
from irexec.ops.declare.attributes import Attribute, AttributeFault, Unreadable, attribute_text, base_type, reader_of
from irexec.ops.declare.other_names import attribute_meant_by
from irexec.types import FOREIGN, ElementType, PartialShape

_JSON_SCHEMAS: dict[Any, dict[str, Any]] = {
    ElementType: {"type": "string", "enum": sorted(n for n, t in ElementType.by_name.items() if t not in FOREIGN)},
    PartialShape: {"type": "string", "description": "partial shape, such as 1,3,?,1..10"},
}


def attribute_model(title: str, attributes: tuple[Attribute, ...], doc: str | None) -> type[BaseModel]:
    """The pydantic model of an operator's `<data>`: unknown attributes forbidden, text forms and values both taken."""
    fields: dict[str, Any] = {}
    for a in attributes:
        extra: list[Any] = [BeforeValidator(_validator(a.annotation))]
        if (schema := _JSON_SCHEMAS.get(base_type(a.annotation))) is not None:
            extra.append(WithJsonSchema(schema))
        if base_type(a.annotation) is float:
            extra.append(AfterValidator(float))
        annotation = a.annotation
        for mark in extra:
            annotation = Annotated[annotation, mark]
        default = ... if a.required else a.default
        alias = None if a.file_name == a.name else a.file_name
        fields[a.name] = (annotation, Field(default, alias=alias))
    config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)
    return create_model(title, __config__=config, __doc__=doc, **fields)


def _validator(annotation: Any) -> Callable[[Any], Any]:
    read = reader_of(annotation)
    base = base_type(annotation)
    is_list = get_origin(base) is tuple
    enum = get_args(base) if get_origin(base) is Literal else ()

    def validate(value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            value = value.tolist()
        if isinstance(value, str) and (base is not str):
            try:
                return read(value)
            except Unreadable as error:
                raise _unreadable(error) from None
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(item, int) and not -(2**63) <= item < 2**63:
                raise _unreadable(Unreadable("D005", "a number beyond 64 bits"))
        if is_list and not isinstance(value, tuple) and hasattr(value, "__iter__"):
            return tuple(v.item() if isinstance(v, np.generic) else v for v in value)
        if base is ElementType and not isinstance(value, ElementType) and value is not None:
            return _element_type(value)
        if base is PartialShape and value is not None and not isinstance(value, PartialShape):
            return PartialShape(value)
        if enum and value is None and "none" in enum:
            return "none"
        return value

    return validate


def _element_type(value: Any) -> ElementType:
    """The element type of a NumPy dtype or a Python or NumPy type of numbers, as a caller gives it."""
    if isinstance(value, (type, np.dtype)):
        with contextlib.suppress(TypeError):
            return ElementType.of(value)
    raise _unreadable(Unreadable("D005", f"{value!r} is no element type"))


def _unreadable(error: Unreadable) -> PydanticCustomError:
    return PydanticCustomError("unreadable", "{reason}", vars(error) | {"reason": str(error)})


def parse_attributes(
    model: type[BaseModel], attributes: tuple[Attribute, ...], given: dict[str, Any]
) -> tuple[dict[str, Any], list[AttributeFault]]:
    """Validate `given` (file name → text or value): the values by Python name, and every fault found.

    A text that OpenVINO would still read stands with the value OpenVINO reads; other bad attributes are left out, so
    that a required one may be missing from the result.
    """
    faults: list[AttributeFault] = []
    given = dict(given)
    by_file_name = {a.file_name: a for a in attributes} | {a.name: a for a in attributes}
    for _ in range(3):
        try:
            parsed = model.model_validate(given)
            break
        except pydantic.ValidationError as error:
            for finding in error.errors(include_url=False):
                _note(finding, given, by_file_name, faults)
    else:
        parsed = model.model_construct()
    return {a.name: getattr(parsed, a.name) for a in attributes if hasattr(parsed, a.name)}, faults


def _note(finding: Any, given: dict[str, Any], declared: dict[str, Attribute], faults: list[AttributeFault]) -> None:
    """Turn one pydantic error into a AttributeFault, and mend `given` so that the rest can be validated."""
    name = str(finding["loc"][0])
    kind, given_value = finding["type"], given.get(name)
    attribute = declared.get(name)
    allowed = ", ".join(attribute.members) if attribute and attribute.members else None
    if kind == "extra_forbidden":
        own = [a.file_name for a in declared.values()]
        near = tuple(attribute_meant_by(name, own) or nearest(name, own, 1))
        message, hint = f"the operator has no attribute {name!r}", suggestion(map(repr, near))
        faults.append(AttributeFault("D001", name, message, hint, candidates=near))
        given.pop(name, None)
        return
    if kind == "missing":
        assumed = _assumed(attribute)
        # What OpenVINO assumes may be a value that the page excludes: then nothing is defined, and said once.
        passes = assumed is not None and attribute is not None and attribute.allows(assumed)
        message = f"the required attribute {name!r} is missing"
        faults.append(AttributeFault("D002", name, message, allowed=allowed, defined=passes))
        given[name] = assumed if passes else _neutral(attribute)
        return
    if kind == "unreadable":
        context = finding["ctx"]
        near = context["candidates"]
        if context["code"] in ("D005", "D008") and attribute:
            near = tuple(nearest(_shown(given_value), attribute.members, 1))
        hint = suggestion(map(repr, near)) if context["code"] in ("D005", "D010") else None
        lenient = context["lenient"]
        if context["code"] == "D003":
            near = (attribute_text(lenient),)
        if context["code"] == "D004":  # What is no boolean counts as not written.
            lenient = _assumed(attribute)
        reason = f"{name}: {context['reason']}"
        allowed = allowed or context["allowed"]
        faults.append(AttributeFault(context["code"], name, reason, hint, allowed, lenient is not None, near))
        given[name] = lenient if lenient is not None else _neutral(attribute)
        return
    message = f"{name}: {finding['msg'][0].lower()}{finding['msg'][1:]}, not {_shown(given_value)}"
    negative = kind in ("greater_than", "greater_than_equal") and "-" in _shown(given_value)
    code = "D007" if negative else "D005"
    taken_as = attribute.taken_as if attribute else None
    if not any(p.code == code and p.attribute == name for p in faults):
        faults.append(AttributeFault(code, name, message, allowed=allowed, defined=taken_as is not None))
    given[name] = _neutral(attribute) if taken_as is None else taken_as


def _assumed(attribute: Attribute | None) -> Any:
    """What OpenVINO takes for an attribute that is not written, as far as it is the same on every machine."""
    if attribute is None or attribute.differs:
        return None if attribute is None else attribute.reader_default
    if attribute.required:
        return () if get_origin(base_type(attribute.annotation)) is tuple else None
    return attribute.default


def _neutral(attribute: Attribute | None) -> Any:
    """A placeholder that validates, so that the other attributes can be checked."""
    if attribute is None:
        return None
    if not attribute.required:
        return attribute.default
    base = base_type(attribute.annotation)
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
    marks = [item for mark in getattr(annotation, "__metadata__", ()) for item in getattr(mark, "metadata", [mark])]
    return max((mark.ge for mark in marks if getattr(mark, "ge", None) is not None), default=0)


def _shown(value: Any) -> str:
    try:
        return repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # More digits than Python prints.
        return "a number of thousands of digits"
