"""The facts about each operator, from its signature: ports, attributes, element types, versions."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from irexec.core.types import (
    ANY,
    BOOLEAN,
    FLOATS,
    INTEGERS,
    LOW_PRECISION,
    NUMERIC,
    OPTIONALS,
    SEQUENCES,
    SIGNED,
    STRING,
    UNSIGNED,
    ElementType,
)
from irexec.ops.spec import contents
from irexec.ops.spec.operator import REGISTRY, Operator, Tolerance
from irexec.ops.spec.signature import Elements, TypeFrom
from irexec.tools.catalog.json_schema import operator_schema

_GROUPS = {
    "any": ANY, "sequences": SEQUENCES, "optionals": OPTIONALS, "numeric": NUMERIC, "float": FLOATS,
    "integer": INTEGERS, "signed": SIGNED, "unsigned": UNSIGNED, "low precision": LOW_PRECISION,
}  # fmt: skip
_ORDER = list(ElementType.by_name)


class PortFacts(BaseModel):
    """An input or output. `group`: the type variable that ports share; `types`: a text with the types that it allows.

    For an output whose type is given by an attribute, `group` is None and `types` names the attribute.
    """

    name: str
    group: str | None
    types: str
    optional: bool = False
    variadic: bool = False


class AttributeFacts(BaseModel):
    """An attribute under its name in a file. `values` are the members of an enumeration."""

    name: str
    type: str
    required: bool
    default: Any = None
    values: list[str] = []


class OperatorFacts(BaseModel):
    """One operator.

    `opsets`: the versions under which a file may name the operator; `versions`: all versions of its type.
    """

    name: str
    type: str
    opset: str
    opsets: list[str]
    versions: list[str]
    category: str
    module: str
    implemented: bool
    description: str = ""
    inputs: list[PortFacts] = []
    attributes: list[AttributeFacts] = []
    outputs: list[PortFacts] = []
    tolerance: str = ""


def all_facts() -> list[OperatorFacts]:
    """Return every operator of the opsets, by type and version, including operators that are not implemented."""
    return [_facts(type, f"opset{number}", found) for type, number, found in contents.everything()]


def foreign_facts() -> list[OperatorFacts]:
    """Return the operators that extensions have registered."""
    own = {(type, f"opset{number}") for type, (_, numbers) in contents.CONTENTS.items() for number in numbers}
    return [_facts(*key, REGISTRY[key]) for key in sorted(REGISTRY.keys() - own)]


def facts_of(text: str) -> OperatorFacts | None:
    """Return the operator called `Gather`, `Gather-7`, `Gather-opset7` or `MyOp-mine`, ignoring the letter case of the
    type.

    Without a version, the newest operator is returned; a number may also be the version on the operation page.
    """
    type, _, version = text.partition("-")
    canonical = contents.canonical_type(type) or type
    if canonical in contents.CONTENTS:
        number = version.removeprefix("opset")
        if version and not (number.isascii() and number.isdigit() and len(number) < 4):
            return _registered(canonical, version)
        opset = contents.versioned(canonical, int(number) if number else None) or ""
        if version.startswith("opset"):
            introduced = contents.introduced(canonical, int(number)) if version in contents.OPSETS else None
            opset = f"opset{introduced}"
        elif number and int(number) > contents.NEWEST:
            return None
        found = contents.find(canonical, opset)
        return _facts(canonical, opset, found) if opset in contents.OPSETS else None
    return _registered(type, version)


def nearest(text: str) -> list[str]:
    """Return the names of operators that are spelled like the text."""
    return contents.nearest_types(text.partition("-")[0])


def operator_of(facts: OperatorFacts) -> Operator | None:
    """Return the operator that the facts describe; None if it is not implemented."""
    return REGISTRY.get((facts.type, facts.opset))


def _registered(type: str, version: str) -> OperatorFacts | None:
    if version:
        found = contents.find(type, version)
        return None if found is None else _facts(type, found.opset, found)
    # These calls register the operators of ONNX and of OpenVINO Tokenizers.
    contents.find(type, next(iter(contents.ONNX_OPSETS)))
    contents.find(type, "extension")
    own = _versions(type)
    return _facts(type, own[-1], REGISTRY[type, own[-1]]) if own else None


def _versions(type: str) -> list[str]:
    """Return the opsets that have registered the type, the newest of each kind last: `onnx9` before `onnx11`."""
    own = [opset for name, opset in REGISTRY if name == type]
    return sorted(own, key=lambda opset: (opset.rstrip("0123456789"), len(opset), opset))


def _facts(type: str, opset: str, operator: Operator | None) -> OperatorFacts:
    number = contents.OPSETS.get(opset) if type in contents.CONTENTS else None
    if number is not None:
        opsets = [text for text, n in contents.OPSETS.items() if contents.introduced(type, n) == number]
        versions = [f"opset{n}" for n in contents.CONTENTS[type][1]]
        module = f"irexec.ops.{contents.CONTENTS[type][0]}"
        category = contents.CONTENTS[type][0].partition(".")[0]
    else:
        assert operator is not None
        opsets, versions, category = [opset], _versions(type), "extension"
        module = operator.__module__
    made = OperatorFacts(
        name=f"{type}-{opset.removeprefix('opset')}",
        type=type,
        opset=opset,
        opsets=opsets,
        versions=versions,
        category=category,
        module=module,
        implemented=operator is not None,
    )
    return made if operator is None else made.model_copy(update=_signature(operator))


_PER = {
    "element": "",
    "root": " times the root of the number of terms",
    "extent": " times the number of elements of the axes that change",
    "angle": " times the length of the transformed axes",
}


def _units(tolerance: Tolerance) -> str:
    least = " or ".join(tolerance.among) or (f"{tolerance.least:g}" if tolerance.least else "")
    return f"{tolerance.ulp:g} ulp{_PER[tolerance.per]}" + (f" of at least {least}" if least else "")


def _signature(operator: Operator) -> dict[str, Any]:
    tolerance = operator.oracle.tolerance
    return {
        "description": inspect.cleandoc(operator.__doc__ or ""),
        "inputs": [
            PortFacts(
                name=port.name,
                group=port.elements.name,
                types=element_types(port.elements.types),
                optional=port.optional,
                variadic=port.variadic,
            )
            for port in operator.inputs
        ],
        "outputs": [
            _output(str(index), output.elements, output.variadic) for index, output in enumerate(operator.outputs)
        ],
        "attributes": list(_attributes(operator)),
        "tolerance": f"rounded ({_units(tolerance)})" if tolerance.kind == "rounded" else tolerance.kind,
    }


def _output(name: str, elements: Elements | TypeFrom, variadic: bool) -> PortFacts:
    if isinstance(elements, TypeFrom):
        return PortFacts(name=name, group=None, types=f"given by {elements.attribute}", variadic=variadic)
    return PortFacts(name=name, group=elements.name, types=element_types(elements.types), variadic=variadic)


def _attributes(operator: Operator) -> Iterator[AttributeFacts]:
    properties = operator_schema(operator)["properties"]
    for attribute in operator.attributes:
        schema = properties[attribute.file_name]
        yield AttributeFacts(
            name=attribute.file_name,
            type=_type_text(schema),
            required=attribute.required,
            default=schema.get("default"),
            values=list(attribute.members),
        )


def _type_text(schema: dict[str, Any]) -> str:
    """Return a readable name of an attribute's type: `integer, at least 1`, `list of numbers`, `element type`."""
    if "anyOf" in schema:
        return _type_text(next(option for option in schema["anyOf"] if option.get("type") != "null"))
    if "enum" in schema or "const" in schema:
        members = schema.get("enum", [schema.get("const")])
        return "element type" if len(members) > 20 else "one of"
    if schema["type"] == "array":
        items = schema["items"]
        if "enum" in items:
            return f"list, each one of {', '.join(items['enum'])}"
        item, bounds = _type_text(items).partition(", ")[::2]
        return f"list of {item}s" + (f", each {bounds}" if bounds else "")
    text = str(schema["type"])
    for key, word in {"minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most"}.items():
        if key in schema:
            text += f", {word} {schema[key]}"
    return "partial shape" if "partial shape" in schema.get("description", "") else text


def element_types(types: frozenset[ElementType]) -> str:
    """Return a short text for a set of element types: `numeric, boolean`."""
    rest, words = set(types), []
    for word, group in _GROUPS.items():
        if len(rest) > 2 and group <= rest:
            words.append(word)
            rest -= group
    if words == ["numeric", "low precision"] and rest in ({BOOLEAN}, {STRING}):
        return f"any but {'string' if rest == {BOOLEAN} else 'boolean'}"
    return ", ".join([*words, *sorted((t.name for t in rest), key=_ORDER.index)])


def module_path(facts: OperatorFacts) -> str:
    """Return the source file of an operator: relative to the repository, or the whole path for an extension."""
    if not facts.module.startswith("irexec."):
        return getattr(sys.modules.get(facts.module), "__file__", None) or facts.module
    return Path(*facts.module.split(".")).with_suffix(".py").as_posix()
