"""Navigation along edges: the source and the readers of a value, references to a layer, and renaming a layer id."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.forms import ID, read
from irexec.core.structure import PARAMETER
from irexec.frontends.text.syntax import Layer as TextLayer
from irexec.frontends.text.words import word
from irexec.ir.checks.bodies import bodies_of
from irexec.ir.document import Edge, Layer, Net, PortMap
from irexec.ir.xml.events import Span
from irexec.lsp.analysis import Analysis, Spot
from irexec.model.graph.ports import port_name
from irexec.tools.fixes.written import Owner


class Refusal(ValueError):
    """Raised for a rename that would make the file invalid; the message gives the reason."""


def ends_of(analysis: Analysis, edge: Edge, net: Net) -> tuple[Owner | None, Owner | None]:
    """Return the output port and the input port that an edge connects; None for a port that does not exist."""
    ports = analysis.ports_of(net)
    return (
        ports.get((True, read(ID, edge.from_layer).value, read(ID, edge.from_port).value)),
        ports.get((False, read(ID, edge.to_layer).value, read(ID, edge.to_port).value)),
    )


def definition(analysis: Analysis, offset: int) -> Span | None:
    """Return the definition of an item: for an edge's end, the port or layer that it names; for an input port, the
    output port from which its edge comes; for a port map's layer id, the layer of the body; in the text form, the layer
    or input that a name stands for.
    """
    if analysis.text_form is not None:
        place = analysis.text_form.at(offset)
        return None if place is None else place.entry.name.span
    spot = analysis.attribute_at(offset)
    if (found := analysis.edge_at(offset)) is not None:
        ends = ends_of(analysis, *found)
        owner = ends[1] if spot is not None and spot.attribute.startswith("to-") else ends[0]
        if owner is None:
            return None
        whole_layer = spot is not None and spot.attribute.endswith("-layer")
        return analysis.tag(owner.layer.at if whole_layer else owner.port.at)
    owner = analysis.port_at(offset)
    if owner is not None and not owner.is_output and analysis.written is not None:
        giver = analysis.written.given_by.get(owner.port.at)
        return None if giver is None else analysis.tag(giver)
    if spot is not None and (target := _layer_named(analysis, spot)) is not None:
        return analysis.tag(target[0].at)
    return None


def references(analysis: Analysis, offset: int) -> list[Span]:
    """Return the references to an item: for an output port, the input ports that read its value; for an input port, the
    output port connected to it; for a layer or its id, all places that name the layer.
    """
    if analysis.text_form is not None:
        place = analysis.text_form.at(offset)
        return [] if place is None else place.entry.uses
    owner = analysis.port_at(offset)
    if owner is not None and analysis.written is not None:
        written = analysis.written
        giver = written.given_by.get(owner.port.at)
        others = [port.at for port in written.taken_by.get(owner.port.at, ())] if owner.is_output else [giver]
        return [span for at in others if at is not None and (span := analysis.tag(at)) is not None]
    named = _named_layer(analysis, offset) or analysis.layer_at(offset)
    if named is None:
        return []
    spans = (analysis.value(place.element, place.attribute) for place in places_of(analysis, *named))
    return [span for span in spans if span is not None]


def rename(analysis: Analysis, offset: int, new: str) -> list[tuple[Span, str]]:
    """Return the replacements that change a layer's id, including in edges and port maps; in the text form, its name.
    Raises Refusal.
    """
    if analysis.text_form is not None:
        if (place := analysis.text_form.at(offset)) is None:
            raise Refusal("only the name of a layer or input can be renamed")
        if new in place.net.taken:
            raise Refusal(f"another layer already has the name {new}")
        return [(span, word(new)) for span in place.entry.uses]
    named = _named_layer(analysis, offset)
    if named is None:
        raise Refusal("only the id of a layer can be renamed")
    layer, net = named
    if (number := read(ID, new).strict) is None:
        raise Refusal(f"{new!r} is not a valid layer id; use an integer of at least 0")
    if any(read(ID, other.id).value == number for other in net.layers if other is not layer):
        raise Refusal(f"another layer already has id {new}")
    spans = (analysis.value(place.element, place.attribute) for place in places_of(analysis, layer, net))
    return [(span, new) for span in spans if span is not None]


def renamed_at(analysis: Analysis, offset: int) -> Span | None:
    """Return the layer id, or the name in the text form, that a rename at this place would change."""
    if analysis.text_form is not None:
        place = analysis.text_form.at(offset)
        return None if place is None else place.span
    spot = analysis.attribute_at(offset)
    if spot is None or _named_layer(analysis, offset) is None:
        return None
    return analysis.value(spot.element, spot.attribute)


def places_of(analysis: Analysis, layer: Layer, net: Net) -> Iterator[Spot]:
    """Yield every place where the id of a layer of a net is written: in the layer, in edges, and in port maps."""
    number = read(ID, layer.id).value
    yield Spot(layer.at, "id")
    for edge in net.edges:
        for text, attribute in ((edge.from_layer, "from-layer"), (edge.to_layer, "to-layer")):
            if text is not None and read(ID, text).value == number:
                yield Spot(edge.at, attribute)
    owner = _owner(analysis, net)
    if owner is None:
        return
    for back_edge in owner.back_edges or ():
        for text, attribute in ((back_edge.from_layer, "from-layer"), (back_edge.to_layer, "to-layer")):
            if text is not None and read(ID, text).value == number:
                yield Spot(back_edge.at, attribute)
    for entry, body in maps_of(owner):
        if body is net and entry.internal_layer_id is not None and read(ID, entry.internal_layer_id).value == number:
            yield Spot(entry.at, "internal_layer_id")


def maps_of(layer: Layer) -> Iterator[tuple[PortMap, Net]]:
    """Yield every entry of a layer's port maps with the body that it leads into."""
    for _, entries, body in layer.bodies:
        yield from ((entry, body) for entry in entries)


