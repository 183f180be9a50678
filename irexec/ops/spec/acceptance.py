"""The pydantic-core schema of a layer, to which a declaration is lowered: it accepts attributes and ports in one call.

Attributes are given as the texts of a file or as values, ports as the element types of the inputs. A fault does not end
the call: it is recorded in the `Acceptance` that is the context of the call, and the rejected value is replaced by
another value. Without such a context, as in the public pydantic model, pydantic raises ValidationError.
"""

from __future__ import annotations

import contextlib
import types as python_types
from collections.abc import Callable, Container, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from irexec.core.records import MISSING, field, record
from irexec.core.types import DYNAMIC, ElementType, PartialShape, TensorType
from irexec.ops.spec.attributes import AsRead, Attribute, AttributeFault, Unreadable, Within, base_type
from irexec.ops.spec.constraints import Breach
from irexec.ops.spec.signature import Input, Signature
from irexec.ops.spec.validator import Schema, SchemaValidator, ValidationError, ValidationInfo


@record
class Acceptance:
    """The attributes and ports of a layer as parsed by its schema, and the faults found in them."""

    attributes: dict[str, Any] = field(default_factory=dict)
    """The values by Python name, including substitutes for refused values."""
    faults: list[AttributeFault] = field(default_factory=list)
    elements: dict[str, ElementType] = field(default_factory=dict)
    """The element types of the ports' type variables."""
    breaches: list[Breach] = field(default_factory=list)


class Acceptor:
    """Accepts the layers of one operator."""

    def __init__(self, signature: Signature, attributes: tuple[Attribute, ...]) -> None:
        self._declared = attributes
        self._validate = SchemaValidator(layer_schema(signature, attributes)).validate_python

    def __call__(
        self, attributes: dict[str, Any] | None = None, inputs: Sequence[TensorType | None] | None = None
    ) -> Acceptance:
        """Accept the known parts of a layer: `attributes` by their names in a file, `inputs` with one type for each
        port.
        """
        layer: dict[str, Any] = {}
        if attributes is not None:
            layer["attributes"] = attributes
        if inputs is not None:
            layer["inputs"] = [None if tensor is None else tensor.element_type for tensor in inputs]
        accepted = Acceptance()
        found = self._validate(layer, context=accepted)
        if attributes is not None:
            accepted.attributes, others, _ = found["attributes"]
            if others:
                from irexec.ops.spec.faults import unknown

                accepted.faults += [unknown(name, self._declared) for name in others]
        return accepted


def layer_schema(signature: Signature, attributes: tuple[Attribute, ...]) -> Schema:
    """Return the schema of a layer, whose attributes and inputs may both be given, or only one of these."""
    parts = {"attributes": attributes_schema(attributes), "inputs": ports_schema(signature)}
    fields = {name: {"type": "typed-dict-field", "schema": part, "required": False} for name, part in parts.items()}
    return {"type": "typed-dict", "fields": fields, "extra_behavior": "forbid"}


def attributes_schema(attributes: tuple[Attribute, ...]) -> Schema:
    """Return the schema of all attributes. Its result also contains attributes that the operator does not have."""
    fields: dict[str, Schema] = {}
    for attribute in attributes:
        # A missing required attribute is accepted like a value, and its fault is recorded by the schema of the
        # attribute.
        schema = _with_default(attribute_schema(attribute), attribute.default) | {
            "validate_default": attribute.required
        }
        fields[attribute.name] = {"type": "model-field", "schema": schema}
        if attribute.file_name != attribute.name:
            fields[attribute.name]["validation_alias"] = [[attribute.file_name], [attribute.name]]
    return {"type": "model-fields", "fields": fields, "extra_behavior": "allow"}


def attribute_schema(attribute: Attribute) -> Schema:
    """Return the schema of one attribute: the text forms of a file, and the values that Python callers pass."""
    read, plain = attribute.read, _plain_value(attribute.annotation)

    def accept(given: Any, validate: Callable[[Any], Any], info: ValidationInfo) -> Any:
        try:
            return validate(read(given) if type(given) is str else plain(given))
        except ValueError as error:
            if info.context is None:
                raise
            from irexec.ops.spec.faults import stand_in

            return stand_in(attribute, given, error, validate, info.context.faults)

    return _wrapped(accept, value_schema(attribute.annotation))


