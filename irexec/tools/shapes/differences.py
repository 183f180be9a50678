"""Layers for which OpenVINO deviates from their operation pages; the answer follows the pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from irexec.model.graph.model import Node
from irexec.model.inference.inference import Inference
from irexec.ops.spec.oracle import Deviation
from irexec.tools.shapes.probe import Prober, Refusal, Sizes

# The number of combinations of sizes at which layers are examined.
_MOST_TRIED, _MOST_DISPUTED = 40, 200


def _deviation(node: Node, types: Inference) -> Deviation | None:
    return None if node.operator is None else node.operator.oracle.deviation(types.inputs(node), node.attributes)


def _deviating(prober: Prober, base: Sizes) -> list[Node]:
    """Return the layers that may deviate from their pages at some sizes: layers that deviate at the base, and layers
    with inputs on which a deviation depends and which change with the sizes.
    """
    types = prober.types_at(base)
    found: list[Node] = []
    for node in prober.changing:
        operator = node.operator
        if operator is None or not operator.oracle.deviation_ports:
            continue
        inputs = zip(operator.inputs, node.inputs, strict=False)
        ports = operator.oracle.deviation_ports
        changes = any(
            port.name in ports and value is not None and value.node in prober.reached for port, value in inputs
        )
        if changes or _deviation(node, types) is not None:
            found.append(node)
    return found


def refusals(prober: Prober, reasons: Iterable[tuple[Sizes, Refusal]]) -> list[str]:
    """Return sentences about layers that refuse sizes according to their pages, but that OpenVINO accepts."""
    found: dict[Node, str] = {}
    for refused, refusal in reasons:
        refusing = refusal.node
        if refusing is None or refusing in found or refusing.operator is None:
            continue
        # OpenVINO may accept a size of 1, because it broadcasts it.
        for sizes in (refused, *_with_ones(refused)):
            _, types, node = prober.followed(sizes)
            if node is refusing and (deviation := _deviation(node, types)) and deviation.accepts:
                found[node] = f"{node.type} {node.friendly_name!r} {deviation.text}"
                break
    return list(found.values())


def _with_ones(sizes: Sizes) -> Iterator[Sizes]:
    return ((*sizes[:place], 1, *sizes[place + 1 :]) for place in range(len(sizes)))


def disputed(prober: Prober, accepted: Sequence[Sizes]) -> Sequence[Sizes]:
    """Return the accepted combinations that OpenVINO refuses or may refuse, although the pages of all layers allow
    them."""
    nodes = _deviating(prober, accepted[0]) if accepted else []
    found: list[Sizes] = []
    for sizes in accepted[:_MOST_DISPUTED] if nodes else ():
        types = prober.types_at(sizes)
        every = [_deviation(node, types) for node in nodes]
        differing = [deviation for deviation in every if deviation is not None and not deviation.accepts]
        if any(deviation.resizes for deviation in differing):
            return accepted
        if differing:
            found.append(sizes)
    return found


def differences(prober: Prober, samples: Iterable[Sizes]) -> list[str]:
    """Return sentences about layers for which OpenVINO deviates from their pages at some accepted sizes."""
    tried = list(samples)[:_MOST_TRIED]
    nodes = _deviating(prober, tried[0]) if tried else []
    found: dict[Node, str] = {}
    for sizes in tried if nodes else ():
        types = prober.types_at(sizes)
        for node in nodes:
            if node not in found and (deviation := _deviation(node, types)) and not deviation.accepts:
                found[node] = f"{node.type} {node.friendly_name!r} {deviation.text}"
    return list(found.values())