def types(analysis: Analysis) -> Iterator[tuple[dict[str, str], Span | None]]:
    """Yield the type and version of each layer, and the place of its type."""
    for layer, _ in analysis.written.layers.values() if analysis.written is not None else ():
        yield {"type": layer.type or "", "version": layer.version or ""}, analysis.value(layer.at, "type")
    for _, entry in analysis.text_form.walk() if analysis.text_form is not None else ():
        if isinstance(entry.part, TextLayer):
            yield entry.data, entry.part.type.span


def edge_labels(analysis: Analysis, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield, for each edge between two offsets, the end of its tag, and the layers and the type that it joins."""
    written = analysis.written
    if written is None:
        return
    for element, (edge, net) in written.edges.items():
        tag = analysis.tag(element)
        if tag is None or tag.stop < start or tag.start > stop:
            continue
        source, target = ends_of(analysis, edge, net)
        if source is not None and target is not None:
            made = analysis.type_of(source)
            yield tag.stop, f"{_label(source.layer)} {made or ''} → {_label(target.layer)}".replace("  ", " ")


def size_labels(analysis: Analysis, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield, for each input with dynamic dimensions between two offsets, the end of its tag and the sizes that the
    model accepts."""
    for element, node in analysis.nodes.items():
        if node.type != PARAMETER or not node.outputs or not node.outputs[0].type.shape.is_dynamic:
            continue
        tag = analysis.tag(element) if analysis.text_form is None else analysis.text_form.name_of(element)
        if tag is None or tag.stop < start or tag.start > stop:
            continue
        sizes = dict(analysis.sizes)
        shape = sizes.get(port_name(node.outputs[0]))
        if shape is not None:
            symbols = dict.fromkeys(name for name in shape.strip("[]").split(", ") if name in sizes)
            yield tag.stop, "; ".join([shape, *(f"{name}: {sizes[name]}" for name in symbols if sizes[name] != "any")])


def type_labels(analysis: Analysis, start: int, stop: int) -> Iterator[tuple[int, str]]:
    """Yield, for each line of the text form between two offsets that has no comment, its end and the types of the
    layer's outputs.
    """
    for _, entry in analysis.text_form.walk() if analysis.text_form is not None else ():
        node = analysis.nodes.get(entry.layer.at) if entry.layer is not None else None
        end = analysis.text.find("\n", entry.part.span.stop)
        end = len(analysis.text) if end < 0 else end
        if not start <= end <= stop or node is None or node.type == PARAMETER or node.held is not None:
            continue
        if "#" not in analysis.text[entry.part.span.stop : end]:
            yield end, ", ".join(str(value.type) for value in node.outputs)


def _label(layer: Layer) -> str:
    return layer.name or f"{layer.type} #{layer.id}"


def _named_layer(analysis: Analysis, offset: int) -> tuple[Layer, Net] | None:
    """Return the layer whose id is written at an offset."""
    spot = analysis.attribute_at(offset)
    if spot is None or analysis.written is None:
        return None
    layers = analysis.written.layers
    if spot.attribute == "id" and spot.element in layers and layers[spot.element][0].at == spot.element:
        return layers[spot.element]
    return _layer_named(analysis, spot)


def _layer_named(analysis: Analysis, spot: Spot) -> tuple[Layer, Net] | None:
    """Return the layer that an edge, a back edge or a port map names in an attribute."""
    text = analysis.value_text(spot.element, spot.attribute)
    if spot.attribute not in ("from-layer", "to-layer", "internal_layer_id") or text is None:
        return None
    net, number = _net_of(analysis, spot.element), read(ID, text).value
    layers = net.layers if net is not None else ()
    return next(((layer, net) for layer in layers if net is not None and read(ID, layer.id).value == number), None)


def _net_of(analysis: Analysis, element: int) -> Net | None:
    """Return the net whose layers an edge, a back edge or an entry of a port map names."""
    if analysis.written is None:
        return None
    if element in analysis.written.edges:
        return analysis.written.edges[element][1]
    for layer in _layers(analysis):
        if layer.body is not None and any(edge.at == element for edge in layer.back_edges or ()):
            return layer.body
        for entry, body in maps_of(layer):
            if entry.at == element:
                return body
    return None


def _owner(analysis: Analysis, net: Net) -> Layer | None:
    """Return the layer whose body a net is."""
    return next((layer for layer in _layers(analysis) if any(body is net for body in bodies_of(layer))), None)


def _layers(analysis: Analysis) -> Iterator[Layer]:
    if analysis.written is not None:
        for net in analysis.written.nets:
            yield from net.layers
