"""Attribute groups: attributes that operators share, declared once as the fields of a class.

    @group
    class Windowing:
        strides: PositiveInts
        auto_pad: AutoPad = "explicit"

A kernel's keyword-only parameter `windows: Windowing` declares these attributes of the operator, and the kernel
receives them as one immutable object, as does every other function of the operator with a parameter of this type.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol, TypeVar, dataclass_transform, get_type_hints

from irexec.core.records import MISSING, Field, fields, record
from irexec.ops.spec.attributes import Attribute

G = TypeVar("G")


@dataclass_transform(frozen_default=True, kw_only_default=True)
def group(cls: type[G]) -> type[G]:
    """Make a class of annotated fields an attribute group: an immutable value made from keyword arguments."""
    made = record(frozen=True, kw_only=True)(cls)
    made.__attribute_group__ = True  # type: ignore[attr-defined]
    return made


def is_group(annotation: Any) -> bool:
    """Return True for a class made by `group`, or for a subclass of it."""
    return isinstance(annotation, type) and hasattr(annotation, "__attribute_group__")


@lru_cache(None)
def attributes_in(cls: type) -> tuple[Attribute, ...]:
    """Return the attributes declared by a group's fields. Raises TypeError, with its name, for an invalid field."""
    if "__attribute_group__" not in vars(cls):
        raise TypeError(f"{cls.__qualname__} is derived from a group: it also needs the decorator @group")
    hints = get_type_hints(cls, include_extras=True)
    return tuple(_declared(cls, field, hints[field.name]) for field in fields(cls))


def _declared(cls: type, field: Field, annotation: Any) -> Attribute:
    if field.default_factory is not MISSING:
        raise TypeError(f"{cls.__qualname__}.{field.name}: a default must be a plain value, not a factory")
    try:
        return Attribute.declare(field.name, annotation, field.default)
    except TypeError as error:
        raise TypeError(f"{cls.__qualname__}.{field.name}: {error}") from error


class HasAttributes(Protocol):
    """The members of an operator that AttributesOf uses."""

    @property
    def attributes(self) -> tuple[Attribute, ...]: ...


class AttributesOf:
    """The attributes of another version, except those that `without` names and those that the kernel declares:

    def avg_pool_14(data: T, /, **rest: Annotated[Any, AttributesOf(avg_pool_16, without="dilations")]) -> T:
    """

    def __init__(self, operator: HasAttributes, *, without: str | tuple[str, ...] = ()) -> None:
        self.attributes = operator.attributes
        self.without = (without,) if isinstance(without, str) else without
        for name in self.without:
            if name not in {a.name for a in self.attributes}:
                raise TypeError(f"{operator} has no attribute {name!r}, so `without` cannot omit it")

    def completed(self, own: list[Attribute]) -> list[Attribute]:
        """Return all attributes in the order of the version that they are taken from; attributes in `own` replace
        attributes of the same name, and new attributes are last.

        Raises TypeError for an own attribute that is identical to the other version's.
        """
        replaced = {a.name: a for a in own}
        for a in self.attributes:
            if a.name in replaced and (replaced[a.name].annotation, replaced[a.name].default) == (
                a.annotation,
                a.default,
            ):
                raise TypeError(f"attribute {a.name!r} is identical in the other version; omit it")
        inherited = [replaced.pop(a.name, a) for a in self.attributes if a.name not in self.without]
        return inherited + [a for a in own if a.name in replaced]
