"""Element types in the forms that OpenVINO's Python API accepts."""

from __future__ import annotations

from irexec.core.types import F32, I32, ElementType, TypeLike


def element_type_of(given: TypeLike) -> ElementType:
    """Return the element type of a type, a NumPy dtype or a name; as in OpenVINO, Python's float is f32 and int is i32.

    Raises TypeError for other objects.
    """
    if isinstance(given, ElementType):
        return given
    if given is float or given is int:
        return F32 if given is float else I32
    if isinstance(given, str) and (named := ElementType.from_attribute(given)) is not None:
        return named
    return ElementType.of(given)
