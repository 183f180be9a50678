"""ONNX's operator definitions, read from a file beside this module: loading the package onnx takes longer.

`python docs/stored.py` regenerates the file. Each of its lines describes one operator. The
package is used for newer opsets, for operators of other domains, and for the functions by which ONNX defines operators.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

from irexec.core.types import ElementType
from irexec.frontends.onnx.kinds import constraint_type
from irexec.frontends.onnx.messages import onnx

_FILE = Path(__file__).with_name("definitions.txt")
_FUNCTION, _DEPRECATED = 1, 2


class NoSuchOperator(LookupError):
    """Raised for an operator that the opset does not contain."""


class Port(NamedTuple):
    """An input port; `kinds` are its allowed element types, empty if any type is allowed."""

    name: str
    kinds: tuple[ElementType, ...]


class Definition(NamedTuple):
    """One version of an operator. `attributes`: name → whether it is required.

    The last of the `ports` may be variadic.
    """

    type: str
    domain: str
    since: int
    least: int
    most: int
    most_outputs: int
    has_function: bool
    deprecated: bool
    attributes: dict[str, bool]
    ports: list[Port]

    @property
    def schema(self) -> Any:
        """Return the operator's schema from the package onnx."""
        from onnx import defs

        return defs.get_schema(self.type, self.since, self.domain)

    @property
    def defaults(self) -> dict[str, onnx.AttributeProto]:
        """The default values of attributes by name, for the attributes that have a default."""
        entries = self.schema.attributes.items()
        return {name: entry.default_value for name, entry in entries if entry.default_value.name}


@cache
def definition(type: str, opset: int, domain: str) -> Definition:
    """Return the definition of an operator in an opset. Raises NoSuchOperator."""
    if domain or not 0 < opset <= newest_opset():
        return _asked(type, opset, domain)
    known = [entry for entry in _table().versions(type) if entry[0] <= opset]
    if not known:
        raise NoSuchOperator(type)
    return _defined(type, domain, max(known, key=lambda entry: int(entry[0])), _table().kinds)


def _defined(type: str, domain: str, entry: list[Any], kinds: Callable[[int], tuple[ElementType, ...]]) -> Definition:
    """Return the definition in a version's entry; `kinds` maps a list's number to its element types."""
    since, least, most, most_outputs, flags, attributes, ports = entry
    return Definition(
        type,
        domain,
        since,
        least,
        most,
        most_outputs,
        bool(flags & _FUNCTION),
        bool(flags & _DEPRECATED),
        {name: bool(required) for name, required in attributes.items()},
        [Port(name, kinds(number)) for name, number in ports],
    )


def newest_opset() -> int:
    """Return the newest opset that the file contains."""
    return int(_table().head["newest"])


class _Table:
    """The parsed file: a header line, followed by the operators, each with its name and its versions."""

    def __init__(self) -> None:
        self._text = _FILE.read_text("utf-8")
        self._kinds: dict[int, tuple[ElementType, ...]] = {}

    @cached_property
    def head(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._text[: self._text.index("\n")])
        return found

    def versions(self, type: str) -> list[Any]:
        at = self._text.find(f"\n{type} [") if type.isidentifier() else -1
        if at < 0:
            return []
        found: list[Any] = json.loads(self._text[at + len(type) + 2 : self._text.index("\n", at + 1)])
        return found

    def kinds(self, number: int) -> tuple[ElementType, ...]:
        """Return the element types in the list with this number."""
        if number not in self._kinds:
            self._kinds[number] = _kinds(self.head["types"][number])
        return self._kinds[number]


@cache
def _table() -> _Table:
    return _Table()


def _asked(type: str, opset: int, domain: str) -> Definition:
    """Return the definition of an operator in an opset, obtained from the package onnx."""
    from onnx import defs

    try:
        schema: Any = defs.get_schema(type, opset, domain)
    except (defs.SchemaError, OverflowError, TypeError):
        raise NoSuchOperator(type) from None
    types: list[list[str]] = []
    entry = _entry(schema, types)
    return _defined(type, domain, entry, lambda number: _kinds(types[number]))


def _kinds(texts: list[str]) -> tuple[ElementType, ...]:
    """Return the element types of a constraint, without the types that irexec does not support."""
    return tuple(kind for text in texts if (kind := constraint_type(text)) is not None)


def _entry(schema: Any, types: list[list[str]]) -> list[Any]:
    """Return the file's entry for an operator's version, which refers to lists in `types` by number; new lists are
    added."""
    constraints = {c.type_param_str: sorted(c.allowed_type_strs) for c in schema.type_constraints}
    ports = []
    for formal in schema.inputs:
        texts = constraints.get(formal.type_str, [formal.type_str])
        if texts not in types:
            types.append(texts)
        ports.append([formal.name, types.index(texts)])
    flags = _FUNCTION * (schema.has_function or schema.has_context_dependent_function) + _DEPRECATED * schema.deprecated
    attributes = {name: int(entry.required) for name, entry in sorted(schema.attributes.items())}
    return [schema.since_version, schema.min_input, schema.max_input, schema.max_output, flags, attributes, ports]


def text() -> str:
    """Return the contents of the file, generated from the package onnx."""
    from onnx import __version__, defs

    types: list[list[str]] = []
    operators: dict[str, list[Any]] = {}
    schemas: Any = defs.get_all_schemas_with_history()
    for schema in sorted((s for s in schemas if not s.domain), key=lambda s: (s.name, s.since_version)):
        operators.setdefault(schema.name, []).append(_entry(schema, types))
    head = {"onnx": __version__, "newest": defs.onnx_opset_version(), "types": types}
    lines = [f"{name} {json.dumps(versions, separators=(',', ':'))}" for name, versions in operators.items()]
    return "\n".join([json.dumps(head), *lines]) + "\n"
