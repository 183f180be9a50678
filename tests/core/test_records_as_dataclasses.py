"""Records compared with dataclasses: random classes, created in both ways, behave the same."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from irexec.core import records


class Spec(NamedTuple):
    """A class to create: its options, its fields as written, the fields of its base, and its own methods."""

    options: dict[str, bool]
    base: tuple[str, ...]
    own: tuple[str, ...]
    methods: tuple[str, ...]


FORMS = (
    "{0}: int",
    "{0}: int = 7",
    "{0}: list[int] = field(default_factory=list)",
    "{0}: int = field(default=3, compare=False)",
    "{0}: int = field(default=4, repr=False)",
    "{0}: list[int] = field(init=False, default_factory=list)",
)
METHODS = (
    "def __repr__(self): return 'own'",
    "def __post_init__(self): object.__setattr__(self, 'a', 5)",
    "def double(self): return (self.a, self.a)",
)
OPTIONS = st.fixed_dictionaries({}, optional=dict.fromkeys(("eq", "frozen", "kw_only"), st.booleans()))
SPECS = st.builds(
    Spec,
    OPTIONS,
    st.lists(st.sampled_from(FORMS), min_size=1, max_size=2).map(tuple),
    st.lists(st.sampled_from(FORMS), max_size=4).map(tuple),
    st.lists(st.sampled_from(METHODS), unique=True, max_size=2).map(tuple),
)
VALUES = st.integers(0, 2) | st.lists(st.integers(0, 1), max_size=1)
CALLS = st.lists(
    st.tuples(st.lists(VALUES, max_size=4), st.dictionaries(st.sampled_from("abcdefz"), VALUES, max_size=3)), max_size=5
)


def made(spec: Spec, decorator: Any, field: Any) -> type:
    """Return the class, created by `record` or `dataclass`."""
    base = [form.format(name) for form, name in zip(spec.base, "ab", strict=False)]
    own = [form.format(name) for form, name in zip(spec.own, "cdef", strict=False)]
    lines = ["@make", "class Base:", *(f" {line}" for line in base or ["pass"])]
    lines += ["@make", "class Made(Base):", *(f" {line}" for line in (*own, *spec.methods) or ["pass"])]
    known: dict[str, Any] = {"make": decorator(**spec.options), "field": field}
    exec("from __future__ import annotations\n" + "\n".join(lines), known)
    cls: type = known["Made"]
    return cls


def outcome(action: Callable[[], Any]) -> str | None:
    """Return a text of the result; None for an exception."""
    try:
        return repr(action())
    except (TypeError, ValueError, AttributeError):
        return None  # The kind of exception depends on Python's version.


def behaviour(cls: type, calls: list[tuple[list[Any], dict[str, Any]]]) -> list[Any]:
    """Return everything observable about a class and about the objects that the calls create."""
    found: list[Any] = [cls.__match_args__, [each.name for each in dataclasses.fields(cls)]]
    parameters = inspect.signature(cls).parameters.values()
    found += [(each.name, each.kind, each.annotation, each.default is each.empty) for each in parameters]
    objects = []
    for arguments, named in calls:
        try:
            objects.append(cls(*arguments, **named))
        except TypeError:
            found.append(None)
    for one in objects:
        found.append([outcome(lambda one=one, other=other: (one == other, one != other)) for other in objects])
        found.append(outcome(lambda one=one: hash(one) == hash(copy.copy(one)) if cls.__hash__ else None))
        found.append(outcome(lambda one=one: setattr(copy.copy(one), "c", 1)))
        found.append(outcome(lambda one=one: delattr(copy.copy(one), "c")))
        found.append(outcome(lambda one=one: setattr(one, "z", 1)))
        found.append(outcome(lambda one=one: copy.deepcopy(one)))
        found.append(outcome(lambda one=one: dataclasses.replace(one)))
        found.append(outcome(lambda one=one: dataclasses.replace(one, c=8)))
        found.append(outcome(lambda one=one: dataclasses.asdict(one)))
    return found


@given(SPECS, CALLS)
def test_what_can_be_seen_is_the_same(spec: Spec, calls: list[tuple[list[Any], dict[str, Any]]]) -> None:
    def dataclass(**options: bool) -> Any:
        return dataclasses.dataclass(slots=True, **options)

    try:
        expected = made(spec, dataclass, dataclasses.field)
    except TypeError:
        return  # A field without a default follows one with a default.
    assert behaviour(made(spec, records.record, records.field), calls) == behaviour(expected, calls)
