"""Classes of fields, as `dataclass` makes them, whose methods wait until somebody calls them.

`dataclass` writes and compiles each method when its module is imported: half a millisecond for a class, which is a part
of every start of the command. Classes that every start imports are records; others may well be dataclasses. The
functions of `dataclasses` (`field`, `fields`, `replace`, `asdict`) work with both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

C = TypeVar("C")


@overload
def record(cls: type[C], /) -> type[C]: ...
@overload
def record(*, eq: bool = True, frozen: bool = False, kw_only: bool = False) -> Callable[[type[C]], type[C]]: ...
@dataclass_transform(field_specifiers=(field,))
def record(cls: Any = None, /, *, eq: bool = True, frozen: bool = False, kw_only: bool = False) -> Any:
    """A dataclass with slots; the options are those of `dataclass`. A method that the class defines itself stays."""

    def decorate(cls: type) -> type:
        own = set(cls.__dict__)
        cls.__doc__ = cls.__doc__ or cls.__qualname__  # Or else dataclass writes one, which takes longer than all this.
        made: type = dataclass(init=False, repr=False, eq=False, kw_only=kw_only, slots=True)(cls)
        methods: dict[str, Any] = {"__init__": _first_init(made, frozen), "__repr__": _repr}
        if eq:
            methods |= {"__eq__": _equals, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _restore}
        for name in methods.keys() - own:
            setattr(made, name, methods[name])
        return made

    return decorate if cls is None else decorate(cls)


def _first_init(cls: type, frozen: bool) -> Callable[..., None]:
    """An `__init__` that puts the one for this class in its place when it is first called."""

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
        written = _init(cls, frozen)
        setattr(cls, "__init__", written)  # noqa: B010 - mypy knows no other way
        written(self, *args, **kwargs)

    return __init__


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    """A function that sets the fields, written for the class: it is called for each of a million ports."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_MADE": MISSING}
    parameters, lines = ["self"], []
    for each in sorted(fields(cls), key=lambda each: bool(each.kw_only)):
        if each.kw_only and "*" not in parameters:
            parameters.append("*")
        value = each.name if each.init else f"default_{each.name}()"
        known[f"default_{each.name}"] = each.default if each.default_factory is MISSING else each.default_factory
        if each.init and each.default_factory is not MISSING:
            parameters.append(f"{each.name}=_MADE")
            value = f"default_{each.name}() if {each.name} is _MADE else {each.name}"
        elif each.init:
            parameters.append(each.name if each.default is MISSING else f"{each.name}=default_{each.name}")
        elif each.default_factory is MISSING:
            continue  # __post_init__ sets it.
        lines.append(f"_set(self, {each.name!r}, {value})" if frozen else f"self.{each.name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"]), known)
    written: Callable[..., None] = known["__init__"]
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    return written


@cache
def _compared(cls: Any) -> Callable[[Any], Any]:
    names = [each.name for each in fields(cls) if each.compare]
    return attrgetter(*names) if names else lambda _: ()


def _equals(self: Any, other: object) -> Any:
    compared = _compared(self.__class__)
    return compared(self) == compared(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self.__class__)(self))


def _repr(self: Any) -> str:
    shown: list[Field[Any]] = [each for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(f'{each.name}={getattr(self, each.name)!r}' for each in shown)})"


def _refuse(self: Any, name: str, value: object = None) -> None:
    raise FrozenInstanceError(f"{type(self).__qualname__} is not to be changed: its {name} stays as it is")


def _restore(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    """What unpickling and copying set."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)
