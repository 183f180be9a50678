"""Completing an example: precisions, shapes and values that a printed layer leaves out, each with its origin."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.diagnostics.findings import Findings
from irexec.graph.build import declared_type
from irexec.ir.snippets import SnippetLayer, SnippetPort
from irexec.ir.values import Listed, shape_of
from irexec.ops.operator import Operator
from irexec.ops.signature import Elements, TypeFrom
from irexec.types import BOOLEAN, DYNAMIC, F32, I64, STRING, ElementType, PartialShape, TensorType

Array = np.ndarray[Any, Any]

# An extent that the page leaves open (-1), where no value says how large it is.
_OPEN_EXTENT = 2
# More than this is not drawn at random: it is not worth the memory of a small machine.
MAX_DRAWN_BYTES = 1 << 32


@dataclass(slots=True)
class Given:
    """What the caller supplies: arrays by port name or number, element types likewise, and how to draw the rest."""

    inputs: Mapping[str, Any] = field(default_factory=dict)
    precisions: Mapping[str, ElementType] = field(default_factory=dict)
    seed: int = 0
    duplicates: bool = False


@dataclass(slots=True)
class ExampleInput:
    """One input port of an example: its type, its array (None when it has none), and where each is from."""

    name: str
    port: SnippetPort
    type: TensorType
    array: Array | None = None
    type_from: str = ""
    array_from: str = ""


def complete_inputs(layer: SnippetLayer, operator: Operator, given: Given, findings: Findings) -> list[ExampleInput]:
    """The inputs of an example as far as they can be known without drawing any."""
    names = [operator.signature.port_name(i) for i in range(len(layer.inputs))] if operator.inputs else []
    supplied = [
        _supplied(name, i, port, given.inputs) for i, (name, port) in enumerate(zip(names, layer.inputs, strict=False))
    ]
    kinds = _element_types(layer, operator, given, supplied)
    inputs = []
    for name, port, value, (kind, origin) in zip(names, layer.inputs, supplied, kinds, strict=False):
        shape, elided = _written_shape(port), port.elided
        entry = ExampleInput(name, port, TensorType(kind, shape), type_from=origin)
        if value is not None:
            entry.array, entry.array_from = _cast(value, kind), "--input"
            entry.type = TensorType(kind, PartialShape(np.shape(value)))
        elif port.listed is not None and kind.dtype is not None:
            array = listed_array(port, kind, shape, elided, name, layer, findings)
            if array is not None:
                entry.array, entry.array_from = array, "page"
                entry.type = TensorType(kind, PartialShape(array.shape))
        inputs.append(entry)
    return inputs


def listed_array(
    port: SnippetPort,
    kind: ElementType,
    shape: PartialShape,
    elided: bool,
    name: str,
    layer: SnippetLayer,
    findings: Findings,
) -> Array | None:
    """The values that a page lists at a port, in the shape of its dims; a finding where both contradict each other."""
    assert port.listed is not None
    value = port.listed.value
    nested = shape_of(value)
    if nested is None:
        message = f"the rows of the values listed for {name} differ in length"
        findings.add("T002", message, place=port.place, layer=layer.layer.ref, port=port.port.id)
        return None
    array = _as_array(value, kind)
    if array is None:
        message = f"the values listed for {name} are no {kind} values"
        findings.add("T003", message, place=port.place, layer=layer.layer.ref, port=port.port.id)
        return None
    if elided or (shape.rank == 0 and not port.port.dims):
        return array
    extents = [d.value if d.is_static else -1 for d in shape]
    open_count = extents.count(-1)
    if open_count == 0 and math.prod(extents) == array.size:
        return array.reshape(extents)
    if open_count and shape.accepts(array.shape):
        return array
    known = math.prod(e for e in extents if e >= 0)
    if open_count == 1 and known and array.size % known == 0:
        return array.reshape(extents)
    found, allowed = f"{array.size} values", f"{shape} ({'?' if open_count else math.prod(extents)})"
    message = f"{name} lists {_plural(array.size, 'value')}, its dims {shape} hold {allowed.split('(')[1][:-1]}"
    hint = f"the values make shape {list(array.shape)}"
    findings.add(
        "T002",
        message,
        place=port.place,
        layer=layer.layer.ref,
        port=port.port.id,
        found=found,
        allowed=allowed,
        hint=hint,
    )
    return array


def draw_missing(
    inputs: Sequence[ExampleInput], operator: Operator, attributes: dict[str, Any], given: Given
) -> str | None:
    """Give every input that has no array yet seeded random values; the reason why one cannot have any, or None."""
    rng = np.random.default_rng(given.seed)
    for entry in inputs:
        if entry.array is None:
            entry.type = _static(entry.type)
    types = {
        e.name: TensorType(e.type.element_type, e.type.shape, e.array if e.array is not None else None) for e in inputs
    }
    for entry in inputs:
        if entry.array is not None:
            continue
        shape, kind = entry.type.shape, entry.type.element_type
        if not shape.is_static:
            return f"the shape of {entry.name} is not written"
        count = math.prod(shape.to_shape())
        if kind.dtype is None or count * max(1, kind.dtype.itemsize) > MAX_DRAWN_BYTES:
            return f"{entry.name} is too large to be drawn at random"
        drawer = operator.drawers.get(entry.name)
        array = drawer(rng, entry.name, types, attributes) if drawer else None
        if array is None:
            array = draw(rng, kind, shape.to_shape())
        entry.array, entry.array_from = np.asarray(array, kind.dtype), f"random (seed {given.seed})"
        types[entry.name] = TensorType(kind, shape, entry.array)
    return None


def draw(rng: np.random.Generator, kind: ElementType, shape: tuple[int, ...]) -> Array:
    """Random values of an element type: normal floats, small whole numbers, coin flips, short words."""
    if kind is BOOLEAN:
        return rng.integers(0, 2, shape).astype(np.bool_)
    if kind is STRING:
        words = np.array(["", "a", "bc", "déf", "ghij"], dtype=np.dtypes.StringDType())
        return words[rng.integers(0, len(words), shape)]
    if kind.is_integral:
        top = min(10, 2 ** (kind.bitwidth - (kind.kind == "i")))
        return rng.integers(0, top, shape).astype(kind.dtype)
    values = rng.standard_normal(shape, dtype=np.float32)
    return values if kind is F32 else values.astype(kind.dtype)


def _static(type: TensorType) -> TensorType:
    if type.rank is None:
        return type
    extents = [d.value if d.is_static else max(d.min, min(_OPEN_EXTENT, d.max or _OPEN_EXTENT)) for d in type.shape]
    return TensorType(type.element_type, PartialShape(extents))


def _written_shape(port: SnippetPort) -> PartialShape:
    """The shape that the dims say; a port without dims is a scalar, unless an ellipsis stands for them."""
    if port.elided:
        return PartialShape.dynamic()
    return declared_type(port.port).shape if port.port.dims else PartialShape(())


def _supplied(name: str, index: int, port: SnippetPort, inputs: Mapping[str, Any]) -> Any:
    for key in (name, port.role, port.port.id, str(index)):
        if key is not None and key in inputs:
            return inputs[key]
    return None


def _element_types(
    layer: SnippetLayer, operator: Operator, given: Given, supplied: Sequence[Any]
) -> list[tuple[ElementType, str]]:
    """Every input's element type and its origin: its own precision, another port of its group, its values."""
    groups: dict[str, tuple[ElementType, str]] = {}
    inputs = list(enumerate(layer.inputs))
    own: list[tuple[ElementType, str] | None] = []
    for index, port in inputs:
        name, elements = operator.signature.port_name(index), operator.signature.input(index).elements
        found = _own_type(name, port, elements, given, supplied[index])
        own.append(found)
        if found is not None and elements.name is not None and found[1] != "values":
            groups.setdefault(elements.name, (found[0], f"as {name}"))
    for index, port in enumerate(layer.outputs):
        output = operator.outputs[min(index, len(operator.outputs) - 1)] if operator.outputs else None
        kind = declared_type(port.port).element_type
        if (
            output is not None
            and isinstance(output.elements, Elements)
            and kind is not DYNAMIC
            and output.elements.name
        ):
            groups.setdefault(output.elements.name, (kind, "as the output"))
    for index, _ in inputs:
        elements, found = operator.signature.input(index).elements, own[index]
        if found is not None and elements.name is not None:
            groups.setdefault(elements.name, (found[0], f"as {operator.signature.port_name(index)}"))
    result = []
    for index, _ in inputs:
        elements, found = operator.signature.input(index).elements, own[index]
        if (found is None or found[1] == "values") and elements.name in groups:
            shared = groups[elements.name]
            found = shared if found is None or found[0] is not shared[0] else found
        result.append(found or (default_type(elements), "default"))
    return result


