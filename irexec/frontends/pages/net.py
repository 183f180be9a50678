"""A loose layer as a complete net: a Parameter for each of its inputs, a Result for each output, and the edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from irexec.core.diagnostics import LayerRef
from irexec.core.forms import ID, read
from irexec.core.structure import PARAMETER, RESULT
from irexec.core.types import TensorType
from irexec.ir.document import Edge, Layer, Net, Port
from irexec.ops.spec.attributes import attribute_text


def complete_net(
    layer: Layer, inputs: Sequence[tuple[str, TensorType]], outputs: int
) -> tuple[Net, frozenset[LayerRef]]:
    """Return the net that the layer is part of, and the layers that were added to it.

    `inputs`: a name and a type for each of the first input ports. `outputs`: the smallest number of output ports;
    missing ports are added. Added ports and layers have the place of the port that they belong to, or of the layer.
    """
    ids = _unused_ids(layer)
    ports = [*layer.outputs]
    ports += [Port(at=layer.at, id=next(ids)) for _ in range(outputs - len(ports))]
    whole_layer = replace(layer, outputs=tuple(ports))
    parameters = [
        Layer(
            at=port.at,
            id=next(ids),
            name=name,
            type=PARAMETER,
            version="opset1",
            data={"shape": attribute_text(type.shape), "element_type": attribute_text(type.element_type)},
            data_at=port.at,
            # The Parameter repeats the port's declaration, so that findings about the port concern the layer alone.
            outputs=(replace(port, id="0", names=None, rt_info=None),),
        )
        for port, (name, type) in zip(layer.inputs, inputs, strict=False)
    ]
    results = [
        Layer(
            at=port.at,
            id=next(ids),
            name=f"output {n}",
            type=RESULT,
            version="opset1",
            inputs=(replace(port, id="0"),),
        )
        for n, port in enumerate(ports if layer.type != RESULT else ())
    ]
    edges = [
        Edge(at=port.at, from_layer=parameter.id, from_port="0", to_layer=layer.id, to_port=port.id)
        for parameter, port in zip(parameters, layer.inputs, strict=False)
    ]
    edges += [
        Edge(at=port.at, from_layer=layer.id, from_port=port.id, to_layer=result.id, to_port="0")
        for result, port in zip(results, ports, strict=False)
    ]
    added = frozenset(extra.ref for extra in (*parameters, *results))
    return Net(version="11", layers=(*parameters, whole_layer, *results), edges=tuple(edges)), added


def _unused_ids(layer: Layer) -> Iterator[str]:
    """Yield numbers that are not the id of the layer or of one of its ports."""
    taken = {read(ID, id).value for id in (layer.id, *(port.id for port in (*layer.inputs, *layer.outputs)))}
    return (str(number) for number in count() if number not in taken)
