"""Names of properties as functions: `name()` returns the name, `name(value)` the name with a value to set."""

from __future__ import annotations

from typing import Any

from irexec.openvino.ov_any import OVAny


class Property(str):
    """The name of a property. It can be used as the name, called or not."""

    def __call__(self, *values: Any) -> Any:
        if not values:
            return str(self)
        if len(values) > 1:
            raise TypeError(f"{self} takes one value")
        return str(self), OVAny(values[0])


class ReadOnly(Property):
    """The name of a property that can only be read."""

    def __call__(self, *values: Any) -> Any:
        if values:
            raise TypeError(f"{self} can only be read")
        return str(self)


class Joined(Property):
    """The name of a property whose value is a comma-separated list."""

    def __call__(self, *values: Any) -> Any:
        return (str(self), OVAny(",".join(map(str, values)))) if values else str(self)
