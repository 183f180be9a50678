"""Binding: from an operator's attributes, flat by Python name, to the keyword arguments of one of its functions.

Each function of an operator (kernel, shape rule, specialiser, generator of random values, ...) names as keyword-only
parameters what it wants: an attribute by its name, several as a group (see groups.py), or all others as `**rest`. A
name that the operator does not have is an error when the function is declared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from irexec.ops.declare.attributes import Attribute
from irexec.ops.declare.groups import attributes_in, is_group
from irexec.ops.declare.parameters import (
    ANY_BY_NAME,
    ANY_BY_POSITION,
    BY_NAME,
    BY_POSITION,
    BY_POSITION_OR_NAME,
    Parameter,
    parameters_of,
)
from irexec.records import MISSING, NamedTuple


class Binding(NamedTuple):
    """The keyword arguments that a function takes: single attributes, groups by parameter, and whether all others."""

    single: tuple[str, ...]
    groups: tuple[tuple[str, type, tuple[str, ...]], ...]
    rest: bool

    def __call__(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """`attributes` as the function's keyword arguments; a group may also be given whole, under its parameter."""
        if self.rest and not self.groups:
            return attributes
        bound = dict(attributes) if self.rest else {n: attributes[n] for n in self.single if n in attributes}
        for parameter, made, names in self.groups:
            if self.rest:
                own = {name: bound.pop(name) for name in names if name in bound}
            else:
                own = {name: attributes[name] for name in names if name in attributes}
            bound[parameter] = attributes[parameter] if parameter in attributes else made(**own)
        return bound


def kernel_binding(groups: tuple[tuple[str, type, tuple[str, ...]], ...]) -> Binding:
    """How a kernel takes its attributes: all of them, so that a name it does not know fails as in any call."""
    return Binding((), groups, rest=True)


def binding_of(
    function: Callable[..., Any], attributes: tuple[Attribute, ...], ports: int | None, where: str
) -> Binding:
    """How a function of an operator takes what it wants of the attributes.

    `ports`: how many positional arguments it is given, None for any number. Raises TypeError, saying what is wrong,
    for a function that cannot be called so.
    """
    known = {a.name for a in attributes}
    single: list[str] = []
    groups: list[tuple[str, type, tuple[str, ...]]] = []
    rest = _check_positional(function, ports, where)
    for parameter, kind in _keywords(function):
        if not is_group(kind):
            if parameter.name not in known and parameter.default is MISSING:
                raise TypeError(f"{where} asks for {parameter.name!r}, which is no attribute of the operator")
            single.append(parameter.name)
            continue
        unknown = [a.name for a in attributes_in(kind) if a.required and a.name not in known]
        if unknown:
            raise TypeError(f"{where}: the operator lacks {', '.join(unknown)} of {kind.__qualname__}")
        groups.append((parameter.name, kind, tuple(a.name for a in attributes_in(kind))))
    return Binding(tuple(single), tuple(groups), rest)


def _check_positional(function: Callable[..., Any], ports: int | None, where: str) -> bool:
    """Raise TypeError unless the function can be given so many arguments by position; True if it takes `**rest`."""
    parameters = parameters_of(function)
    places = [p for p in parameters if p.kind in (BY_POSITION, BY_POSITION_OR_NAME)]
    any_number = any(p.kind == ANY_BY_POSITION for p in parameters)
    least = sum(p.default is MISSING for p in places)
    if ports is None:
        if not any_number:
            raise TypeError(f"{where} needs `*` before its inputs: the operator takes any number")
    elif least > ports or (len(places) < ports and not any_number):
        raise TypeError(f"{where} takes {len(places)} arguments by position, the operator gives {ports}")
    return any(p.kind == ANY_BY_NAME for p in parameters)


def _keywords(function: Callable[..., Any]) -> Iterator[tuple[Parameter, Any]]:
    """The keyword-only parameters but `out`, each with its group class where it is annotated with one.

    Annotations that are texts are only looked up, not evaluated: a group is a class of the function's module.
    """
    names = getattr(function, "__globals__", {})
    for parameter in parameters_of(function):
        if parameter.kind == BY_NAME and parameter.name != "out":
            kind = parameter.annotation
            yield parameter, names.get(kind) if isinstance(kind, str) else kind
