"""Drafts: calls of an operator that are changed step by step while they stay legal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from irexec.core.records import record, replace
from irexec.core.types import STRING, Array, ElementType, PartialShape, TensorType
from irexec.ops.spec.operator import Breach, Operator
from irexec.tools.conformance.names import CaseName, Dim, Port
from irexec.tools.conformance.seeds import Line

MOST_VALUES = 24
"""The number of integers up to which a name states an input; longer inputs are drawn from the seed."""
MOST_ELEMENTS = 1 << 14
MOST_RESULTS = 4 * MOST_ELEMENTS
"""The maximum number of elements of a drawn case: of all inputs together, and of each result."""
MOST_AXES = 8
"""The maximum rank of the inputs and results of a drawn case; runtimes have limits that models do not reach."""
# 64-bit integers that do not mean "up to the end" stay within 32 bits, because CPU plugins keep only 32 bits.
_MOST_BITS, _ENDLESS = 2**31 - 1, 2**63 - 2


@record
class DraftPort:
    """An input: its element type, its shape, and its values if the legality of the call depends on them."""

    name: str
    kind: ElementType
    shape: tuple[int, ...]
    values: tuple[Any, ...] | None = None

    def named(self, *, constant: bool = False) -> Port:
        """Return the input as a part of a name, with static dimensions."""
        dims = tuple(Dim((n,)) for n in self.shape)
        return Port(self.name, self.kind, dims, constant, None if self.values is None else texts_of(self.values))


def texts_of(values: Iterable[Any]) -> tuple[str, ...]:
    """Return values as a name states them."""
    return tuple(repr(float(value)) if isinstance(value, float) else str(value) for value in values)


@record
class Draft:
    """A call: the attributes as texts, and the inputs."""

    operator: Operator
    attributes: dict[str, str]
    ports: list[DraftPort | None]

    def copy(self) -> Draft:
        """Return a copy that can be changed."""
        return Draft(self.operator, dict(self.attributes), [None if p is None else replace(p) for p in self.ports])

    @property
    def given(self) -> list[DraftPort]:
        """The inputs that are not omitted."""
        return [port for port in self.ports if port is not None]

    def types(self) -> list[TensorType | None]:
        """Return the types of the inputs, with the values that are known."""
        return [
            None if p is None else TensorType(p.kind, PartialShape(list(p.shape)), values_of(p)) for p in self.ports
        ]

    def name(self, ports: Iterable[Port | None], seed: int, data: str = "plain", flags: Iterable[str] = ()) -> CaseName:
        """Return the name of a case with these inputs."""
        return CaseName(str(self.operator), tuple(self.attributes.items()), tuple(ports), seed, data, tuple(flags))

    def is_legal(self) -> bool:
        """Return whether the signature and the shape rule accept the call."""
        if any(n < 0 for p in self.given for n in p.shape) or self.size() > MOST_ELEMENTS:
            return False
        values, faults = self.operator.parse_attributes(self.attributes)
        if faults:
            return False
        types = self.types()
        breaches: list[Breach] = []
        if not self.operator.is_complete(types, values):
            return False
        outputs = self.operator.infer(types, values, breaches)
        if breaches:
            return False
        return all((t.rank or 0) <= MOST_AXES for t in outputs) and are_small(outputs)

    def size(self) -> int:
        """Return the number of elements of all inputs."""
        return sum(int(np.prod(p.shape, dtype=np.int64)) for p in self.given)


def are_small(results: Iterable[TensorType]) -> bool:
    """Return whether all results are small whose shapes are known."""
    return all(t.shape.is_dynamic or math.prod(t.shape.to_shape()) < MOST_RESULTS for t in results)


def values_of(port: DraftPort) -> Array | None:
    """Return the values of an input as an array; None if it does not state them."""
    if port.values is None:
        return None
    if port.kind is STRING:
        return np.array(port.values, np.dtypes.StringDType()).reshape(port.shape)
    with np.errstate(all="ignore"):
        return np.array(port.values).reshape(port.shape).astype(port.kind.dtype)


def draft_of(operator: Operator, line: Line) -> Draft:
    """Return the draft of a call in the table."""
    _, inputs, attributes = line
    return Draft(operator, dict(attributes), [_port(operator, i, item) for i, item in enumerate(inputs)])


def _port(operator: Operator, index: int, item: list[Any] | None) -> DraftPort | None:
    if item is None:
        return None
    kind, shape = ElementType.by_name[item[0]], tuple(item[1])
    name = operator.signature.port_name(index)
    port = DraftPort(name, kind, shape)
    if len(item) > 2 and len(item[2]) <= MOST_VALUES:
        states = (kind.is_integral_number and index > 0) or kind is STRING or (index > 0 and shape in ((), (1,)))
        if states and (name not in operator.oracle.generators or len(item[2]) <= 8):
            values = [float(v) if isinstance(v, str) and kind is not STRING else v for v in item[2]]
            found = tuple(int(v) if kind.is_integral_number else v for v in values)
            if not any(_MOST_BITS <= abs(v) < _ENDLESS for v in found if kind.is_integral_number):
                port.values = found
    return port


def integers(text: str) -> Iterator[int]:
    """Yield the integers of an attribute's text; nothing if the text is not a list of integers."""
    try:
        yield from [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        return
