"""Layers for which OpenVINO deviates from their operation pages; the answer follows the pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from irexec.graph.model import Node
from irexec.sizes.case import Reason
from irexec.sizes.probe import Prober, Sizes
from irexec.types import TensorType

# The number of combinations of sizes at which layers are examined.
_MOST_TRIED, _MOST_DISPUTED = 40, 200

Inputs = Sequence[TensorType | None]


def _gather_nd(node: Node, inputs: Inputs) -> str | None:
    data, indices = inputs[:2]
    if data is None or indices is None or data.rank is None or indices.rank is None or node.version == "opset5":
        return None
    batch = slice(node.all_attributes["batch_dims"])
    if data.shape[batch] == indices.shape[batch]:
        return None
    return "broadcasts the batch dimensions of data and indices, which its page allows: OpenVINO refuses these sizes"


def _one_shift(node: Node, inputs: Inputs) -> str | None:
    shift, axes = (None if type is None or type.shape.rank is None else type.shape for type in inputs[1:3])
    if shift is None or axes is None or len(shift) == 0 or shift[0] == (axes[0] if len(axes) else 1):
        return None
    return "shifts several axes by a tensor of one element, as its page does: OpenVINO takes a scalar only"


def _axes_twice(node: Node, inputs: Inputs) -> str | None:
    data, axes = inputs[0], inputs[1] if len(inputs) > 1 else None
    count = None if axes is None or axes.rank != 1 or axes.shape.is_dynamic else axes.shape[0].value
    if data is None or data.rank is None or count is None or count <= data.rank:
        return None
    return "may have one axis several times by its page: OpenVINO refuses more axes than data has dimensions"


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
    """Return sentences about layers that refuse sizes according to their pages, but that OpenVINO accepts."""
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
    "MVN": _axes_twice,
    "Roll": _one_shift,
    "Slice": _backward_slice,
    "SliceScatter": _backward_slice,
}
_RESIZED = ("Slice",)
"""Layers whose outputs have other sizes in OpenVINO, so that it may accept or refuse any sizes at later layers."""


def disputed(prober: Prober, accepted: Sequence[Sizes]) -> Sequence[Sizes]:
    """Return the accepted combinations that OpenVINO refuses or may refuse, although the pages of all layers allow
    them."""
    nodes = [node for node in prober.changing if node.type in _DIFFERENCES]
    found: list[Sizes] = []
    for sizes in accepted[:_MOST_DISPUTED] if nodes else ():
        types = prober.types_at(sizes)
        differing = {node.type for node in nodes if _DIFFERENCES[node.type](node, types.inputs(node)) is not None}
        if not differing.isdisjoint(_RESIZED):
            return accepted
        if differing:
            found.append(sizes)
    return found


def differences(prober: Prober, samples: Iterable[Sizes]) -> list[str]:
    """Return sentences about layers for which OpenVINO deviates from their pages at some accepted sizes."""
    nodes = [node for node in prober.changing if node.type in _DIFFERENCES]
    found: dict[Node, str] = {}
    for sizes in list(samples)[:_MOST_TRIED] if nodes else ():
        types = prober.types_at(sizes)
        for node in nodes:
            if node not in found and (text := _DIFFERENCES[node.type](node, types.inputs(node))) is not None:
                found[node] = f"{node.type} {node.friendly_name!r} {text}"
    return list(found.values())
