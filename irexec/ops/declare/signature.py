"""Signatures: what a kernel's annotations say about ports, element types and attributes.

The marks that stand in annotations are here, and the reading of a function that carries them.
"""

from __future__ import annotations

import types as python_types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin

from irexec.ops.declare.attributes import Attribute
from irexec.ops.declare.groups import AttributesOf, attributes_in, is_group
from irexec.ops.declare.parameters import (
    ANY_BY_NAME,
    ANY_BY_POSITION,
    BY_NAME,
    BY_POSITION,
    Parameter,
    annotations_of,
    parameters_of,
)
from irexec.records import MISSING, NamedTuple, field, record
from irexec.types import ElementType

# A message names no more element types than these.
_MOST_NAMED = 8


class Elements:
    """A type variable: ports that share it have the same element type, one of `types`; without a name, they need not.

    `binding=False`: they may differ. The page requires equal types, but OpenVINO's own converters write others and
    every reader takes them (integers whose type does not matter, such as indices).
    """

    __slots__ = ("binding", "name", "types")

    def __init__(
        self, name: str | None, types: frozenset[ElementType] | set[ElementType], *, binding: bool = True
    ) -> None:
        self.name = name
        self.types = frozenset(types)
        self.binding = binding

    @property
    def fixed(self) -> ElementType | None:
        """The one type that is possible, if there is only one."""
        return next(iter(self.types)) if len(self.types) == 1 else None

    @property
    def listed(self) -> str:
        """The names of the types, between commas."""
        return ", ".join(sorted(map(str, self.types)))

    @property
    def expected(self) -> str:
        """The types in a message: a few are named, many are counted."""
        if len(self.types) > _MOST_NAMED:
            return f"one of {len(self.types)} other types"
        return self.listed if len(self.types) == 1 else f"one of {self.listed}"


class TypeFrom(NamedTuple):
    """An output whose element type an attribute decides: `Annotated[Array, TypeFrom("destination_type")]`."""

    attribute: str


class Input(NamedTuple):
    """One input port. `variadic`: stands for any number of ports."""

    name: str
    elements: Elements
    optional: bool = False
    variadic: bool = False


class Output(NamedTuple):
    """One output port, or (`variadic`) a number of ports that the shape rule decides."""

    elements: Elements | TypeFrom
    variadic: bool = False


