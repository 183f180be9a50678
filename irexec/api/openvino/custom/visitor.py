"""Visitors: reading and setting the attributes of a Python operator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from irexec.core.types import Dimension, PartialShape
from irexec.model.graph import model as graph

_SCALARS = (bool, int, float, str)
_LISTS = {bool: tuple[bool, ...], int: tuple[int, ...], float: tuple[float, ...], str: tuple[str, ...]}


class AttributeVisitor:
    """The argument of `visit_attributes`: collects the attributes that it is given, and changes them if there are new
    values.

    `on_attributes(attributes)` may be called several times.
    """

    def __init__(self, new: Mapping[str, Any] | None = None) -> None:
        self.found: dict[str, Any] = {}
        self._new = {} if new is None else dict(new)

    def on_attributes(self, attributes: dict[str, Any]) -> None:
        """Collect the attributes, and insert new values. Raises TypeError for a value that a file cannot represent."""
        for name, value in list(attributes.items()):
            if isinstance(value, (Dimension, graph.Model)):
                del attributes[name]  # OpenVINO accepts such values, but does not write them to files.
                continue
            if isinstance(value, np.ndarray):
                attributes[name] = _listed(value, name)
            elif isinstance(value, PartialShape):
                attributes[name] = [extent.max if extent.is_static else -1 for extent in value.dims or ()]
            if name in self._new:
                attributes[name] = _like(attributes[name], self._new[name], name)
            annotation_of(attributes[name], name)
        self.found.update(attributes)


def _listed(array: np.ndarray[Any, Any], name: str) -> list[float]:
    """Return the numbers of an array of f32. Raises TypeError, as OpenVINO does, for another type."""
    if array.dtype != np.float32 or array.ndim != 1:
        raise TypeError(f"Unsupported NumPy array dtype: {array.dtype} of {name!r}; expected float32 with one axis")
    found: list[float] = array.tolist()
    return found


def annotation_of(value: Any, name: str) -> Any:
    """Return the type of an attribute, as a signature declares it. Raises TypeError for a type that a file cannot
    represent."""
    if type(value) in _SCALARS:
        return type(value)
    if isinstance(value, list):
        if value and type(value[0]) in _SCALARS and len({type(item) for item in value}) == 1:
            return _LISTS[type(value[0])]
        if not value:
            raise RuntimeError(f"attribute {name!r} is an empty list: the type of its items is unknown")
    raise TypeError(
        f"Unsupported attribute type: {type(value)} of {name!r}; expected a bool, int, float, str, or a list of these"
    )


def _like(old: Any, new: Any, name: str) -> Any:
    """Return a new value in the form of the old one. Raises TypeError for a value of another type."""
    if isinstance(old, list):
        new = list(new)
    if isinstance(old, float) and type(new) is int:
        new = float(new)
    if annotation_of(new, name) != annotation_of(old, name):
        raise TypeError(f"attribute {name!r} is {old!r}: {new!r} has another type")
    return new
