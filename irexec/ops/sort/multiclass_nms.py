"""MulticlassNms: non-maximum suppression class by class, with a threshold that may decrease as boxes are kept.

Source: operation pages MulticlassNonMaxSuppression-8 and -9 (the type in a file is MulticlassNms).
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import INDICES, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.boxes import descending, suppress
from irexec.ops.compute.precision import widen
from irexec.ops.rules.boxes import draw_boxes, draw_scores
from irexec.ops.rules.extents import Extents
from irexec.ops.sort.class_detections import (
    Found,
    Listing,
    Most,
    check_background,
    outputs,
    shapes,
    shared_shapes,
    undefined_order,
)
from irexec.ops.sort.ties import tied_boxes
from irexec.ops.spec.attributes import Within
from irexec.ops.spec.groups import AttributesOf
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import FloatTensor, TensorOfOutputType
from irexec.ops.spec.traits import BoxSelection, Steps

T_ROISNUM: TypeAlias = Annotated[Array, Elements("T_ROISNUM", INDICES)]
Eta = Annotated[float, Within(ge=0, le=1)]


def _image(
    boxes: Array, scores: Array, iou: float, lowest: float, top: int, background: int, normalized: bool, eta: float
) -> Found:
    """Return the detections of one image from boxes [1 or classes, n, 4] and scores [classes, n], with indices within
    the image.
    """
    parts = []
    for label, score in enumerate(scores):
        if label == background:
            continue
        own = boxes[label if len(boxes) > 1 else 0]
        candidates = np.flatnonzero(score >= lowest)
        candidates = candidates[descending(score[candidates])][: top if top > -1 else None]
        extra = 0.0 if normalized else 1.0
        kept = suppress(own[candidates], score[candidates], iou, len(candidates), extra=extra, eta=eta, bridging=True)
        index = candidates[kept]
        parts.append(Found(np.full(len(index), label), index, score[index], own[index]))
    return Found.join(parts, scores.dtype)


@operator("MulticlassNms", "opset9", Steps, BoxSelection)
def multiclass_nms_9(
    boxes: FloatTensor,
    scores: FloatTensor,
    roisnum: T_ROISNUM | None = None,
    /,
    *,
    listing: Listing,
    iou_threshold: float = 0.0,
    score_threshold: float = 0.0,
    nms_top_k: Most = -1,
    keep_top_k: Most = -1,
    background_class: int = -1,
    normalized: bool = True,
    nms_eta: Eta = 1.0,
) -> tuple[FloatTensor, TensorOfOutputType, TensorOfOutputType]:
    """The outputs selected_outputs [n, 6] as (class, score, corners), selected_indices [n, 1] and selected_num
    [num_batches].

    Indices count boxes through the whole batch; if each class has its own boxes, box i of class c is i * num_classes +
    c, as in OpenVINO's reference. A box with an overlap equal to the threshold is kept, as on the page (OpenVINO drops
    it).

    C1: boxes is [num_batches, num_boxes, 4], with roisnum [num_classes, num_boxes, 4]. C2: scores is
    [num_batches, num_classes, num_boxes], with roisnum [num_classes, num_boxes]. C3: background_class is -1 or a class.
    C4: roisnum is [num_batches], not negative, with num_boxes as its sum.
    """
    corners, values = widen(boxes), widen(scores)
    settings = iou_threshold, score_threshold, nms_top_k, background_class, normalized, nms_eta
    if roisnum is None:
        images = [
            found._replace(indices=found.indices + batch * boxes.shape[1])
            for batch, found in enumerate(_image(b[None], s, *settings) for b, s in zip(corners, values, strict=True))
        ]
    else:
        counts = roisnum.astype(np.int64)
        _check_counts(require, counts.tolist(), Dimension(boxes.shape[1]))
        images, nothing = [], Found.join([], values.dtype)
        for end, count in zip(np.cumsum(counts), counts, strict=True):
            if not count:
                images.append(nothing)
                continue
            part = slice(end - count, end)
            found = _image(corners[:, part], values[:, part], *settings)
            images.append(found._replace(indices=(found.indices + (end - count)) * len(boxes) + found.labels))
    return outputs(images, keep_top_k, listing, boxes.dtype)


@multiclass_nms_9.older
def _(form: OlderForm, boxes: TensorType, scores: TensorType, roisnum: TensorType | None) -> None:
    form.need(roisnum is None, "it has roisnum")


def _check_counts(check: Check, counts: list[int], boxes: Dimension) -> None:
    fits = all(n >= 0 for n in counts) and boxes.contains(sum(counts))
    check("C4", fits, f"roisnum is {counts}, expected counts that add up to the {boxes} boxes", port="roisnum")


@multiclass_nms_9.shapes
def _(
    check: Check,
    boxes: TensorType,
    scores: TensorType,
    roisnum: TensorType | None,
    *,
    nms_top_k: int,
    keep_top_k: int,
    background_class: int,
) -> tuple[PartialShape, PartialShape, PartialShape]:
    if roisnum is None:
        limits = {"nms_top_k": nms_top_k, "keep_top_k": keep_top_k, "background_class": background_class}
        return shared_shapes(check, boxes, scores, **limits)
    extents = Extents(check)
    extents.match("C1", "boxes", boxes, "num_classes", "num_boxes", 4)
    extents.match("C2", "scores", scores, "num_classes", "num_boxes")
    extents.match("C4", "roisnum", roisnum, "num_batches")
    check_background(check, background_class)
    if roisnum.ints is not None:
        _check_counts(check, roisnum.ints, extents["num_boxes"])
    return shapes(extents["num_batches"], extents["num_classes"], extents["num_boxes"], nms_top_k, keep_top_k)


@multiclass_nms_9.oracle.draw("roisnum")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw a division of the boxes among the images."""
    kind = types[port]
    images, total = kind.shape[0].value, types["boxes"].shape[1].value
    cuts = np.sort(rng.integers(0, total + 1, max(images - 1, 0)))
    return np.diff(np.concatenate([[0], cuts, [total]])).astype(kind.element_type.dtype)


@operator("MulticlassNms", "opset8", Steps, BoxSelection, shapes=shared_shapes)
def multiclass_nms_8(
    *inputs: Annotated[Any, InputsOf(multiclass_nms_9, without=1)],
    **rest: Annotated[Any, AttributesOf(multiclass_nms_9)],
) -> tuple[FloatTensor, TensorOfOutputType, TensorOfOutputType]:
    """As MulticlassNms-9 with boxes that all classes share. C1 to C3 as MulticlassNms-9."""
    result: tuple[Array, Array, Array] = multiclass_nms_9.compute(*inputs, **rest)
    return result


for _op in (multiclass_nms_8, multiclass_nms_9):
    _op.oracle.undefined_for(undefined_order)
    _op.oracle.allowed = Allowed(composes=False, ties=tied_boxes(_op))
    _op.oracle.draw("boxes")(draw_boxes)
    _op.oracle.draw("scores")(draw_scores)