@record
class Signature:
    """The ports and attributes of an operator, as its kernel declares them."""

    inputs: tuple[Input, ...]
    outputs: tuple[Output, ...]
    attributes: tuple[Attribute, ...]
    takes_out: bool
    groups: tuple[tuple[str, type, tuple[str, ...]], ...] = ()
    """The parameters that stand for groups: name, class, the attributes' names."""
    min_inputs: int = field(init=False)
    max_inputs: int | None = field(init=False)
    """None where the last one is variadic."""
    is_variadic: bool = field(init=False)
    makes_any_number: bool = field(init=False)
    """Of outputs, which the shape rule decides."""
    attribute_names: frozenset[str] = field(init=False)
    """As Python has them."""

    def __post_init__(self) -> None:
        self.min_inputs = sum(not i.optional and not i.variadic for i in self.inputs)
        self.is_variadic = any(i.variadic for i in self.inputs)
        self.makes_any_number = bool(self.outputs) and self.outputs[0].variadic
        self.max_inputs = None if self.is_variadic else len(self.inputs)
        self.attribute_names = frozenset(attribute.name for attribute in self.attributes)

    def input(self, index: int) -> Input:
        """The port at a position; the variadic one stands for all positions beyond the last."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    def port_name(self, index: int) -> str:
        port = self.input(index)
        return f"{port.name}[{index - len(self.inputs) + 1}]" if port.variadic else port.name


def read_signature(kernel: Callable[..., Any]) -> Signature:
    """The signature of a kernel. Raises TypeError, saying what is wrong, for a declaration that makes no sense."""
    where = f"{kernel.__module__}.{kernel.__qualname__}"
    try:
        hints = annotations_of(kernel)
    except NameError as error:
        raise TypeError(f"{where}: an annotation cannot be read: {error}") from error
    inputs: list[Input] = []
    attributes: list[Attribute] = []
    groups: list[tuple[str, type, tuple[str, ...]]] = []
    takes_out = False
    for parameter in parameters_of(kernel):
        if parameter.name not in hints:
            raise TypeError(f"{where}: parameter {parameter.name!r} has no annotation")
        hint = hints[parameter.name]
        if parameter.kind in (BY_POSITION, ANY_BY_POSITION):
            elements = _mark(hint)
            if not isinstance(elements, Elements):
                raise TypeError(f"{where}: input {parameter.name!r} needs Annotated[Array, Elements(...)]")
            optional = parameter.default is not MISSING
            if inputs and inputs[-1].optional and not optional and parameter.kind == BY_POSITION:
                raise TypeError(f"{where}: the required input {parameter.name!r} follows an optional one")
            inputs.append(Input(parameter.name, elements, optional, parameter.kind == ANY_BY_POSITION))
        elif parameter.kind == BY_NAME:
            if parameter.name == "out":
                takes_out = True
                continue
            declared = _declared(where, parameter, hint)
            attributes += declared
            if is_group(hint):
                groups.append((parameter.name, hint, tuple(a.name for a in declared)))
        elif parameter.kind == ANY_BY_NAME:
            attributes = _completed(where, hint, attributes)
        else:
            raise TypeError(f"{where}: put a `/` after the inputs and a `*` before the attributes ({parameter.name!r})")
    if "return" not in hints:
        raise TypeError(f"{where}: the outputs need a return annotation")
    _check_names(where, attributes)
    return Signature(tuple(inputs), _outputs(where, hints["return"]), tuple(attributes), takes_out, tuple(groups))


def _declared(where: str, parameter: Parameter, hint: Any) -> list[Attribute]:
    """The attributes that a keyword-only parameter declares: one, or those of its group."""
    try:
        if not is_group(hint):
            return [Attribute.declare(parameter.name, hint, parameter.default)]
        if parameter.default is not MISSING:
            raise TypeError("a group has no default, its fields may")
        return list(attributes_in(hint))
    except TypeError as error:
        raise TypeError(f"{where}: attribute {parameter.name!r}: {error}") from error


def _completed(where: str, hint: Any, own: list[Attribute]) -> list[Attribute]:
    """The attributes of a kernel that has `**rest`, those of the other version among them."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    other = next((m for m in marks if isinstance(m, AttributesOf)), None)
    if other is None:
        raise TypeError(f"{where}: `**` needs Annotated[Any, AttributesOf(another version)]")
    try:
        return other.completed(own)
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error


def _check_names(where: str, attributes: list[Attribute]) -> None:
    """No two attributes of one name, in Python or in a file."""
    for kind in ("name", "file_name"):
        names = [getattr(a, kind) for a in attributes]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise TypeError(f"{where}: attribute {twice[0]!r} is declared twice")


def _mark(hint: Any) -> Elements | TypeFrom | None:
    """The Elements or TypeFrom mark of an annotation, through `| None`."""
    if get_origin(hint) is Annotated:
        return next((m for m in get_args(hint)[1:] if isinstance(m, (Elements, TypeFrom))), None)
    if get_origin(hint) in (Union, python_types.UnionType):
        return next((m for m in map(_mark, get_args(hint)) if m is not None), None)
    return None


def _outputs(where: str, hint: Any) -> tuple[Output, ...]:
    if hint is type(None):
        return ()
    if get_origin(hint) is list:
        return (Output(_output_mark(where, get_args(hint)[0]), variadic=True),)
    hints = get_args(hint) if get_origin(hint) is tuple else (hint,)
    return tuple(Output(_output_mark(where, h)) for h in hints)


def _output_mark(where: str, hint: Any) -> Elements | TypeFrom:
    mark = _mark(hint)
    if mark is None:
        raise TypeError(f"{where}: an output needs Annotated[Array, Elements(...)] or TypeFrom")
    return mark
