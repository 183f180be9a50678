"""Signatures: the ports, element types and attributes that a kernel's annotations declare.

The module defines the marks for annotations and reads the functions that are annotated with them.
"""

from __future__ import annotations

import inspect
import types as python_types
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from irexec.core.records import MISSING, field, record
from irexec.core.types import DYNAMIC, Array, ElementType, PartialShape, TensorType
from irexec.ops.spec.attributes import Attribute
from irexec.ops.spec.groups import AttributesOf, attributes_in, is_group

# The maximum number of element types that a message names.
_MOST_NAMED = 8

T = TypeVar("T")


class Elements:
    """A type variable: ports with the same variable have the same element type out of `types`, unless the variable has
    no name.

    `binding=False`: the types may differ. The page requires equal types, but OpenVINO's own converters write different
    types and all readers accept them (integers whose type does not matter, such as indices).
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
        """The only possible type, or None if there are several."""
        return next(iter(self.types)) if len(self.types) == 1 else None

    @property
    def listed(self) -> str:
        """The names of the types, separated by commas."""
        return ", ".join(sorted(map(str, self.types)))

    @property
    def expected(self) -> str:
        """The types for a message: their names, or only their number if there are many."""
        if len(self.types) > _MOST_NAMED:
            return f"one of {len(self.types)} other types"
        return self.listed if len(self.types) == 1 else f"one of {self.listed}"


class TypeFrom(NamedTuple):
    """An output whose element type is given by an attribute: `Annotated[Array, TypeFrom("destination_type")]`."""

    attribute: str


class Input(NamedTuple):
    """One input port, or (`variadic`) any number of ports."""

    name: str
    elements: Elements
    optional: bool = False
    variadic: bool = False


class Output(NamedTuple):
    """One output port, or (`variadic`) as many ports as the shape rule returns."""

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
    """The parameters that declare groups: name, class, and the attributes' names."""
    min_inputs: int = field(init=False)
    max_inputs: int | None = field(init=False)
    """None if the last input is variadic."""
    is_variadic: bool = field(init=False)
    makes_any_number: bool = field(init=False)
    """True if the shape rule determines the number of outputs."""
    attribute_names: frozenset[str] = field(init=False)
    """The Python names of the attributes."""

    def __post_init__(self) -> None:
        self.min_inputs = sum(not i.optional and not i.variadic for i in self.inputs)
        self.is_variadic = any(i.variadic for i in self.inputs)
        self.makes_any_number = bool(self.outputs) and self.outputs[0].variadic
        self.max_inputs = None if self.is_variadic else len(self.inputs)
        self.attribute_names = frozenset(attribute.name for attribute in self.attributes)

    def input(self, index: int) -> Input:
        """Return the port at a position; a variadic last port covers all further positions."""
        return self.inputs[min(index, len(self.inputs) - 1)]

    def port_name(self, index: int) -> str:
        port = self.input(index)
        return f"{port.name}[{index - len(self.inputs) + 1}]" if port.variadic else port.name

    def named(self, inputs: Sequence[T]) -> dict[str, T]:
        """Return the inputs by the names of their ports, none of which is variadic."""
        return dict(zip((port.name for port in self.inputs), inputs, strict=True))

    def missing(self, inputs: Sequence[object]) -> list[str]:
        """Return the names of the required inputs that are absent or None."""
        count = max(len(inputs), self.min_inputs + self.is_variadic)
        return [
            self.port_name(index)
            for index in range(count)
            if (index >= len(inputs) or inputs[index] is None) and not self.input(index).optional
        ]

    def fault_of_count(
        self, count: int, missing: Sequence[str] = (), *, with_bodies: bool = False
    ) -> tuple[str, str] | None:
        """Return a message about a wrong number of input ports, and the allowed numbers; None if `count` is allowed.

        `missing`: names of inputs that lack a tensor. `with_bodies`: the bodies determine which inputs are required.
        """
        low, high = max(self.min_inputs, int(self.is_variadic)), self.max_inputs
        low = min(low, 1) if with_bodies else low
        if not missing and count >= low and (high is None or count <= high):
            return None
        allowed = str(low) if low == high else f"{low} to {high}" if high is not None else f"at least {low}"
        names = ", ".join(port.name for port in self.inputs)
        message = f"has {count} input port{'s' * (count != 1)}, expected {allowed} ({names})"
        return f"{message}; {', '.join(missing)} is missing" if missing else message, allowed


class HasSignature(Protocol):
    """The members of an operator that InputsOf uses."""

    @property
    def signature(self) -> Signature: ...


class InputsOf:
    """The inputs of another version, to which the kernel passes them; `without`: the number of trailing inputs that are
    omitted.

    def prior_box_1(*inputs: Annotated[Any, InputsOf(prior_box_8)], sizes: Sizes) -> T_OUT:
    """

    def __init__(self, operator: HasSignature, *, without: int = 0) -> None:
        inputs = operator.signature.inputs
        self.inputs = inputs[: len(inputs) - without]


