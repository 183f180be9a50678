"""Building the graph of a case: inputs whose extents may vary between calls, constants, layers, results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.api.opsets.nodes import constant_node, make_node, parameter_node
from irexec.core.types import Array, ElementType, PartialShape
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.conformance.case import Case, operator_named
from irexec.tools.conformance.names import GraphName
from irexec.tools.conformance.values import draw_values

_VARYING = {"N": (1, 2, 3, 4), "S": (1, 2, 5, 8, 9, 17), "H": (4, 5, 7, 8, 9, 16)}
CHANNELS = (1, 2, 3, 4, 8, 16, 17, 32)


class Graph:
    """One graph. Extents given as letters (N, S, H) are dynamic in dynamic models, and differ between the calls of a
    sequence; all other extents are fixed."""

    def __init__(self, name: GraphName) -> None:
        self.rng = np.random.default_rng([name.seed, 77])
        self.name, self.base, self.kind = name, name.base, name.kind
        self.parameters: list[Node] = []
        self.results: list[Value] = []
        self.inner: list[Value] = []
        self.sinks: list[Node] = []
        self._arrays: list[list[Array]] = [[], []]
        self._extents: dict[str, tuple[int, int]] = {}

    def pick(self, *options: Any) -> Any:
        """Return one of some options."""
        return options[int(self.rng.integers(len(options)))]

    def channels(self, *options: int) -> int:
        """Return a number of channels."""
        return int(self.pick(*(options or CHANNELS)))

    def extent(self, letter: str) -> tuple[int, int]:
        """Return the extents of a letter in the calls A and B, which are drawn at its first use."""
        if letter not in self._extents:
            first, second = (int(self.pick(*_VARYING[letter])) for _ in range(2))
            self._extents[letter] = (first, second if self.kind == "sequence" else first)
        return self._extents[letter]

    def input(
        self, dims: Sequence[int | str], kind: str = "", *, low: float | None = None, data: str = "plain"
    ) -> Value:
        """Return an input of the model. `low`: the smallest value."""
        element = ElementType.by_name[kind] if kind else self.base
        declared, shapes = [], ([], [])  # type: ignore[var-annotated]
        for dim in dims:
            extents = self.extent(dim) if isinstance(dim, str) else (dim, dim)
            declared.append(-1 if isinstance(dim, str) and self.kind != "static" else extents[0])
            for shape, extent in zip(shapes, extents, strict=True):
                shape.append(extent)
        for arrays, shape in zip(self._arrays, shapes, strict=True):
            array = draw_values(self.rng, element, tuple(shape), data)
            arrays.append(array if low is None else (np.abs(array.astype(np.float32)) + low).astype(array.dtype))
        order = (
            self.rng.permutation(len(dims))
            if "turned" in self.name.words and len(dims) > 1 and not self.parameters
            else None
        )
        if order is not None:
            declared = [declared[i] for i in order]
            for arrays in self._arrays:
                arrays[-1] = np.ascontiguousarray(np.transpose(arrays[-1], order))
        name = f"x{len(self.parameters)}"
        parameter = parameter_node(Node, PartialShape(declared), element.name, name=name)
        self.parameters.append(parameter)
        if order is None:
            return parameter.outputs[0]
        return self.op("Transpose-1", [parameter, np.argsort(order).astype(np.int64)])

    def number_input(self, first: int, second: int) -> Value:
        """Return a scalar input of i64 with a value for each of the calls A and B."""
        return self._given(np.array(first, np.int64), np.array(second, np.int64))

    def order_input(self, count: int) -> Value:
        """Return an i32 input: a permutation of `count` positions, drawn for each of the calls A and B."""
        orders = [self.rng.permutation(count).astype(np.int32) for _ in self._arrays]
        return self._given(*orders)

    def switch(self) -> Value:
        """Return a scalar boolean input: true in call A, false in B."""
        return self._given(np.array(True), np.array(False))

    def _given(self, *values: Array) -> Value:
        name = f"x{len(self.parameters)}"
        parameter = parameter_node(
            Node, PartialShape(list(values[0].shape)), ElementType.of(values[0].dtype).name, name=name
        )
        self.parameters.append(parameter)
        for arrays, value in zip(self._arrays, values, strict=True):
            arrays.append(value)
        return parameter.outputs[0]

    def constant(self, array: Array) -> Value:
        """Return the output of a new constant."""
        return constant_node(Node, array).outputs[0]

    def array(self, *shape: int, scale: float = 1.0, low: float | None = None, kind: str = "") -> Array:
        """Return random values for a constant."""
        array = draw_values(self.rng, ElementType.by_name["f32"], shape, "plain") * np.float32(scale)
        if low is not None:
            array = np.abs(array) + np.float32(low)
        return array.astype(ElementType.by_name[kind].dtype if kind else self.base.dtype)

    def integers(self, low: int, high: int, *shape: int, kind: str) -> Value:
        """Return a constant of an integer type, possibly a packed one."""
        element = ElementType.by_name[kind]
        array = self.rng.integers(low, high, shape).astype(element.dtype)
        return constant_node(Node, array, element_type=element, name=f"c{len(self.inner)}_{kind}").outputs[0]

    def number(self, value: Any, kind: str = "") -> Array:
        """Return a constant: a number, or lists of numbers."""
        return np.array(value, ElementType.by_name[kind].dtype if kind else self.base.dtype)

    def full(self, shape: Sequence[int], value: float, kind: str = "") -> Array:
        """Return a constant with one value everywhere."""
        return np.full(tuple(shape), self.number(value, kind))

    def op(self, operator: str, inputs: Sequence[Any], attributes: dict[str, Any] | None = None) -> Value:
        """Return the first output of a layer."""
        return self.ops(operator, inputs, attributes)[0]

    def ops(self, operator: str, inputs: Sequence[Any], attributes: dict[str, Any] | None = None) -> list[Value]:
        """Return all outputs of a layer."""
        given = [self._as_input(value) for value in inputs]
        node = make_node(Node, operator_named(operator), given, attributes or {}, name=f"n{len(self.inner)}")
        self.inner += node.outputs
        return list(node.outputs)

    def _as_input(self, value: Any) -> Any:
        if isinstance(value, Node):
            return value.outputs[0]
        return constant_node(Node, np.array(value, order="C")).outputs[0] if isinstance(value, np.ndarray) else value

    def result(self, *values: Value) -> None:
        """Make values results of the model."""
        self.results += values

    def assign(self, value: Value, variable: str) -> None:
        """Make a value the next one of a variable."""
        node = make_node(
            Node, operator_named("Assign-6"), [value], {"variable_id": variable}, name=f"assign_{variable}"
        )
        self.sinks.append(node)

    def case(self, text: str, facts: dict[str, str]) -> Case:
        """Return the case."""
        results, name = list(self.results), self.name
        if name.reads_inner:
            inside = [v for v in self.inner if v not in results and v.element_type.is_real]
            if inside:
                results.append(inside[int(self.rng.integers(len(inside)))])
        ends = [make_node(Node, operator_named("Result-1"), [v], {}, name=f"out{i}") for i, v in enumerate(results)]
        model = Model(ends, self.parameters, name.pattern, self.sinks)
        inputs = self._arrays if self.kind == "sequence" else self._arrays[:1]
        # Each request has its own variables; without variables there is nothing to reset.
        flags = tuple(flag for flag in name.flags if flag != ("requests" if self.sinks else "reset"))
        return Case(text, model, inputs, name.calls, flags, name.pattern, self.kind, facts)
