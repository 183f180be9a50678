"""Names of properties as functions: `name()` returns the name, `name(value)` the name with a value to set."""

from __future__ import annotations

from typing import Any, Self

from irexec.api.openvino.ov_any import OVAny
from irexec.core.arguments import expected


class Property(str):
    """The name of a property. It can be used as the name, called or not. `kinds`: the classes of its values, by default
    any class."""

    kinds: tuple[type, ...]

    def __new__(cls, name: str, *kinds: type) -> Self:
        made = super().__new__(cls, name)
        made.kinds = kinds or (object,)
        return made

    def __call__(self, *values: Any) -> Any:
        if not values:
            return str(self)
        if len(values) > 1:
            raise TypeError(f"{self} takes one value")
        return str(self), OVAny(expected(values[0], self.kinds, str(self)))


class ReadOnly(Property):
    """The name of a property that can only be read."""

    def __call__(self, *values: Any) -> Any:
        if values:
            raise TypeError(f"{self} can only be read")
        return str(self)


class Joined(Property):
    """The name of a property whose value is a list: each item followed by a comma."""

    def __call__(self, *values: Any) -> Any:
        return (str(self), OVAny("".join(f"{expected(v, str, str(self))}," for v in values))) if values else str(self)
