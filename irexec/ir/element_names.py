"""Suggestions for a text that is not an element type: another framework's name of a type, or a similar spelling."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics.nearest import nearest
from irexec.core.types import DYNAMIC, ElementType
from irexec.core.types.element import FOREIGN, OTHER_NAMES

_KNOWN = [kind for kind in ElementType.by_name.values() if kind not in FOREIGN and kind is not DYNAMIC]

PRECISIONS = tuple(kind.port_name for kind in _KNOWN)
"""The element types in the spelling of ports."""

ELEMENT_TYPES = tuple(kind.name for kind in _KNOWN)
"""The element types in the spelling of attributes."""


def suggested_precisions(text: str) -> tuple[str, ...]:
    """Return the precisions of a port that may be intended, the likeliest first."""
    return tuple(kind.port_name for kind in _types_like(text, PRECISIONS))


def suggested_element_types(text: str) -> tuple[str, ...]:
    """Return the element types of an attribute that may be intended, the likeliest first."""
    return tuple(kind.name for kind in _types_like(text, ELEMENT_TYPES))


def _types_like(text: str, own: Sequence[str]) -> list[ElementType]:
    if (exact := ElementType.meant_by(text)) is not None:
        return [exact]
    near = map(ElementType.meant_by, nearest(text, [*own, *OTHER_NAMES]))
    return list(dict.fromkeys(kind for kind in near if kind is not None))
