"""What ONNX defines of an operator, read once: to ask its package for each node takes longer than the rest."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, NamedTuple

import onnx
from onnx import defs

from irexec.frontends.onnx.kinds import constraint_type
from irexec.types import ElementType


class Port(NamedTuple):
    """An input; `kinds` are its element types, none where any will do."""

    name: str
    kinds: tuple[ElementType, ...]


class Definition:
    """One version of an operator. `schema` is ONNX's own."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.since: int = schema.since_version
        self.least, self.most, self.most_outputs = schema.min_input, schema.max_input, schema.max_output
        self.has_function: bool = schema.has_function or schema.has_context_dependent_function
        self.deprecated: bool = schema.deprecated
        # Name → whether it must be given.
        self.attributes: dict[str, bool] = {name: entry.required for name, entry in schema.attributes.items()}

    @cached_property
    def defaults(self) -> dict[str, onnx.AttributeProto]:
        """The attributes that have a value where none is given."""
        entries = self.schema.attributes.items()
        return {name: entry.default_value for name, entry in entries if entry.default_value.name}

    @cached_property
    def ports(self) -> list[Port]:
        """The inputs; the last one may stand for any number of them."""
        constraints = {c.type_param_str: c.allowed_type_strs for c in self.schema.type_constraints}
        found = []
        for formal in self.schema.inputs:
            texts = constraints.get(formal.type_str, [formal.type_str])
            kinds = (kind for text in texts if (kind := constraint_type(text)) is not None)
            found.append(Port(formal.name, tuple(kinds)))
        return found


@cache
def definition(type: str, opset: int, domain: str) -> Definition:
    """An operator as an opset has it. Raises SchemaError, TypeError or OverflowError where there is none."""
    return Definition(defs.get_schema(type, opset, domain))
