"""MatrixNms: non-maximum suppression that lowers the scores of boxes overlapped by better boxes, for all boxes at once.

Source: operation page MatrixNonMaxSuppression-8 (the type in a file is MatrixNms).
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from irexec.core.types import Array
from irexec.ops.compute.boxes import descending
from irexec.ops.compute.precision import widen
from irexec.ops.rules.boxes import draw_boxes, draw_scores
from irexec.ops.sort.class_detections import Found, Listing, Most, outputs, shared_shapes, undefined_order
from irexec.ops.sort.ties import tied_boxes
from irexec.ops.spec.operator import operator, rounded
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import FloatTensor, TensorOfOutputType
from irexec.ops.spec.traits import BoxSelection, Steps


@operator("MatrixNms", "opset8", Steps, BoxSelection, tolerance=rounded(16), shapes=shared_shapes)
def matrix_nms_8(
    boxes: FloatTensor,
    scores: FloatTensor,
    /,
    *,
    listing: Listing,
    score_threshold: float = 0.0,
    nms_top_k: Most = -1,
    keep_top_k: Most = -1,
    background_class: int = -1,
    normalized: bool = True,
    decay_function: Literal["gaussian", "linear"] = "linear",
    gaussian_sigma: float = 2.0,
    post_threshold: float = 0.0,
) -> tuple[FloatTensor, TensorOfOutputType, TensorOfOutputType]:
    """The outputs selected_outputs [n, 6] as (class, score, corners), selected_indices [n, 1] and selected_num
    [num_batches].

    Indices count boxes through the whole batch. Without `normalized`, corners are pixels that belong to the box. As in
    OpenVINO's reference, 1e-10 is added to the denominator of the linear decay, which is 0 for identical boxes.

    C1: boxes is [num_batches, num_boxes, 4]. C2: scores is [num_batches, num_classes, num_boxes]. C3: background_class
    is -1 or a class.
    """
    corners, values = widen(boxes), widen(scores)
    images = []
    for batch in range(len(values)):
        parts = []
        for label in range(values.shape[1]):
            if label == background_class:
                continue
            score = values[batch, label]
            candidates = np.flatnonzero(score > score_threshold)
            candidates = candidates[descending(score[candidates])][: nms_top_k if nms_top_k > -1 else None]
            decay = _decay(corners[batch, candidates], normalized, decay_function == "gaussian", gaussian_sigma)
            decayed = decay * score[candidates]
            kept = decayed > post_threshold
            index = candidates[kept]
            labels = np.full(len(index), label)
            parts.append(Found(labels, batch * boxes.shape[1] + index, decayed[kept], corners[batch, index]))
        images.append(Found.join(parts, values.dtype))
    return outputs(images, keep_top_k, listing, boxes.dtype)


def _decay(boxes: Array, normalized: bool, gaussian: bool, sigma: float) -> Array:
    """Return the factor of each box, from its overlaps with better boxes and from the overlaps of these boxes."""
    kind = boxes.dtype.type
    overlap = np.triu(_overlaps(boxes, kind(0 if normalized else 1)), 1)
    most = overlap.max(axis=0, initial=0)[:, None]
    if gaussian:
        factors = np.exp((most * most - overlap * overlap) * kind(sigma))
    else:
        factors = (1 - overlap) / (1 - most + kind(1e-10))
    before = np.triu(np.ones(overlap.shape, bool), 1)
    result: Array = np.where(before, factors, 1).min(axis=0, initial=1)
    return result.astype(boxes.dtype)


def _overlaps(boxes: Array, extra: np.floating) -> Array:
    """Return the intersection over union of all pairs; 0 for boxes that do not touch. Sides are longer by `extra`."""
    low, high = boxes[:, :2], boxes[:, 2:]
    sides = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    common = np.where((sides >= 0).all(axis=2), (sides + extra).prod(axis=2), 0)
    valid = (high >= low).all(axis=1)
    areas = np.where(valid, (high - low + extra).prod(axis=1), 0)
    union = areas[:, None] + areas - common
    result: Array = np.divide(common, union, out=np.zeros_like(common), where=union != 0)
    return result


matrix_nms_8.oracle.undefined_for(undefined_order)
matrix_nms_8.oracle.allowed = Allowed(composes=False, ties=tied_boxes(matrix_nms_8))


matrix_nms_8.oracle.draw("boxes")(draw_boxes)
matrix_nms_8.oracle.draw("scores")(draw_scores)
