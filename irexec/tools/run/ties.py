"""Results that the operators do not define: those that depend on the order of equal values, or have no definition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.graph.model import Node
from irexec.ops.spec.operator import Undefined

Inputs = Sequence[Array | None]


def undefined_parts(node: Node, inputs: Inputs) -> Undefined:
    """Return the parts of the result that the operator's declaration leaves undefined for these inputs."""
    operator = node.operator
    if (
        operator is None
        or operator.undefined is None
        or any(a is None for a in inputs[: operator.signature.min_inputs])
    ):
        return False
    padded = [*inputs, *[None] * (len(operator.inputs) - len(inputs))]
    return operator.undefined(*padded, **node.all_attributes)


def tied(node: Node, inputs: Inputs) -> str | None:
    """Return the message about a result that depends on the order of equal values; None if it does not."""
    ties = node.operator.allowed.ties if node.operator is not None else ""
    return {"values": of_top_k, "boxes": of_boxes}.get(ties, scattered)(node, inputs)


def scattered(node: Node, inputs: Inputs) -> str | None:
    """Return the message about positions that several updates without a reduction write."""
    operator = node.operator
    if operator is None or operator.opener is None:
        return None
    padded = [*inputs, *[None] * (len(operator.inputs) - len(inputs))]
    found = operator.opener(*padded, **node.all_attributes)
    if found is None:
        return None
    return f"{plural(len(found.candidates), 'place')} of the result with more than one correct value: {found.note}"


def of_top_k(node: Node, inputs: Inputs) -> str | None:
    """Return the message for TopK: equal values of which only some are chosen, or whose order is not defined."""
    data, k = inputs[0], inputs[1]
    if data is None or k is None or not data.size or node.attributes.get("stable"):
        return None
    axis, count = int(node.attributes.get("axis", -1)), int(np.asarray(k).reshape(-1)[0])
    wide = np.sort(data.astype(np.float64) if data.dtype.kind not in "iu" else data, axis)
    wide = np.moveaxis(wide, axis, -1)
    if node.attributes.get("mode") == "max":
        wide = wide[..., ::-1]
    # Sorted by index, the order of the chosen elements is defined; only the choice among equal elements is not.
    first = max(0, count - 1) if node.attributes.get("sort") == "index" else 0
    chosen = wide[..., first : count + 1]
    tied = int(np.count_nonzero((chosen[..., 1:] == chosen[..., :-1]).any(axis=-1))) if chosen.shape[-1] > 1 else 0
    return (
        f"{plural(tied, 'row')} with equal values among the first {count}, whose order is undefined" if tied else None
    )


def of_boxes(node: Node, inputs: Inputs) -> str | None:
    """Return the message for NonMaxSuppression and similar operators: boxes of equal scores whose order affects the
    result, which is tested by reversing the order of the boxes.
    """
    boxes, scores = inputs[:2]
    if node.operator is None or boxes is None or scores is None or boxes.ndim != 3 or scores.ndim != 3:
        return None
    ranked = np.sort(scores.astype(np.float64), -1)
    if not (ranked[..., 1:] == ranked[..., :-1]).any():
        return None
    if len(inputs) > 2 and node.type == "MulticlassNms":
        # The boxes of all images are in one list, which cannot be reversed as a whole.
        return None
    reverse = [boxes[:, ::-1].copy(), scores[..., ::-1].copy(), *inputs[2:]]
    right, turned = (_selected(node, given) for given in (inputs, reverse))
    if node.type in ("NonMaxSuppression", "NMSRotated"):
        kept = turned[:, 2] >= 0
        turned[kept, 2] = boxes.shape[1] - 1 - turned[kept, 2]
    if np.array_equal(right, turned):
        return None
    return "boxes of equal scores are selected, omitted or ordered by their position, but their order is undefined"


def _selected(node: Node, inputs: Inputs) -> Array:
    assert node.operator is not None
    results = node.operator.compute(*inputs, **node.all_attributes)
    return np.array(results[0] if isinstance(results, (tuple, list)) else results)