def inputs_of(hint: Any) -> InputsOf | None:
    """Return the InputsOf mark of an annotation."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, InputsOf)), None)


def read_signature(kernel: Callable[..., Any]) -> Signature:
    """Return the signature of a kernel. Raises TypeError, with the reason, for an invalid declaration."""
    where = f"{kernel.__module__}.{kernel.__qualname__}"
    try:
        hints = get_type_hints(kernel, include_extras=True)
    except NameError as error:
        raise TypeError(f"{where}: an annotation cannot be read: {error}") from error
    inputs: list[Input] = []
    attributes: list[Attribute] = []
    groups: list[tuple[str, type, tuple[str, ...]]] = []
    takes_out = False
    for parameter in inspect.signature(kernel).parameters.values():
        if parameter.name not in hints:
            raise TypeError(f"{where}: parameter {parameter.name!r} has no annotation")
        hint = hints[parameter.name]
        if (other := inputs_of(hint)) is not None:
            inputs += other.inputs
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            elements = _mark(hint)
            if not isinstance(elements, Elements):
                raise TypeError(f"{where}: input {parameter.name!r} needs Annotated[Array, Elements(...)]")
            optional, variadic = parameter.default is not parameter.empty, parameter.kind == parameter.VAR_POSITIONAL
            if inputs and inputs[-1].optional and not optional and not variadic:
                raise TypeError(f"{where}: the required input {parameter.name!r} follows an optional one")
            inputs.append(Input(parameter.name, elements, optional, variadic))
        elif parameter.kind == parameter.KEYWORD_ONLY:
            if parameter.name == "out":
                takes_out = True
                continue
            declared = _declared(where, parameter, hint)
            attributes += declared
            if is_group(hint):
                groups.append((parameter.name, hint, tuple(a.name for a in declared)))
        elif parameter.kind == parameter.VAR_KEYWORD:
            attributes = _completed(where, hint, attributes)
        else:
            raise TypeError(f"{where}: put a `/` after the inputs and a `*` before the attributes ({parameter.name!r})")
    if "return" not in hints:
        raise TypeError(f"{where}: the outputs need a return annotation")
    _check_names(where, attributes)
    return Signature(tuple(inputs), _outputs(where, hints["return"]), tuple(attributes), takes_out, tuple(groups))


def port_parameters(kernel: inspect.Signature, inputs: tuple[Input, ...]) -> list[inspect.Parameter]:
    """Return the inputs as parameters, annotated as in the kernel; inputs of another version are annotated as Array."""
    return [
        kernel.parameters.get(i.name)
        or inspect.Parameter(
            i.name,
            inspect.Parameter.POSITIONAL_ONLY,
            default=None if i.optional else inspect.Parameter.empty,
            annotation=Array,
        )
        for i in inputs
    ]


def _declared(where: str, parameter: inspect.Parameter, hint: Any) -> list[Attribute]:
    """Return the attributes that a keyword-only parameter declares: a single attribute, or those of its group."""
    try:
        default = MISSING if parameter.default is parameter.empty else parameter.default
        if not is_group(hint):
            return [Attribute.declare(parameter.name, hint, default)]
        if default is not MISSING:
            raise TypeError("a group cannot have a default, but its fields can")
        return list(attributes_in(hint))
    except TypeError as error:
        raise TypeError(f"{where}: attribute {parameter.name!r}: {error}") from error


def _completed(where: str, hint: Any, own: list[Attribute]) -> list[Attribute]:
    """Return the attributes of a kernel with `**rest`: its own, and those of the version that `**rest` names."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    other = next((m for m in marks if isinstance(m, AttributesOf)), None)
    if other is None:
        raise TypeError(f"{where}: `**` needs Annotated[Any, AttributesOf(another version)]")
    try:
        return other.completed(own)
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error


def _check_names(where: str, attributes: list[Attribute]) -> None:
    """Raise TypeError if two attributes have the same name, in Python or in a file."""
    for kind in ("name", "file_name"):
        names = [getattr(a, kind) for a in attributes]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise TypeError(f"{where}: attribute {twice[0]!r} is declared twice")


def _mark(hint: Any) -> Elements | TypeFrom | None:
    """Return the Elements or TypeFrom mark of an annotation, also inside `| None`."""
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


def output_types(
    outputs: Sequence[Output], shapes: Any, bound: dict[str, ElementType], attributes: dict[str, Any]
) -> list[TensorType]:
    """Return the output types. `shapes` is the result of a shape rule: None, or one or several shapes or types."""
    if isinstance(shapes, (PartialShape, TensorType)) or (
        shapes is not None
        and outputs
        and not outputs[0].variadic
        and len(outputs) == 1
        and not isinstance(shapes, list)
    ):
        shapes = [shapes]
    if shapes is None:
        shapes = [PartialShape.dynamic()] * len(outputs)
    result = []
    for index, shape in enumerate(shapes):
        output = outputs[min(index, len(outputs) - 1)]
        if not isinstance(shape, TensorType):
            shape = TensorType(_resolve(output.elements, bound, attributes), _as_shape(shape))
        elif type(shape.shape) is not PartialShape:
            kind = _resolve(output.elements, bound, attributes) if shape.element_type is DYNAMIC else shape.element_type
            shape = TensorType(kind, _as_shape(shape.shape), shape.held, shape.partial)
        elif shape.element_type is DYNAMIC:
            kind = _resolve(output.elements, bound, attributes)
            shape = TensorType(kind, shape.shape, shape.held, shape.partial)
        result.append(shape)
    return result


def _as_shape(shape: Any) -> PartialShape:
    """Return a rule's result as a PartialShape of core/types. The public subclass has OpenVINO's members, such as a
    rank that is a Dimension.
    """
    if type(shape) is PartialShape:
        return shape
    if not isinstance(shape, PartialShape):
        return PartialShape(shape)
    return PartialShape.dynamic() if shape._dims is None else PartialShape(shape._dims)


def _resolve(elements: Elements | TypeFrom, bound: dict[str, ElementType], attributes: dict[str, Any]) -> ElementType:
    if isinstance(elements, TypeFrom):
        value = attributes.get(elements.attribute)
        if isinstance(value, str):
            return ElementType.by_name.get(value, DYNAMIC)
        return value if isinstance(value, ElementType) else DYNAMIC
    return bound.get(elements.name or "") or elements.fixed or DYNAMIC
