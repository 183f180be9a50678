"""Messages about results that depend on the order of equal values, which the pages do not define."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.spec.operator import Operator


def tied_values(data: Array | None, k: Array | None, **how: Any) -> str | None:
    """Return the message for TopK: equal values of which only some are chosen, or whose order is not defined."""
    if data is None or k is None or not data.size or how.get("stable"):
        return None
    axis, count = int(how.get("axis", -1)), int(np.asarray(k).reshape(-1)[0])
    wide = np.sort(data.astype(np.float64) if data.dtype.kind not in "iu" else data, axis)
    wide = np.moveaxis(wide, axis, -1)
    if how.get("mode") == "max":
        wide = wide[..., ::-1]
    # Sorted by index, the order of the chosen elements is defined; only the choice among equal elements is not.
    first = max(0, count - 1) if how.get("sort") == "index" else 0
    chosen = wide[..., first : count + 1]
    tied = int(np.count_nonzero((chosen[..., 1:] == chosen[..., :-1]).any(axis=-1))) if chosen.shape[-1] > 1 else 0
    rows = f"{tied} row{'s' * (tied != 1)}"
    return f"{rows} with equal values among the first {count}, whose order is undefined" if tied else None


def tied_boxes(operator: Operator, *, numbered: bool = False) -> Callable[..., str | None]:
    """Return the function of the message about boxes of equal scores whose order affects the result, which is tested by
    reversing the order of the boxes. `numbered`: the third column of the result contains the numbers of boxes.
    """

    def message(boxes: Array | None, scores: Array | None, *others: Array | None, **how: Any) -> str | None:
        if boxes is None or scores is None or boxes.ndim != 3 or scores.ndim != 3:
            return None
        ranked = np.sort(scores.astype(np.float64), -1)
        if not (ranked[..., 1:] == ranked[..., :-1]).any():
            return None
        right, turned = (
            _first(operator.compute(*given, *others, **how))
            for given in ((boxes, scores), (boxes[:, ::-1].copy(), scores[..., ::-1].copy()))
        )
        if numbered:
            kept = turned[:, 2] >= 0
            turned[kept, 2] = boxes.shape[1] - 1 - turned[kept, 2]
        if np.array_equal(right, turned):
            return None
        return "boxes of equal scores are selected, omitted or ordered by their position, but their order is undefined"

    return message


def _first(results: Any) -> Array:
    return np.array(results[0] if isinstance(results, (tuple, list)) else results)
