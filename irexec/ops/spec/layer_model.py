"""The pydantic model of a layer, built from the schemas that accept layers; for JSON Schema and pydantic users."""

from __future__ import annotations

from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetPydanticSchema, WithJsonSchema, create_model

from irexec.core.types import FOREIGN, ElementType, PartialShape
from irexec.ops.spec.acceptance import attribute_schema, ports_schema
from irexec.ops.spec.attributes import Attribute, base_type
from irexec.ops.spec.signature import Signature
from irexec.ops.spec.validator import Schema

_CONFIG = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True, populate_by_name=True)
_NAMES = sorted(name for name, kind in ElementType.by_name.items() if kind not in FOREIGN)
_JSON_SCHEMAS: dict[Any, dict[str, Any]] = {
    ElementType: {"type": "string", "enum": _NAMES},
    PartialShape: {"type": "string", "description": "partial shape, such as 1,3,?,1..10"},
}


def layer_model(
    title: str, signature: Signature, attributes: tuple[Attribute, ...], doc: str | None
) -> type[BaseModel]:
    """Return the model of a layer: its attributes, as in `attributes_model`, and the element types of its inputs."""
    ports = Annotated[
        tuple[ElementType | None, ...],
        _accepted_by(ports_schema(signature)),
        BeforeValidator(lambda kinds: [_element_type(kind) for kind in kinds]),
        WithJsonSchema(_ports_json_schema(signature)),
    ]
    data = attributes_model(f"{title}_attributes", attributes, None)
    return create_model(title, __config__=_CONFIG, __doc__=doc, attributes=(data, ...), inputs=(ports, ...))


def attributes_model(title: str, attributes: tuple[Attribute, ...], doc: str | None) -> type[BaseModel]:
    """Return the model of an operator's `<data>`, which accepts texts and values and forbids unknown attributes."""
    fields: dict[str, Any] = {}
    for a in attributes:
        annotation: Any = Annotated[a.annotation, _accepted_by(attribute_schema(a))]
        if (schema := _JSON_SCHEMAS.get(base_type(a.annotation))) is not None:
            annotation = Annotated[annotation, WithJsonSchema(schema)]
        alias = None if a.file_name == a.name else a.file_name
        fields[a.name] = (annotation, Field(... if a.required else a.default, alias=alias))
    return create_model(title, __config__=_CONFIG, __doc__=doc, **fields)


def _accepted_by(schema: Schema) -> GetPydanticSchema:
    return GetPydanticSchema(lambda source, handler: cast(Any, schema))


def _element_type(kind: Any) -> Any:
    return ElementType.from_attribute(kind) or kind if isinstance(kind, str) else kind


def _ports_json_schema(signature: Signature) -> dict[str, Any]:
    """Return the JSON schema of the ports, with the names of the element types that each port accepts."""
    ports: list[dict[str, Any]] = [
        {"title": port.name, "enum": sorted(kind.name for kind in port.elements.types) + [None] * port.optional}
        for port in signature.inputs
    ]
    return {
        "type": "array",
        "prefixItems": [schema for schema, port in zip(ports, signature.inputs, strict=True) if not port.variadic],
        "items": ports[-1] if signature.is_variadic else False,
        "minItems": signature.min_inputs,
    }
