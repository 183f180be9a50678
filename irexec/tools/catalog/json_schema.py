"""JSON Schema of an operator's attributes, derived from its signature."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

from irexec.core.types import ElementType, PartialShape
from irexec.ops.spec.attributes import attribute_text
from irexec.ops.spec.layer_model import attributes_model
from irexec.ops.spec.operator import Operator


def operator_schema(operator: Operator) -> dict[str, Any]:
    """Return the JSON Schema of an operator's attributes, under their names in files, as numbers and lists instead of
    texts.
    """
    with warnings.catch_warnings():
        # Pydantic warns about defaults that are element types or shapes; they are inserted below.
        warnings.simplefilter("ignore")
        made = attributes_model(str(operator), operator.attributes, operator.__doc__).model_json_schema(by_alias=True)
    properties = made.get("properties", {})
    for attribute in operator.attributes:
        entry = properties[attribute.file_name]
        entry.pop("title", None)
        if not attribute.required:
            entry["default"] = _json_value(attribute.default)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": operator.versioned_name,
        "description": inspect.cleandoc(operator.__doc__ or ""),
        "type": "object",
        "properties": properties,
        "required": [a.file_name for a in operator.attributes if a.required],
        "additionalProperties": False,
    } | ({"$defs": made["$defs"]} if "$defs" in made else {})


def _json_value(value: Any) -> Any:
    if isinstance(value, (ElementType, PartialShape)):
        return attribute_text(value)
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return attribute_text(value)
    return list(value) if isinstance(value, tuple) else value
