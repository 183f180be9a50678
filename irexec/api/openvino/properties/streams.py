"""Streams: the number of inferences that run in parallel."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar

from irexec.api.openvino.ov_any import OVAny
from irexec.api.openvino.properties.names import Property


class Num:
    """A number of streams: `Num(4)`, or a value with which the device chooses."""

    AUTO: ClassVar[Num]
    NUMA: ClassVar[Num]

    def __init__(self, value: int) -> None:
        self._value = int(value)

    def to_integer(self) -> int:
        return self._value

    __int__ = __index__ = to_integer


Num.AUTO, Num.NUMA = Num(-1), Num(-2)


class Streams(Property):
    """The property of the number of streams, whose value may be a Num."""

    def __call__(self, *values: Any) -> Any:
        found = super().__call__(*values)
        return (found[0], OVAny(int(values[0]))) if values else found


num = Streams("NUM_STREAMS", Num, Integral)
