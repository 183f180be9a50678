"""Enumerations as OpenVINO's Python API has them: members with a name and a value; the class is not an `enum.Enum`."""

from __future__ import annotations

from typing import Any, ClassVar, Self


def member(value: int) -> Any:
    """Declare a member's value, in the body of a class of Members."""
    return value


class Members:
    """The base of enumerations. A class attribute with a capital name is a member; `Class(value)` finds it."""

    __members__: ClassVar[dict[str, Any]] = {}
    name: str
    value: int

    def __init_subclass__(cls) -> None:
        cls.__members__ = {}
        for name, value in list(vars(cls).items()):
            if name.isupper() and isinstance(value, int):
                made = object.__new__(cls)
                made.name, made.value = name, value
                # A second name for a value is a second name for the member.
                found = next((known for known in cls.__members__.values() if known.value == value), made)
                cls.__members__[name] = found
                setattr(cls, name, found)

    def __new__(cls, value: int) -> Self:
        for known in cls.__members__.values():
            if known.value == value:
                found: Self = known
                return found
        raise ValueError(f"{value} is not a member of {cls.__name__}")

    def __int__(self) -> int:
        return self.value

    def __index__(self) -> int:
        return self.value

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Members):
            return type(self) is type(other) and self.value == other.value
        return isinstance(other, int) and self.value == other

    def __hash__(self) -> int:
        return hash(self.value)

    def __reduce__(self) -> Any:
        return type(self), (self.value,)

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __repr__(self) -> str:
        return f"<{self}: {self.value}>"
