"""Layers that OpenVINO treats otherwise than their operation pages, which the answer follows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from irexec.graph.model import Node
from irexec.sizes.case import Reason
from irexec.sizes.probe import Prober, Sizes
from irexec.types import TensorType

# Combinations of sizes at which layers are looked at.
_MOST_TRIED = 40

Inputs = Sequence[TensorType | None]


def _gather_nd(node: Node, inputs: Inputs) -> str | None:
    data, indices = inputs[:2]
    if data is None or indices is None or data.rank is None or indices.rank is None or node.version == "opset5":
        return None
    batch = slice(node.all_attributes["batch_dims"])
    if data.shape[batch] == indices.shape[batch]:
        return None
    return "broadcasts the batch dimensions of data and indices, which its page allows: OpenVINO refuses these sizes"


def _backward_slice(node: Node, inputs: Inputs) -> str | None:
    data, first = inputs[0], 1 if node.type == "Slice" else 2
    starts, steps = (inputs[index] for index in (first, first + 2))
    if data is None or starts is None or steps is None or data.rank is None:
        return None
    axes = inputs[first + 3] if len(inputs) > first + 3 else None
    places = range(len(starts.ints or ())) if axes is None else axes.ints or ()
    for axis, start, step in zip(places, starts.ints or (), steps.ints or (), strict=False):
        if step < 0 and data.shape[axis].is_static and start < -data.shape[axis].value:
            return (
                "slices backwards from before the first element, which gives nothing by its page: OpenVINO takes the "
                "first element"
            )
    return None


def refusals(reasons: Iterable[Reason]) -> list[str]:
    """Return sentences about layers that refuse sizes as their pages do, and that OpenVINO accepts."""
    nodes = {
        reason.refusal.node: None
        for reason in reasons
        if reason.refusal.node is not None
        and reason.refusal.node.type == "ScaledDotProductAttention"
        and (reason.refusal.finding.constraint or "").endswith(" C4")
    }
    return [
        f"{node.type} {node.friendly_name!r} refuses a mask with more rows or columns than the scores, which its page "
        "does not allow: OpenVINO repeats a single query or key for it"
        for node in nodes
        if node is not None
    ]


_DIFFERENCES: dict[str, Callable[[Node, Inputs], str | None]] = {
    "GatherND": _gather_nd,
    "Slice": _backward_slice,
    "SliceScatter": _backward_slice,
}


def differences(prober: Prober, samples: Iterable[Sizes]) -> list[str]:
    """Return sentences about layers that OpenVINO treats otherwise for some accepted sizes."""
    nodes = [node for node in prober.changing if node.type in _DIFFERENCES]
    found: dict[Node, str] = {}
    for sizes in list(samples)[:_MOST_TRIED] if nodes else ():
        types = prober.types_at(sizes)
        for node in nodes:
            if node not in found and (text := _DIFFERENCES[node.type](node, types.inputs(node))) is not None:
                found[node] = f"{node.type} {node.friendly_name!r} {text}"
    return list(found.values())
