"""Binding of an operator's attributes, flat by Python name, to the keyword arguments of one of its functions.

Each function of an operator (kernel, shape rule, specializer, generator of random values, ...) requests attributes as
keyword-only parameters: an attribute by its name, several attributes as a group (see groups.py), or all other
attributes as `**rest`. A name that the operator does not have is an error when the function is declared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from irexec.ops.spec.attributes import Attribute
from irexec.ops.spec.groups import attributes_in, is_group
from irexec.ops.spec.signature import Signature


class Binding(NamedTuple):
    """The keyword arguments of a function: single attributes, groups by parameter, and whether it takes `**rest`."""

    single: tuple[str, ...]
    groups: tuple[tuple[str, type, tuple[str, ...]], ...]
    rest: bool

    def __call__(self, attributes: dict[str, Any]) -> dict[str, Any]:
        """Return the function's keyword arguments; a group may also be given as one object, by its parameter."""
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
    """Return the binding of a kernel, which receives all attributes; a call with an unknown name raises TypeError."""
    return Binding((), groups, rest=True)


def binding_of(
    function: Callable[..., Any], attributes: tuple[Attribute, ...], ports: int | None, where: str
) -> Binding:
    """Return the binding of a function of an operator to the attributes that the function requests.

    `ports`: the number of positional arguments, None for any number. Raises TypeError, with the reason, for a function
    that cannot be called in this way.
    """
    known = {a.name for a in attributes}
    single: list[str] = []
    groups: list[tuple[str, type, tuple[str, ...]]] = []
    parameters = inspect.signature(function).parameters.values()
    rest = _check_positional(parameters, ports, where)
    for parameter, kind in _keywords(parameters, getattr(function, "__globals__", {})):
        if not is_group(kind):
            if parameter.name not in known and parameter.default is parameter.empty:
                raise TypeError(
                    f"{where} has the parameter {parameter.name!r}, which is not an attribute of the operator"
                )
            single.append(parameter.name)
            continue
        unknown = [a.name for a in attributes_in(kind) if a.required and a.name not in known]
        if unknown:
            raise TypeError(f"{where}: the operator has no {', '.join(unknown)}, which {kind.__qualname__} requires")
        groups.append((parameter.name, kind, tuple(a.name for a in attributes_in(kind))))
    return Binding(tuple(single), tuple(groups), rest)


def _check_positional(parameters: Iterable[inspect.Parameter], ports: int | None, where: str) -> bool:
    """Raise TypeError unless this many arguments fit by position; return True if the function takes `**rest`."""
    kinds = [parameter.kind for parameter in parameters]
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    any_number = inspect.Parameter.VAR_POSITIONAL in kinds
    least = sum(p.default is p.empty for p in places)
    if ports is None:
        if not any_number:
            raise TypeError(f"{where} needs `*` before its inputs: the operator accepts any number of inputs")
    elif least > ports or (len(places) < ports and not any_number):
        raise TypeError(
            f"{where} takes {len(places)} positional argument{'s' * (len(places) != 1)}, "
            f"but the operator has {ports} inputs"
        )
    return inspect.Parameter.VAR_KEYWORD in kinds


def _keywords(
    parameters: Iterable[inspect.Parameter], names: dict[str, Any]
) -> Iterator[tuple[inspect.Parameter, Any]]:
    """Return the keyword-only parameters except `out`, each with its group class if it is annotated with a group.

    Annotations that are strings are looked up in the function's module, not evaluated.
    """
    for parameter in parameters:
        if parameter.kind == parameter.KEYWORD_ONLY and parameter.name != "out":
            kind = parameter.annotation
            yield parameter, names.get(kind) if isinstance(kind, str) else kind


class Declared(Protocol):
    """The members of an operator that a binding uses."""

    @property
    def signature(self) -> Signature: ...


class LaterBinding:
    """The binding of a function of an operator; it is read when the function is first called."""

    def __init__(
        self, operator: Declared, function: Callable[..., Any], role: str, before: int, ports: int | None
    ) -> None:
        self._operator, self._function, self._role = operator, function, role
        self._before, self._ports = before, ports
        self._binding: Binding | None = None

    def __call__(self, attributes: dict[str, Any]) -> dict[str, Any]:
        return (self._binding or self.read())(attributes)

    def read(self) -> Binding:
        """Read the binding. Raises TypeError, with the reason, for a function that cannot be called with it."""
        signature, function, ports = self._operator.signature, self._function, self._ports
        if ports is None and signature.max_inputs is not None:
            ports = self._before + signature.max_inputs
        where = f"{self._operator}: the {self._role} ({function.__module__})"
        self._binding = binding_of(function, signature.attributes, ports, where)
        return self._binding
