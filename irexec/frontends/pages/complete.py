"""Completing an example: precisions, shapes and values that a printed layer leaves out, each with its origin."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import BOOLEAN, DYNAMIC, F32, I64, STRING, Array, ElementType, PartialShape, TensorType
from irexec.frontends.pages.listed import Listed, leaves
from irexec.frontends.pages.reader import SnippetLayer, SnippetPort
from irexec.model.arrays.accept import shape_of
from irexec.model.arrays.brief import plural, shown_shape
from irexec.model.arrays.draw import draw, draw_for, has_no_result_for_zeros, repeated, undrawable
from irexec.model.arrays.given import FIRST_GROUP, Given, Origin, convert
from irexec.model.graph.build import declared_type
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.signature import Elements, TypeFrom


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason why an example cannot be run.

    `advice`: options that may help. `by_chance`: the random values are the cause.
    """

    reason: str
    advice: str | None = None
    by_chance: bool = False

    def __str__(self) -> str:
        return self.reason


# An extent that the page leaves open (-1), if no value determines it.
_OPEN_EXTENT = 2


class TypeSource(Enum):
    """The source of an input's element type, which a page may leave out."""

    DECLARED = "declared"
    OPTION = "--precision"
    ARRAY = "--input"
    PORT = "as {}"
    OUTPUT = "as the output"
    VALUES = "values"
    DEFAULT = "default"


class TypeOrigin(NamedTuple):
    """The source of an element type; `port` names the input of the same group that determines it, if any."""

    source: TypeSource
    port: str = ""

    def __str__(self) -> str:
        return self.source.value.format(self.port)


_VALUES = TypeOrigin(TypeSource.VALUES)
Typed = tuple[ElementType, TypeOrigin]


@dataclass(slots=True)
class ExampleInput:
    """One input port of an example: its type, its array (or None), and the source of each.

    `repaired`: the values were read in a shape other than the written shape, so that further checks are possible.
    """

    name: str
    port: SnippetPort
    type: TensorType
    array: Array | None = None
    type_from: TypeOrigin = TypeOrigin(TypeSource.DEFAULT)  # noqa: RUF009 - immutable
    origin: Origin | None = None
    repaired: bool = False

    @property
    def is_drawn(self) -> bool:
        return self.origin is Origin.DRAWN

    @property
    def keys(self) -> tuple[str, ...]:
        """Additional names of the input: the name used by the page, and the id of its port."""
        return tuple(key for key in (self.port.role, self.port.port.id) if key)


def complete_inputs(layer: SnippetLayer, operator: Operator, given: Given, findings: Findings) -> list[ExampleInput]:
    """Return the inputs of an example before missing values are drawn."""
    ports = layer.inputs if operator.inputs else ()
    names = [operator.signature.port_name(i) for i in range(len(ports))]
    supplied = [_of_port(given.inputs, name, i, port) for i, (name, port) in enumerate(zip(names, ports, strict=True))]
    kinds = _element_types(layer, operator, given, supplied)
    inputs = []
    for index, (name, port, value, (kind, origin)) in enumerate(zip(names, ports, supplied, kinds, strict=True)):
        shape, wanted = _written_shape(port), _of_port(given.shapes, name, index, port)
        if wanted is not None:
            shape = PartialShape(wanted)
        entry = ExampleInput(name, port, TensorType(kind, shape), type_from=origin)
        if value is not None:
            entry.array, entry.origin = _supplied_array(value, kind, shape, name, layer, findings), Origin.SUPPLIED
        elif port.listed is not None and kind.dtype is not None and wanted is None:
            entry.array, entry.origin = listed_array(port, kind, shape, name, layer, findings), Origin.PAGE
        if entry.array is not None:
            entry.type = TensorType(kind, PartialShape(entry.array.shape))
        inputs.append(entry)
    return inputs


def _supplied_array(
    value: Any, kind: ElementType, shape: PartialShape, name: str, layer: SnippetLayer, findings: Findings
) -> Array | None:
    """Return the values of --input in the port's type. A flat list is reshaped to the port's dims."""
    array = None if shape_of(value) is None else convert(value, kind)
    if array is None:
        message = f"the values given for {name} are not {kind} values"
        if shape_of(value) is None:
            message = f"the rows of the values given for {name} differ in length"
        findings.add("U004", message, layer=layer.layer.ref, port=name)
        return None
    if not isinstance(value, np.ndarray) and array.ndim <= 1 and shape.is_static:
        extents = shape.to_shape()
        return array.reshape(extents) if math.prod(extents) == array.size else array
    return array