def _own_type(
    name: str, port: SnippetPort, elements: Elements, given: Given, value: Any
) -> tuple[ElementType, str] | None:
    for key in (name, port.role, port.port.id):
        if key is not None and key in given.precisions:
            return given.precisions[key], "--precision"
    declared = declared_type(port.port).element_type
    if declared is not DYNAMIC:
        return declared, "declared"
    if isinstance(value, np.ndarray):
        return ElementType.of(value.dtype), "--input"
    if port.listed is not None:
        kind = _kind_of(port.listed, elements)
        return None if kind is None else (kind, "values")
    return None


def _kind_of(listed: Listed, elements: Elements) -> ElementType | None:
    """The element type that listed values speak for, out of those the port takes."""
    if listed.kind in ElementType.by_name and ElementType.by_name[listed.kind] in elements.types:
        return ElementType.by_name[listed.kind]
    leaf: Any = listed.value
    items = _leaves(leaf)
    kinds = {type(i) for i in items}
    if kinds <= {bool} and items and BOOLEAN in elements.types:
        return BOOLEAN
    if str in kinds:
        return STRING if STRING in elements.types else None
    if float in kinds or listed.kind == "float":
        return F32 if F32 in elements.types else None
    if listed.kind == "int" and I64 in elements.types:
        return I64
    return None


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value]


def default_type(elements: Elements | TypeFrom) -> ElementType:
    """f32 where a port takes it, else i64, else boolean or the first of those it takes."""
    if isinstance(elements, TypeFrom):
        return DYNAMIC
    for kind in (F32, I64, BOOLEAN):
        if kind in elements.types:
            return kind
    return min(elements.types, key=lambda t: t.name)


def _as_array(value: Any, kind: ElementType) -> Array | None:
    """Listed values as an array of a type; None when they are none of its values."""
    try:
        plain = np.array(value)
        if kind is STRING:
            return np.array(value, dtype=np.dtypes.StringDType())
        if plain.size == 0:
            return np.zeros(plain.shape, kind.dtype)
        if plain.dtype.kind in "US":
            return None
        array = plain.astype(kind.dtype)
        if kind.is_integral and plain.dtype.kind == "f" and not np.array_equal(plain, np.trunc(plain)):
            return None
        return array
    except (ValueError, TypeError, OverflowError):
        return None


def _cast(value: Any, kind: ElementType) -> Array:
    array: Array = np.asarray(value)
    return array if kind.dtype is None or array.dtype == kind.dtype else array.astype(kind.dtype)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
