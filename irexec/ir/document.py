"""The document: the elements of a file as raw text, each with its position, before any interpretation."""

from __future__ import annotations

from typing import Literal

from irexec.core.diagnostics.diagnostic import LayerRef
from irexec.core.records import field, record
from irexec.core.structure import ASSIGN, IF, LOOP, RESULT, TENSOR_ITERATOR
from irexec.ir.xml.source import Source


@record
class Item:
    """A part of the file; `at` is its element's number in document order (root = 0, -1: not in a file)."""

    at: int = -1


@record
class Element(Item):
    """An element kept unchanged: rt_info, meta_data, quantization_parameters, pre-process and their descendants."""

    tag: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    children: tuple[Element, ...] = ()
    text: str | None = None


@record
class Port(Item):
    """A `<port>`: `dims` are the texts of its `<dim>`s, `other` the attributes that the grammar does not define.

    `dims_at` contains the numbers of the `<dim>`s if they do not directly follow the port; see `dim_at`.
    """

    id: str | None = None
    precision: str | None = None
    names: str | None = None
    dims: tuple[str, ...] = ()
    dims_at: tuple[int, ...] | None = None
    rt_info: Element | None = None
    other: dict[str, str] | None = None

    def dim_at(self, index: int) -> int:
        """Return the number of the element of `dims[index]`."""
        return self.at + 1 + index if self.dims_at is None else self.dims_at[index]


@record
class Edge(Item):
    """An `<edge>` of `<edges>`. `other` contains the attributes that the grammar does not define."""

    from_layer: str | None = None
    from_port: str | None = None
    to_layer: str | None = None
    to_port: str | None = None
    other: dict[str, str] | None = None


@record
class PortMap(Item):
    """An `<input>` or `<output>` of a port map: connects an outer port with a Parameter or Result of the body."""

    kind: Literal["input", "output"] = "input"
    external_port_id: str | None = None
    internal_layer_id: str | None = None
    axis: str | None = None
    start: str | None = None
    end: str | None = None
    stride: str | None = None
    part_size: str | None = None
    purpose: str | None = None


@record
class BackEdge(Item):
    """An `<edge>` of `<back_edges>`: a body Result that feeds a body Parameter in the next iteration."""

    from_layer: str | None = None
    to_layer: str | None = None


PORT_MAPS = (("port_map", "body"), ("then_port_map", "then_body"), ("else_port_map", "else_body"))
"""The elements of each body: its port map and its net."""
BODIES = {**dict.fromkeys((TENSOR_ITERATOR, LOOP, "Subgraph"), PORT_MAPS[:1]), IF: PORT_MAPS[1:]}
"""The types of layers with bodies, and the elements of each body: its port map and its net."""
ROOT_TYPES = (RESULT, ASSIGN)
"""The types of layers that are computed although no layer reads them."""


@record
class Layer(Item):
    """A `<layer>`. An absent section is an empty tuple (or None); `data_at` is -1 without `<data>`.

    Layers with equal `<data>` may share one dict, which must not be changed. `is_plain`: the layer has only the fields
    before `is_plain`. `other` contains the attributes that the grammar does not define.
    """

    id: str | None = None
    name: str | None = None
    type: str | None = None
    version: str | None = None
    output_names: str | None = None
    data: dict[str, str] = field(default_factory=dict)
    data_at: int = -1
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    is_plain: bool = field(default=False, compare=False)
    rt_info: Element | None = None
    port_map: tuple[PortMap, ...] | None = None
    back_edges: tuple[BackEdge, ...] | None = None
    body: Net | None = None
    then_port_map: tuple[PortMap, ...] | None = None
    else_port_map: tuple[PortMap, ...] | None = None
    then_body: Net | None = None
    else_body: Net | None = None
    other: dict[str, str] | None = None

    @property
    def ref(self) -> LayerRef:
        """The name of this layer in findings."""
        return LayerRef(self.id or "", self.name or "", self.type or "", self.version or "")

    @property
    def bodies(self) -> list[tuple[str, tuple[PortMap, ...], Net]]:
        """The bodies that the element contains: the name of each, its port map and its net."""
        nets = ((name, getattr(self, maps) or (), getattr(self, name)) for maps, name in PORT_MAPS)
        return [] if self.is_plain else [entry for entry in nets if entry[2] is not None]

    @property
    def may_have_bodies(self) -> bool:
        """Whether the layer's type has bodies, or its element contains a body in spite of its type."""
        return self.type in BODIES or not (self.is_plain or self.body is self.then_body is self.else_body is None)


@record
class Net(Item):
    """A `<net>`, or a `<body>`, which has the same sections and no version."""

    name: str | None = None
    version: str | None = None
    layers: tuple[Layer, ...] = ()
    edges: tuple[Edge, ...] = ()
    rt_info: Element | None = None
    meta_data: Element | None = None
    quantization_parameters: Element | None = None
    pre_process: Element | None = None


@record
class Document:
    """A file that was read: its root and its source text."""

    net: Net
    source: Source