def listed_array(
    port: SnippetPort, kind: ElementType, shape: PartialShape, name: str, layer: SnippetLayer, findings: Findings
) -> Array | None:
    """Return the values that a page lists at a port, in the shape of its dims; report contradictions."""
    assert port.listed is not None
    where: dict[str, Any] = {"place": port.place, "layer": layer.layer.ref, "port": port.port.id}
    value = port.listed.value
    if shape_of(value) is None:
        findings.add("T002", f"the rows of the values listed for {name} differ in length", **where)
        return None
    array = convert(value, kind)
    if array is None:
        findings.add("T003", f"the values listed for {name} are not {kind} values", **where)
        return None
    if port.elided or not port.port.dims or shape.rank is None:
        return array
    extents = [d.value if d.is_static else -1 for d in shape]
    unknown, known = extents.count(-1), math.prod(e for e in extents if e >= 0)
    if unknown and shape.accepts(array.shape):
        return array
    if (unknown == 0 and known == array.size) or (unknown == 1 and known and array.size % known == 0):
        return array.reshape(extents)
    holds = str(known) if not unknown else f"multiples of {known}" if unknown == 1 else "others"
    message = f"{name} lists {plural(array.size, 'value')}, but its dims {shape} hold {holds}"
    found, allowed = plural(array.size, "value"), f"{shape}: {holds}"
    hint = f"the values have shape {shown_shape(array.shape)}"
    repair = {port.port.id or "": array.shape}
    findings.add("T002", message, found=found, allowed=allowed, hint=hint, repair=repair, **where)
    return array


def draw_missing(
    inputs: Sequence[ExampleInput], operator: Operator, attributes: dict[str, Any], given: Given
) -> Obstacle | None:
    """Set seeded random values for every input without an array; return the reason if values for an input cannot be
    drawn, else None.
    """
    rng = np.random.default_rng(given.seed)
    missing = [entry for entry in inputs if entry.array is None]
    total = 0
    for entry in missing:
        entry.type = _static(entry.type)
        kind, shape = entry.type.element_type, entry.type.shape
        if not shape.is_static:
            return Obstacle(f"{entry.name} has no shape", f"use --shape {entry.name}=1,2,3")
        if kind.dtype is None:
            return Obstacle(f"the precision of {entry.name} is unknown", f"use --precision {entry.name}=f32")
        if (reason := undrawable(kind, shape.to_shape(), total)) is not None:
            return Obstacle(f"{entry.name} {reason}", "provide values with --input")
        total += math.prod(shape.to_shape()) * kind.dtype.itemsize
    types = {e.name: TensorType(e.type.element_type, e.type.shape, e.array) for e in inputs}
    for entry in missing:
        entry.array = _drawn(rng, entry, operator, types, attributes, given)
        entry.origin = Origin.DRAWN
        types[entry.name] = TensorType(entry.type.element_type, entry.type.shape, entry.array)
    return None


def _drawn(
    rng: np.random.Generator,
    entry: ExampleInput,
    operator: Operator,
    types: dict[str, TensorType],
    attributes: dict[str, Any],
    given: Given,
) -> Array:
    shape, kind = entry.type.shape.to_shape(), entry.type.element_type
    array = draw_for(rng, operator, entry.name, types, attributes)
    if array is None:
        array = draw(rng, kind, shape)
    elif given.duplicates and array.dtype.kind in "iu" and array.size > 1:
        # Values are drawn again from the drawn values, so that they are in range and some occur more than once.
        array = repeated(rng, array)
    if entry.name == operator.signature.port_name(1) and has_no_result_for_zeros(operator, kind):
        array = np.where(array == 0, array.dtype.type(1), array)
    return np.asarray(array, kind.dtype)


def _static(type: TensorType) -> TensorType:
    if type.rank is None:
        return type
    extents = [d.value if d.is_static else max(d.min, min(_OPEN_EXTENT, d.max or _OPEN_EXTENT)) for d in type.shape]
    return TensorType(type.element_type, PartialShape(extents))


