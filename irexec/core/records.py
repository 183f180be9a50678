"""Dataclasses that are fast to import: their methods are generated when they are first called.

`dataclass` writes and compiles the methods of each class when its module is imported, in 0.4 ms; a class made here
takes 0.02 ms. `irexec validate` imports 29 of them, which saves about 10 ms. The packages up to `runtime` declare
records alone, those above dataclasses, except in modules that `validate` or a first result imports. The functions of
`dataclasses` (`fields`, `replace`, `asdict`) also work with records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform, overload

C = TypeVar("C")
V = TypeVar("V")


class MISSING:
    """Marks a field without a default."""


class Field:
    """A field of a record: its name, the annotation as written, its default, and the methods that include it."""

    __slots__ = ("annotation", "compare", "default", "default_factory", "init", "kw_only", "name", "repr")

    def __init__(
        self, default: Any = MISSING, default_factory: Any = MISSING, init: Any = True, repr: Any = True,
        compare: Any = True,
    ) -> None:  # fmt: skip
        self.name, self.annotation, self.kw_only = "", "", False
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare = init, repr, compare


@overload
def field(*, default: V, init: bool = True, repr: bool = True, compare: bool = True) -> V: ...
@overload
def field(*, default_factory: Callable[[], V], init: bool = True, repr: bool = True, compare: bool = True) -> V: ...
@overload
def field(*, init: bool = True, repr: bool = True, compare: bool = True) -> Any: ...
def field(**options: Any) -> Any:
    """Declare a field with options, which are those of `dataclasses.field`."""
    return Field(**options)


def fields(record: Any) -> tuple[Field, ...]:
    """Return the fields of a record or of its class, those of its base classes first."""
    found: tuple[Field, ...] = record._record_fields
    return found


def replace(record: C, /, **changes: Any) -> C:
    """Return a copy of the record with other values in these fields."""
    same = {each.name: getattr(record, each.name) for each in fields(record) if each.init and each.name not in changes}
    return type(record)(**same, **changes)


@overload
def record(cls: type[C], /) -> type[C]: ...
@overload
def record(
    *, eq: bool = True, frozen: bool = False, kw_only: bool = False, weakref_slot: bool = False
) -> Callable[[type[C]], type[C]]: ...
@dataclass_transform(field_specifiers=(field,))
def record(
    cls: Any = None, /, *, eq: bool = True, frozen: bool = False, kw_only: bool = False, weakref_slot: bool = False
) -> Any:
    """Return a dataclass with slots and the options of `dataclass`. Methods that the class defines are kept."""

    def decorate(cls: type) -> type:
        content = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
        inherited = {each.name: each for each in getattr(cls, "_record_fields", ())}
        own = {each.name: each for each in _own_fields(cls, content, kw_only)}

        def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:
            setattr(made, "__init__", written := _init(made, frozen))  # noqa: B010 - mypy knows no other way
            written(self, *args, **kwargs)

        methods: dict[str, Any] = {"__init__": __init__, "__repr__": _repr}
        if eq:
            methods |= {"__eq__": _equals, "__hash__": _hash if frozen else None}
        if frozen:
            methods |= {"__setattr__": _refuse, "__delattr__": _refuse, "__setstate__": _restore}
        known = inherited | own
        made = type(cls)(
            cls.__name__,
            cls.__bases__,
            methods
            | content
            | {
                "__qualname__": cls.__qualname__,
                "__slots__": (*(name for name in own if name not in inherited), *["__weakref__"] * weakref_slot),
                "__match_args__": tuple(each.name for each in known.values() if each.init and not each.kw_only),
                **({} if "__init__" in content else {"__signature__": _Signature()}),
                "__dataclass_fields__": _AsDataclass(frozen),
                "__dataclass_params__": _AsDataclass(frozen),
                "_record_fields": tuple(known.values()),
            },
        )
        return made

    return decorate if cls is None else decorate(cls)


def _own_fields(cls: type, content: dict[str, Any], kw_only: bool) -> Iterator[Field]:
    """Return the fields that a class declares; their defaults are removed from `content`, its namespace."""
    for name, annotation in cls.__annotations__.items():
        given = content.pop(name, MISSING)
        if hasattr(given, "default_factory") and not isinstance(given, Field):
            raise TypeError(f"{name}: use irexec.core.records.field for the fields of a record")
        made = given if isinstance(given, Field) else Field(given)
        if made.default is not MISSING and made.default.__hash__ is None:
            raise ValueError(f"the default of {name} would be shared by all instances; use field(default_factory=...)")
        made.name, made.annotation, made.kw_only = name, annotation, kw_only
        yield made


def _init(cls: type, frozen: bool) -> Callable[..., None]:
    """Return a generated `__init__` for the class: fast enough for a million ports."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_MADE": MISSING}
    parameters, lines = ["self"], []
    for each in sorted(fields(cls), key=lambda each: each.kw_only):
        if each.init and each.kw_only and "*" not in parameters:
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
    shown = [each.name for each in fields(self) if each.repr]
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def _refuse(self: Any, name: str, value: object = None) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__qualname__} is read-only: cannot change {name}")


def _restore(self: Any, state: tuple[None, dict[str, Any]]) -> None:
    """Set the state when unpickling and copying."""
    for name, value in state[1].items():
        object.__setattr__(self, name, value)


class _Signature:
    """The signature of a record for `help` and `inspect.signature`: computed on demand."""

    def __get__(self, instance: object, cls: type) -> Any:
        maker = next(each for each in cls.__mro__ if "__init__" in vars(each))
        if instance is not None or vars(maker).get("__signature__") is not self:
            raise AttributeError("__signature__")
        from inspect import Parameter, Signature

        parameters = []
        for each in sorted(fields(maker), key=lambda each: each.kw_only):
            default = each.default if each.default_factory is MISSING else each.default_factory()
            kind = Parameter.KEYWORD_ONLY if each.kw_only else Parameter.POSITIONAL_OR_KEYWORD
            given = Parameter.empty if default is MISSING else default
            parameters += [Parameter(each.name, kind, default=given, annotation=each.annotation)] * each.init
        return Signature(parameters, return_annotation=None)


class _AsDataclass:
    """The attributes by which `dataclasses` recognizes a class, created on demand."""

    def __init__(self, frozen: bool) -> None:
        self._frozen = frozen

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, cls: type) -> Any:
        import dataclasses

        described = []
        for each in fields(self._owner):
            options = {name: getattr(each, name) for name in ("init", "repr", "compare", "kw_only")}
            for name in ("default", "default_factory"):
                if getattr(each, name) is not MISSING:
                    options[name] = getattr(each, name)
            described.append((each.name, each.annotation, dataclasses.field(**options)))
        alike = dataclasses.make_dataclass(
            self._owner.__name__, described, init=False, repr=False, eq=False, frozen=self._frozen
        )
        setattr(self._owner, self._name, getattr(alike, self._name))
        return getattr(alike, self._name)
