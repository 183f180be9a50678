"""The document: what a file says, element by element, as raw text with its place and without any meaning."""

# Annotations are evaluated as they stand here: pydantic compiles those that are texts, one by one.
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from irexec.diagnostics.diagnostic import LayerRef
from irexec.ir.xml.source import Source


class Item(BaseModel):
    """Anything written in the file; `at` is its element's number in document order (root = 0, -1: not in a file)."""

    # Reading makes items without validation, so the validators are built only when somebody asks for them.
    model_config = ConfigDict(extra="forbid", defer_build=True)

    at: int = -1


M = TypeVar("M", bound=Item)
_new = object.__new__
# The slots of every pydantic model; BaseModel's own __setattr__ is what makes filling them slow.
_set_values, _set_fields, _set_extra, _set_private = (
    BaseModel.__dict__[slot].__set__
    for slot in ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
)


@cache
def _all_fields(model: type[Item]) -> set[str]:
    # One set for all items of a model: it holds every field, so that assigning to one never changes it.
    return set(model.model_fields)


def construct(model: type[M], **values: Any) -> M:
    """An instance made of `values`, which hold every field of `model`.

    pydantic's `model_construct` for text that needs no validation, three to five times as fast: a file has a hundred
    thousand of these.
    """
    item = _new(model)
    _set_values(item, values)
    _set_fields(item, _all_fields(model))
    _set_extra(item, None)
    _set_private(item, None)
    return item


class Element(Item):
    """An element kept as it stands: rt_info, meta_data, quantization_parameters, pre-process and what is in them."""

    tag: str
    attributes: dict[str, str] = Field(default_factory=dict)
    children: tuple["Element", ...] = ()
    text: str | None = None


class Dim(Item):
    """A `<dim>`: the text between its tags."""

    text: str = ""


class Port(Item):
    """A `<port>`; `other` holds the attributes that the grammar does not know."""

    id: str | None = None
    precision: str | None = None
    names: str | None = None
    dims: tuple[Dim, ...] = ()
    rt_info: Element | None = None
    other: dict[str, str] = Field(default_factory=dict)


class Edge(Item):
    """An `<edge>` of `<edges>`."""

    from_layer: str | None = None
    from_port: str | None = None
    to_layer: str | None = None
    to_port: str | None = None


class PortMap(Item):
    """An `<input>` or `<output>` of a port map: how an outer port and a layer of the body belong together."""

    kind: Literal["input", "output"]
    external_port_id: str | None = None
    internal_layer_id: str | None = None
    axis: str | None = None
    start: str | None = None
    end: str | None = None
    stride: str | None = None
    part_size: str | None = None
    purpose: str | None = None


class BackEdge(Item):
    """An `<edge>` of `<back_edges>`: a body Result that feeds a body Parameter in the next iteration."""

    from_layer: str | None = None
    to_layer: str | None = None


class Layer(Item):
    """A `<layer>`. A section that is not there is an empty tuple (or None); `data_at` is -1 without `<data>`."""

    id: str | None = None
    name: str | None = None
    type: str | None = None
    version: str | None = None
    output_names: str | None = None
    data: dict[str, str] = Field(default_factory=dict)
    data_at: int = -1
    inputs: tuple[Port, ...] = ()
    outputs: tuple[Port, ...] = ()
    rt_info: Element | None = None
    port_map: tuple[PortMap, ...] | None = None
    back_edges: tuple[BackEdge, ...] | None = None
    body: "Net | None" = None
    then_port_map: tuple[PortMap, ...] | None = None
    else_port_map: tuple[PortMap, ...] | None = None
    then_body: "Net | None" = None
    else_body: "Net | None" = None
    other: dict[str, str] = Field(default_factory=dict)

    @property
    def ref(self) -> LayerRef:
        """How findings name this layer."""
        return LayerRef(self.id or "", self.name or "", self.type or "", self.version or "")


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


@dataclass(slots=True)
class Document:
    """A file that was read: its root and the text it came from."""

    net: Net
    source: Source
