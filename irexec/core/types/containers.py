"""Containers: values that hold tensors. They occur in ONNX models, but not in IR.

A sequence is a tensor of rank 1 whose elements are tensors; an optional is a sequence of at most one element.
Both are NumPy arrays of objects in memory, so that bodies, plans and requests treat them as any other tensor.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np

from irexec.core.types.element import DYNAMIC, ElementType


class Container(ElementType):
    """The type of a sequence or an optional; `member` is the type of its elements."""

    __slots__ = ("member",)

    by_text: ClassVar[dict[str, Container]] = {}

    def __init__(self, word: str, member: ElementType) -> None:
        # IR files never contain these types, so they are not in ElementType.by_name.
        self.name = self.port_name = f"{word}({member.name})"
        self.bitwidth, self._scalar, self.kind = 0, "object", "o"
        self.member = member
        Container.by_text[self.name] = self

    def __reduce__(self) -> tuple[Any, ...]:
        return _lookup, (self.name,)


def _lookup(name: str) -> Container:
    return Container.by_text[name]


_TENSORS = [kind for kind in ElementType.by_name.values() if kind is not DYNAMIC]
_SEQUENCES = {member: Container("sequence", member) for member in _TENSORS}
_OPTIONALS = {member: Container("optional", member) for member in [*_TENSORS, *_SEQUENCES.values()]}

SEQUENCES: frozenset[ElementType] = frozenset(_SEQUENCES.values())
OPTIONALS: frozenset[ElementType] = frozenset(_OPTIONALS.values())
CONTAINERS = SEQUENCES | OPTIONALS


def sequence_of(member: ElementType) -> ElementType:
    """Return the type of a sequence of tensors with this element type; DYNAMIC if the element type is dynamic."""
    return _SEQUENCES.get(member, DYNAMIC)


def optional_of(member: ElementType) -> ElementType:
    """Return the type of an optional tensor or sequence; DYNAMIC if the member's type is dynamic."""
    return _OPTIONALS.get(member, DYNAMIC)


def member_of(container: ElementType) -> ElementType:
    """Return the element type of a sequence's tensors, or the type inside an optional; dynamic for any other type."""
    return container.member if isinstance(container, Container) else DYNAMIC


def packed(members: Iterable[Any]) -> np.ndarray[Any, Any]:
    """Return a NumPy array of objects that contains these members."""
    listed = list(members)
    array = np.empty(len(listed), object)
    for index, member in enumerate(listed):
        array[index] = member
    return array


def to_container(value: Any, kind: ElementType) -> np.ndarray[Any, Any]:
    """Convert a list or None to a container; a container is returned unchanged. Raises TypeError for other values."""
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        return value
    member = member_of(kind)
    if kind in OPTIONALS:
        return packed([] if value is None else [_to_member(value, member)])
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"a {kind} requires a list of arrays, not {type(value).__name__}")
    return packed(_to_member(item, member) for item in value)


def _to_member(value: Any, kind: ElementType) -> np.ndarray[Any, Any]:
    return to_container(value, kind) if kind in CONTAINERS else np.asarray(value, kind.dtype)


def from_container(array: np.ndarray[Any, Any], kind: ElementType) -> Any:
    """Return the value of a container for callers: a list of arrays, or for an optional its member or None."""
    member = member_of(kind)
    members = [from_container(m, member) if member in CONTAINERS else np.array(m, order="C") for m in array]
    return members if kind in SEQUENCES else next(iter(members), None)
