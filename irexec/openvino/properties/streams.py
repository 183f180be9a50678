"""Streams: the number of inferences that run in parallel."""

from __future__ import annotations

from typing import ClassVar

from irexec.openvino.properties.names import Property

num = Property("NUM_STREAMS")


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