def _written_shape(port: SnippetPort) -> PartialShape:
    """Return the shape given by the dims; a port without dims is a scalar, unless an ellipsis stands for them."""
    if port.elided:
        return PartialShape.dynamic()
    return declared_type(port.port).shape if port.port.dims else PartialShape(())


def _of_port(given: Mapping[str, Any], name: str, index: int, port: SnippetPort) -> Any:
    """Return the value that an option gives for a port, by its name, its name on the page, its id or its position."""
    keys = (name, port.role, port.port.id, str(index))
    return next((given[key] for key in keys if key is not None and key in given), None)


def _element_types(layer: SnippetLayer, operator: Operator, given: Given, supplied: Sequence[Any]) -> list[Typed]:
    """Return every input's element type and the origin of the type: the port's precision, another port of its group, or
    the values.
    """
    signature = operator.signature
    names = [signature.port_name(i) for i in range(len(supplied))]
    ports = [signature.input(i).elements for i in range(len(supplied))]
    own = [
        _own_type(name, index, port, elements, given, value)
        for index, (name, port, elements, value) in enumerate(zip(names, layer.inputs, ports, supplied, strict=False))
    ]
    groups: dict[str | None, Typed] = {}
    for name, elements, found in zip(names, ports, own, strict=True):
        if found is not None and found[1] is not _VALUES:
            groups.setdefault(elements.name, (found[0], TypeOrigin(TypeSource.PORT, name)))
    for index, port in enumerate(layer.outputs if operator.outputs else ()):
        output = operator.outputs[min(index, len(operator.outputs) - 1)].elements
        kind = declared_type(port.port).element_type
        if isinstance(output, Elements) and kind is not DYNAMIC:
            groups.setdefault(output.name, (kind, TypeOrigin(TypeSource.OUTPUT)))
    if FIRST_GROUP in given.precisions and ports:
        chosen = (given.precisions[FIRST_GROUP], TypeOrigin(TypeSource.OPTION))
        if ports[0].name is not None:
            groups.setdefault(ports[0].name, chosen)
        elif own[0] is None or own[0][1] is _VALUES:
            own[0] = chosen
    for name, elements, found in zip(names, ports, own, strict=True):
        if found is not None:
            groups.setdefault(elements.name, (found[0], TypeOrigin(TypeSource.PORT, name)))
    groups.pop(None, None)
    result = []
    for elements, found in zip(ports, own, strict=True):
        if (found is None or found[1] is _VALUES) and elements.name in groups:
            shared = groups[elements.name]
            found = shared if found is None or found[0] is not shared[0] else found
        result.append(found or (default_type(elements), TypeOrigin(TypeSource.DEFAULT)))
    return result


def _own_type(name: str, index: int, port: SnippetPort, elements: Elements, given: Given, value: Any) -> Typed | None:
    if (wanted := _of_port(given.precisions, name, index, port)) is not None:
        return wanted, TypeOrigin(TypeSource.OPTION)
    declared = declared_type(port.port).element_type
    if declared is not DYNAMIC:
        return declared, TypeOrigin(TypeSource.DECLARED)
    if isinstance(value, np.ndarray):
        with contextlib.suppress(TypeError):
            return ElementType.of(value.dtype), TypeOrigin(TypeSource.ARRAY)
    listed = port.listed if value is None else Listed(value) if not isinstance(value, np.ndarray) else None
    if listed is not None:
        kind = _kind_of(listed, elements)
        return None if kind is None else (kind, _VALUES)
    return None


def _kind_of(listed: Listed, elements: Elements) -> ElementType | None:
    """Return the accepted element type of the port that fits listed values best."""
    if listed.kind in ElementType.by_name and ElementType.by_name[listed.kind] in elements.types:
        return ElementType.by_name[listed.kind]
    leaf: Any = listed.value
    items = leaves(leaf)
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


def default_type(elements: Elements | TypeFrom) -> ElementType:
    """Return f32 if the port accepts it, else i64, else boolean or the first accepted type."""
    if isinstance(elements, TypeFrom):
        return DYNAMIC
    for kind in (F32, I64, BOOLEAN):
        if kind in elements.types:
            return kind
    return min(elements.types, key=lambda t: t.name)
