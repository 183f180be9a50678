"""Facts about one model as plain data: a tree of dataclasses that is converted directly to JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from enum import StrEnum
from typing import Any


@dataclass(slots=True)
class Port:
    """An input or output of the whole model. `shape` is in OpenVINO's text form: `[1,3,?,?]`."""

    name: str
    element_type: str
    shape: str
    names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Attribute:
    """An attribute, with its value as it is written in a file. `default`: the file omits the attribute."""

    name: str
    value: str
    default: bool = False


@dataclass(slots=True)
class Input:
    """An input port of a layer: its name in the signature, and the layer (an index) and output that feed it."""

    name: str
    layer: int | None = None
    output: int = 0


@dataclass(slots=True)
class Output:
    """An output port: the inferred type, and the declared type if it differs."""

    element_type: str
    shape: str
    declared: str | None = None
    names: list[str] = field(default_factory=list)
    bytes: int | None = None


@dataclass(slots=True)
class Layer:
    """One layer. `index` is its position in `Summary.layers`, which every other field refers to.

    `parent` is the layer whose body contains it, and `branch` the name of that body. `operator` is None if the operator
    is unknown. `multiply_adds` is None if it depends on a dynamic shape. `line` counts from 1. `text`: the layer in the
    text form.
    """

    index: int
    id: str
    name: str
    type: str
    version: str
    operator: str | None
    attributes: list[Attribute] = field(default_factory=list)
    inputs: list[Input] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    parent: int | None = None
    branch: str = ""
    multiply_adds: int | None = 0
    constant: str | None = None
    line: int | None = None
    column: int | None = None
    text: str = ""
    unreachable: bool = False
    findings: list[int] = field(default_factory=list)


@dataclass(slots=True)
class OperatorCount:
    """The number of layers with one operator, and the sum of their known multiply-adds."""

    operator: str
    layers: int
    multiply_adds: int


@dataclass(slots=True)
class LiveValue:
    """A value that exists at the peak of memory: the output of a layer (an index), its type, and its size."""

    layer: int
    output: int
    element_type: str
    shape: str
    bytes: int


@dataclass(slots=True)
class Live:
    """The peak memory of the values between layers, and the `layer` that runs at the peak; None with dynamic shapes.

    `values`: those that exist at the peak, the largest first; their sum is `bytes`.
    """

    bytes: int | None
    layer: int | None = None
    values: list[LiveValue] = field(default_factory=list)


@dataclass(slots=True)
class Totals:
    """Sums over all layers, including layers of bodies.

    `parameters` is the number of elements of constants that have, or are converted to, a floating-point type.
    `weight_bytes` is the size of all constants in the `.bin`, by element type. A body is counted once per iteration,
    or once if the number of iterations is unknown. `uncounted` lists the layers whose multiply-adds or iterations are
    unknown.
    """

    layers: int
    constants: int
    parameters: int
    weight_bytes: int
    weight_types: dict[str, int]
    multiply_adds: int
    uncounted: list[int]
    live: Live
    opsets: dict[str, int]
    operators: list[OperatorCount]
    dynamic: list[int]


@dataclass(slots=True)
class State:
    """A variable: the layers that read and assign it."""

    name: str
    element_type: str
    shape: str
    reads: list[int] = field(default_factory=list)
    assigns: list[int] = field(default_factory=list)


class Mark(StrEnum):
    """What an entry of rt_info contains that should not be published."""

    SECRET = "secret"
    PATH = "path"


@dataclass(slots=True)
class Provenance:
    """An entry of the model's rt_info: its path of names, and its value, of which a secret shows only the beginning."""

    path: list[str]
    value: str
    mark: Mark | None = None


@dataclass(slots=True)
class Summary:
    """All facts about one model. `layers` come in the order of execution, each body after its layer."""

    name: str
    file: str | None
    version: int
    inputs: list[Port]
    outputs: list[Port]
    totals: Totals
    states: list[State]
    provenance: list[Provenance]
    layers: list[Layer]
    findings: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready values."""
        plain: dict[str, Any] = _plain(self)
        return plain


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