def value_schema(annotation: Any) -> Schema:
    """Return the schema of the values of an annotation. Marks that are not irexec's are left to pydantic."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        schema = value_schema(arguments[0])
        for mark in arguments[1:]:
            if isinstance(mark, Within):
                if arguments[0] not in (int, float):
                    raise TypeError(
                        f"{annotation!r}: Within requires int or float, such as Annotated[int, Within(ge=0)]"
                    )
                schema = {**schema, **{n: limit for n, limit in mark._asdict().items() if limit is not None}}
            elif not isinstance(mark, AsRead):
                schema = _marked(schema, mark)
        return schema
    if origin in (Union, python_types.UnionType):
        (present,) = (member for member in arguments if member is not type(None))
        return {"type": "nullable", "schema": value_schema(present)}
    if origin is Literal:
        return {"type": "literal", "expected": list(arguments)}
    if origin is tuple:
        items = [value_schema(item) for item in arguments if item is not Ellipsis]
        return _tuple(items, 0 if Ellipsis in arguments else None)
    return _SCHEMAS.get(annotation) or {"type": "is-instance", "cls": annotation}


_SCHEMAS: dict[Any, Schema] = {kind: {"type": kind.__name__} for kind in (int, float, bool, str)}


def _wrapped(accept: Callable[..., Any], schema: Schema) -> Schema:
    """Return the schema of `accept(given, validate, info)`, where `validate` applies `schema`."""
    return {"type": "function-wrap", "function": {"type": "with-info", "function": accept}, "schema": schema}


def _with_default(schema: Schema, default: Any) -> Schema:
    return {"type": "default", "schema": schema, "default": default}


def _tuple(items: list[Schema], variadic: int | None) -> Schema:
    """Return the schema of a tuple; the item at `variadic` may occur any number of times."""
    return {"type": "tuple", "items_schema": items} | ({} if variadic is None else {"variadic_item_index": variadic})


def _marked(schema: Schema, mark: Any) -> Schema:
    """Return the schema, extended by a pydantic annotation such as a Field, which a user-defined operator may have."""
    from pydantic import GetPydanticSchema, TypeAdapter

    known: Any = Annotated[Any, GetPydanticSchema(lambda source, handler: schema), mark]
    return dict(TypeAdapter(known).core_schema)


def _plain_value(annotation: Any) -> Callable[[Any], Any]:
    """Return a function that converts a Python caller's value (array, list, dtype) to the attribute's type."""
    base = base_type(annotation)
    is_list, choices = get_origin(base) is tuple, get_args(base) if get_origin(base) is Literal else ()

    def plain(value: Any) -> Any:
        if value is MISSING:
            raise Unreadable("D002", "a value is required")
        if hasattr(value, "tolist") and not isinstance(value, type):  # An array or a number of NumPy.
            value = value.tolist()
        if value is None:
            return "none" if "none" in choices else None
        if base is ElementType and not isinstance(value, ElementType):
            return _element_type(value)
        if not hasattr(value, "__iter__"):
            _check_size(value)
        elif base is PartialShape and not isinstance(value, PartialShape):
            return _shape(value)
        elif is_list:
            value = tuple(item.tolist() if hasattr(item, "tolist") else item for item in value)
            for item in value:
                _check_size(item)
        return value

    return plain


def _check_size(number: Any) -> None:
    if isinstance(number, int) and not -(2**63) <= number < 2**63:
        raise Unreadable("D005", "the number exceeds 64 bits")


def _element_type(value: Any) -> ElementType:
    """Return the element type of a NumPy dtype, or of a Python or NumPy number type."""
    with contextlib.suppress(TypeError):
        if isinstance(value, type) or hasattr(value, "newbyteorder"):
            return ElementType.of(value)
    raise Unreadable("D005", f"{value!r} is not an element type")


def _shape(value: Any) -> PartialShape:
    try:
        return PartialShape(value)
    except TypeError as error:
        raise Unreadable("S006", str(error)) from None


def ports_schema(signature: Signature) -> Schema:
    """Return the schema of the inputs' element types; None represents a port without a tensor."""
    variadic = next((index for index, port in enumerate(signature.inputs) if port.variadic), None)
    ports = _tuple([_port_schema(port) for port in signature.inputs], variadic)

    def accept(kinds: Any, validate: Callable[[Any], Any], info: ValidationInfo) -> Any:
        refused: set[Any] = set()
        try:
            kinds = validate(kinds)
        except ValidationError as error:
            if info.context is None:
                raise
            refused = {place for finding in error.errors() for place in finding["loc"]}
        elements, breaches = _bind(signature, kinds, refused)
        if info.context is None and breaches:
            raise ValueError(breaches[0].message)
        if info.context is not None:
            info.context.elements, info.context.breaches = elements, breaches
        return kinds

    return _wrapped(accept, ports)


def _port_schema(port: Input) -> Schema:
    """Return the schema of the element type of one input, which may still be unknown."""
    taken: Schema = {"type": "literal", "expected": [*sorted(port.elements.types, key=str), DYNAMIC]}
    if port.optional:
        return _with_default({"type": "nullable", "schema": taken}, None)
    return taken


def _bind(
    signature: Signature, kinds: Sequence[ElementType | None], refused: Container[int]
) -> tuple[dict[str, ElementType], list[Breach]]:
    """Bind the signature's type variables to element types; report inputs of rejected or differing types."""
    bound: dict[str, ElementType] = {}
    breaches: list[Breach] = []
    for index, kind in enumerate(kinds):
        if kind is None or kind is DYNAMIC:
            continue
        elements = signature.input(index).elements
        if index in refused:
            name, message = signature.port_name(index), f"is {kind}, expected {elements.expected}"
            breaches.append(Breach("O002", f"{name} {message}", port=name, found=str(kind), allowed=elements.listed))
            continue
        if elements.name is None:
            continue
        first = bound.setdefault(elements.name, kind)
        if first is not kind and elements.binding:
            name, message = signature.port_name(index), f"is {kind}, expected {first}"
            other = next(
                i for i, k in enumerate(kinds) if k is first and signature.input(i).elements.name == elements.name
            )
            message += f" as {signature.port_name(other)} is: both have type {elements.name}"
            breaches.append(Breach("O003", f"{name} {message}", port=name, found=str(kind), allowed=str(first)))
    return bound, breaches
