"""An example written as assignments, `data = [...]`, as the layer that it describes: its values bound to ports and
attributes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from irexec.core.diagnostics import Place
from irexec.core.diagnostics.findings import At
from irexec.core.types import F32, I32, I64, ElementType
from irexec.frontends.pages.assignments import Assignment
from irexec.frontends.pages.listed import Listed, leaves
from irexec.frontends.pages.page import TextExample, is_output
from irexec.frontends.pages.reader import SnippetLayer, SnippetPort
from irexec.ir.document import Layer, Port
from irexec.ir.xml.events import Span
from irexec.ir.xml.source import Source
from irexec.ops.spec import contents
from irexec.ops.spec.attributes import attribute_text
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.signature import TypeFrom

# Names that pages give to the first input, regardless of its name in the operator.
_FIRST = ("input", "data", "x", "arg", "inputs", "input_shape")
# Words for element types in sentences, and the names of these types for attributes.
_TYPE_WORDS = {"double": "f64", "float": "f32", "half": "f16"}
_SHAPE = re.compile(r"(\w+?)_?shape")


@dataclass(slots=True)
class Described:
    """A layer that a text describes. `layers` has one entry for each choice of the element types that the text omits.

    `locate` gives the location of findings in the text. `problem` gives the reason if there is no layer.
    """

    layers: tuple[SnippetLayer, ...] = ()
    locate: Callable[[At], Place] = lambda _: Place()
    problem: str | None = None


def describe(example: TextExample) -> Described:
    """Return the layer that an example written as assignments describes."""
    named = example.named
    if named is None:
        return Described(problem="the page does not name its operator")
    node = example.group.node
    if node is not None and node.type != named.type:
        return Described(problem=f"the example uses {node.type}, but the page describes {named}")
    operator = contents.find(named.type, named.opset) if named.opset is not None else None
    if operator is None:
        known = contents.canonical_type(named.type) is not None
        return Described(problem=f"{named} is not implemented yet" if known else f"{named} is not a known operator")
    return _Binder(example, operator).described()


class _Binder:
    """Assigns the named values of one example to the ports and attributes of the operator's signature."""

    def __init__(self, example: TextExample, operator: Operator) -> None:
        self.example = example
        self.operator = operator
        self.group = example.group
        self.text = Source(example.excerpt.text)
        own = example.group.assignments
        values = {a.name: a for a in (*example.givens, *example.in_prose)} | own
        self.shapes = {m[1].lower(): a for n, a in values.items() if (m := _SHAPE.fullmatch(n.lower()))}
        self.values = {_folded(name): a for name, a in values.items()}
        self.spans: dict[At, Span] = {At(0): Span(example.start, 1)}

    def described(self) -> Described:
        inputs = self._inputs()
        if isinstance(inputs, str):
            return Described(problem=inputs)
        data = self._attributes()
        outputs = self._outputs(len(inputs))
        if not outputs and self.group.unread and self.group.node is None:
            return Described(problem=f"the value of {self.group.unread[0]} is not a list of numbers")
        layers = [self._layer(choice, outputs, data) for choice in self._choices(inputs, data)]
        return Described(tuple(layers), self._locate)

    def _choices(self, inputs: list[SnippetPort], data: dict[str, str]) -> Iterator[list[SnippetPort]]:
        """Yield the given inputs, followed by a variant for every possible element type if none is specified."""
        yield inputs
        for kind, members in self._open_types(inputs, data):
            yield [
                replace(port, port=replace(port.port, precision=kind.port_name)) if index in members else port
                for index, port in enumerate(inputs)
            ]

    def _open_types(self, inputs: list[SnippetPort], data: dict[str, str]) -> Iterator[tuple[ElementType, list[int]]]:
        """Yield element types, and the inputs that may have them."""
        ports = [self.operator.signature.input(i).elements for i in range(len(inputs))]
        unsaid = [i for i, port in enumerate(inputs) if port.port.precision is None]
        for output in self.operator.outputs:
            if isinstance(output.elements, TypeFrom):
                kind = ElementType.by_name.get(data.get(output.elements.attribute, ""))
                if kind is not None:
                    yield kind, [i for i in unsaid if kind in ports[i].types and F32 in ports[i].types]
        if 0 not in unsaid:
            return
        members = [i for i in unsaid if i == 0 or (ports[0].name is not None and ports[i].name == ports[0].name)]
        listed = [port.listed.value for i in members if (port := inputs[i]).listed is not None]
        if all(isinstance(leaf, int) and not isinstance(leaf, bool) for leaf in leaves(listed)):
            yield from ((kind, members) for kind in (I32, I64) if kind in ports[0].types)

    def _layer(self, inputs: list[SnippetPort], outputs: list[SnippetPort], data: dict[str, str]) -> SnippetLayer:
        layer = Layer(
            at=0,
            id="0",
            name=self.operator.type,
            type=self.operator.type,
            version=self.operator.opset,
            data=data,
            data_at=1,
            inputs=tuple(port.port for port in inputs),
            outputs=tuple(port.port for port in outputs),
        )
        return SnippetLayer(layer, tuple(inputs), tuple(outputs))

    def _locate(self, at: At) -> Place:
        span = self.spans.get(at) or self.spans.get(At(at.element)) or self.spans[At(0)]
        return self.text.place(span)

    def _inputs(self) -> list[SnippetPort] | str:
        """Return the inputs in order, or a sentence that names the missing input."""
        node = self.group.node
        found: list[SnippetPort] = []
        left_out: list[str] = []
        for index, entry in enumerate(self.operator.inputs):
            if entry.variadic and node is None:
                return [*found, *self._variadic(index)]
            if node is not None:
                name = node.inputs[index] if index < len(node.inputs) else ""
                given = self.values.pop(_folded(name), None)
            else:
                given = self._take(entry.name, first=index == 0)
            if given is not None and left_out:
                return f"its {left_out[0]} is missing"
            if given is not None:
                found.append(self._port(given, index, 2 + index))
            elif not entry.optional and not entry.variadic:
                return f"its {entry.name} is missing"
            else:
                left_out.append(entry.name)
        return found

    def _variadic(self, index: int) -> list[SnippetPort]:
        """Return every list that is neither an attribute nor a result, in order: `A = [...]`, `B = [...]`."""
        attributes = {_folded(attribute.name) for attribute in self.operator.attributes}
        found: list[SnippetPort] = []
        for name, given in list(self.values.items()):
            if name in attributes or is_output(given.name) or _SHAPE.fullmatch(given.name.lower()):
                continue
            if isinstance(given.value, str):
                continue
            found.append(self._port(self.values.pop(name), index + len(found), 2 + index + len(found)))
        return found

    def _take(self, name: str, *, first: bool) -> Assignment | None:
        found = self.values.pop(_folded(name), None)
        if found is None and first:
            taken = {_folded(entry.name) for entry in self.operator.inputs}
            taken |= {_folded(attribute.name) for attribute in self.operator.attributes}
            for other in _FIRST:
                if _folded(other) not in taken and (found := self.values.pop(_folded(other), None)) is not None:
                    break
        return found

    def _attributes(self) -> dict[str, str]:
        """Return the operator's attributes as the text of a `<data>`."""
        made = {_folded(k): v for k, v in (self.group.node.attributes if self.group.node else {}).items()}
        data = {}
        for attribute in self.operator.attributes:
            given = self.values.pop(_folded(attribute.name), None)
            value: Any = given.value if given is not None else made.get(_folded(attribute.name))
            if value is None:
                continue
            text = attribute_text(value)
            data[attribute.file_name] = _TYPE_WORDS.get(text, text)
            if given is not None:
                self.spans[At(1, attribute.file_name)] = given.span
        return self._with_pads(data)

    def _with_pads(self, data: dict[str, str]) -> dict[str, str]:
        """Return the attributes with pads, which texts omit if `auto_pad` determines them."""
        axes = data.get("kernel") or data.get("strides")
        if data.get("auto_pad", "explicit") not in ("explicit", "notset") and axes:
            zeros = ",".join("0" for _ in axes.split(","))
            own = {attribute.file_name for attribute in self.operator.attributes}
            data |= {name: zeros for name in ("pads_begin", "pads_end") if name in own and name not in data}
        return data

    def _outputs(self, inputs: int) -> list[SnippetPort]:
        """Return the documented outputs in order; numbers in names such as `output0` are positions."""
        node = self.group.node
        named = [a for a in self.group.assignments.values() if is_output(a.name) and _folded(a.name) in self.values]
        places: dict[int, Assignment] = {}
        for order, given in enumerate(named):
            digits = re.search(r"(?<!\d)\d++$", given.name)
            index = order if digits is None or len(named) == 1 else int(digits[0])
            if node is not None and given.name in node.outputs:
                index = node.outputs.index(given.name)
            places[index] = given
        first = min(places, default=0)
        count = len(places) if sorted(places) == list(range(first, first + len(places))) else 0
        return [
            self._port(places[first + index], inputs + index, 2 + inputs + index, is_result=True)
            for index in range(count)
        ]

    def _port(self, given: Assignment, index: int, at: int, *, is_result: bool = False) -> SnippetPort:
        self.spans[At(at)] = given.span
        shape = given.shape
        stated = self.shapes.get(given.name.lower())
        if (
            shape is None
            and stated is not None
            and isinstance(stated.value, list)
            and _folded(stated.name) in self.values
        ):
            shape = tuple(extent for extent in stated.value if isinstance(extent, int) and extent >= 0)
        dims = tuple(map(str, shape or ()))
        kind = ElementType.by_name.get(given.kind or "")
        precision = kind.port_name if kind is not None and not is_result else None
        port = Port(at=at, id=str(index), precision=precision, dims=dims, dims_at=(at,) * len(dims))
        place = self.text.place(given.span)
        return SnippetPort(port, given.name, Listed(given.value, given.name, given.kind), place, elided=not dims)


def _folded(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")
