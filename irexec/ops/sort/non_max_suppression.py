"""NonMaxSuppression: selects the boxes with the best scores and drops boxes that overlap them.

Source: operation pages NonMaxSuppression-1, -3, -4, -5 and -9. Details that the pages do not define, or that differ in
OpenVINO: equal scores select the lower box index; a score equal to the threshold is selected (in OpenVINO not); a box
whose overlap equals iou_threshold is kept; an iou_threshold of 0 keeps only boxes that do not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from irexec.core.types import F32, Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.boxes import overlaps, suppress
from irexec.ops.compute.precision import widen
from irexec.ops.rules.axes import one_element
from irexec.ops.rules.boxes import draw_boxes, draw_scores, draw_threshold
from irexec.ops.rules.extents import Extents
from irexec.ops.rules.shapes import has_rank
from irexec.ops.sort.ties import tied_boxes
from irexec.ops.spec.groups import AttributesOf, group
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import FloatTensor, MaxBoxes, TensorOfOutputType, Thresholds
from irexec.ops.spec.traits import BoxSelection, Steps

Encoding = Literal["corner", "center"]
IndexType = Literal["i64", "i32"]


def _scalar(value: Array | None) -> float:
    return 0.0 if value is None else float(value.reshape(-1)[0])


def _corners(boxes: Array, encoding: str) -> Array:
    """Return boxes [..., 4] as (y low, x low, y high, x high)."""
    if encoding == "center":
        x, y, width, height = np.moveaxis(boxes, -1, 0)
        half_height, half_width = height / 2, width / 2
        boxes = np.stack([y - half_height, x - half_width, y + half_height, x + half_width], axis=-1)
    first, second = boxes[..., :2], boxes[..., 2:]
    return np.concatenate([np.minimum(first, second), np.maximum(first, second)], axis=-1)


@group
class Selection:
    """The encoding of boxes, whether all selected boxes are sorted by score, and the type of their indices."""

    box_encoding: Encoding = "corner"
    sort_result_descending: bool = True
    output_type: IndexType = "i64"

    @property
    def index_type(self) -> ElementType:
        return ElementType.by_name[self.output_type]


def select(
    boxes: Array,
    scores: Array,
    max_boxes: int,
    iou_threshold: float,
    score_threshold: float,
    sigma: float,
    how: Selection,
    *,
    soft_cut: bool,
) -> tuple[Array, Array]:
    """Return indices [n, 3] of selected boxes as (batch, class, box), and their scores [n]. `soft_cut`: as in opset 5,
    soft suppression drops boxes whose overlap is above the threshold.
    """
    corners, scores = _corners(widen(boxes), how.box_encoding), widen(scores)
    indices: list[Array] = [np.empty((0, 3), np.int64)]
    values: list[Array] = [np.empty(0, scores.dtype)]
    for batch, label in np.ndindex(scores.shape[:2]) if max_boxes > 0 else ():
        candidates = np.flatnonzero(scores[batch, label] >= score_threshold)
        area, score = corners[batch, candidates], scores[batch, label, candidates]
        if sigma > 0:
            kept, kept_scores = _soft(area, score, max_boxes, iou_threshold, score_threshold, sigma, soft_cut)
        else:
            kept = suppress(area, score, iou_threshold, max_boxes)
            kept_scores = score[kept]
        triplets = np.empty((len(kept), 3), np.int64)
        triplets[:, 0], triplets[:, 1], triplets[:, 2] = batch, label, candidates[kept]
        indices.append(triplets)
        values.append(kept_scores)
    chosen, found = np.concatenate(indices), np.concatenate(values)
    if how.sort_result_descending:
        order = np.lexsort((chosen[:, 2], chosen[:, 1], chosen[:, 0], -found))
        chosen, found = chosen[order], found[order]
    return chosen, found


def _soft(
    boxes: Array, scores: Array, limit: int, threshold: float, lowest: float, sigma: float, cut: bool
) -> tuple[Array, Array]:
    """Select boxes by soft suppression: each selected box lowers the scores of the boxes that overlap it."""
    left = np.arange(len(scores))
    scores = scores.copy()
    kept: list[int] = []
    values: list[float] = []
    while left.size and len(kept) < limit:
        position = int(np.argmax(scores[left]))
        best = int(left[position])
        if scores[best] < lowest:
            break
        kept.append(best)
        values.append(scores[best])
        left = np.delete(left, position)
        overlap = overlaps(boxes[best], boxes[left])
        scores[left] *= np.exp(scores.dtype.type(-0.5 / sigma) * overlap * overlap)
        if cut:
            left = left[overlap <= threshold]
    return np.array(kept, np.intp), np.array(values, scores.dtype)


def _check_inputs(check: Check, *inputs: TensorType | None, vectors: bool) -> Extents:
    """Check C1 (boxes), C2 (scores) and C3: other inputs are scalars (`vectors`: or 1D tensors of one element)."""
    boxes, scores, *others = inputs
    extents = Extents(check)
    extents.match("C1", "boxes", boxes, "num_batches", "num_boxes", 4)
    extents.match("C2", "scores", scores, "num_batches", "num_classes", "num_boxes")
    names = ("max_output_boxes_per_class", "iou_threshold", "score_threshold", "soft_nms_sigma")
    for name, tensor in zip(names, others, strict=False):
        if tensor is not None and vectors:
            one_element(check, "C3", tensor, name)
        elif tensor is not None:
            has_rank(check, "C3", tensor, 0, name)
    return extents


def _most(boxes: Dimension, given: TensorType | None) -> Dimension:
    """Return the maximum number of selected boxes per class: the smaller of the number of boxes and
    max_output_boxes_per_class.
    """
    if given is None:
        return Dimension(0)
    limit = given.scalar
    if limit is None:
        return Dimension(0, boxes.max)
    limit = max(int(limit), 0)
    return Dimension(min(boxes.min, limit), limit if boxes.max is None else min(boxes.max, limit))


@operator("NonMaxSuppression", "opset9", Steps, BoxSelection)
def non_max_suppression_9(
    boxes: FloatTensor,
    scores: FloatTensor,
    max_output_boxes_per_class: MaxBoxes | None = None,
    iou_threshold: Thresholds | None = None,
    score_threshold: Thresholds | None = None,
    soft_nms_sigma: Thresholds | None = None,
    /,
    *,
    how: Selection,
) -> tuple[TensorOfOutputType, Thresholds, TensorOfOutputType]:
    """The outputs selected_indices [n, 3] as (batch, class, box), selected_scores [n, 3] as (batch, class, score), and
    valid_outputs [1], which is n.

    Omitted inputs are 0: without max_output_boxes_per_class no box is selected.

    C1: boxes is [num_batches, num_boxes, 4]. C2: scores is [num_batches, num_classes, num_boxes]. C3: the other inputs
    are scalars or have one element.
    """
    others = max_output_boxes_per_class, iou_threshold, score_threshold, soft_nms_sigma
    return _select_5(boxes, scores, *others, how=how, soft_cut=False)


@non_max_suppression_9.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    sigma = inputs[5]
    form.need((0 if sigma is None else sigma.scalar) == 0, "soft_nms_sigma is not known to be 0")


def _select_5(
    boxes: Array,
    scores: Array,
    max_boxes: Array | None = None,
    *thresholds: Array | None,
    how: Selection,
    soft_cut: bool,
) -> tuple[Array, Array, Array]:
    """Select boxes. `thresholds`: of the overlap and of the score, and the sigma; trailing arguments may be omitted."""
    overlap, score, sigma = map(_scalar, (*thresholds, None, None, None)[:3])
    indices, values = select(boxes, scores, int(_scalar(max_boxes)), overlap, score, sigma, how, soft_cut=soft_cut)
    given = next((t for t in thresholds if t is not None), None)
    kind = how.index_type.dtype
    selected_scores = np.empty(indices.shape, np.float32 if given is None else given.dtype)
    selected_scores[:, :2] = indices[:, :2]
    selected_scores[:, 2] = values
    return indices.astype(kind), selected_scores, np.array([len(indices)], kind)


@non_max_suppression_9.shapes
def _shapes_5(
    check: Check,
    boxes: TensorType,
    scores: TensorType,
    max_boxes: TensorType | None,
    iou_threshold: TensorType | None,
    score_threshold: TensorType | None,
    sigma: TensorType | None,
) -> tuple[PartialShape, TensorType, PartialShape]:
    thresholds = (iou_threshold, score_threshold, sigma)
    extents = _check_inputs(check, boxes, scores, max_boxes, *thresholds, vectors=True)
    each = _most(extents["num_boxes"], max_boxes)
    most = each * extents["num_batches"] * extents["num_classes"]
    shape = PartialShape([Dimension(0, most.max), 3])
    given = next((t.element_type for t in thresholds if t is not None), F32)
    return shape, TensorType(given, shape), PartialShape([1])


@operator("NonMaxSuppression", "opset5", Steps, BoxSelection, shapes=_shapes_5)
def non_max_suppression_5(
    *inputs: Annotated[Any, InputsOf(non_max_suppression_9)], how: Selection
) -> tuple[TensorOfOutputType, Thresholds, TensorOfOutputType]:
    """As NonMaxSuppression-9, but soft suppression drops boxes whose overlap is above iou_threshold.

    C1 to C3 as NonMaxSuppression-9.
    """
    return _select_5(*inputs, how=how, soft_cut=True)


def _select_4(
    boxes: Array, scores: Array, max_boxes: Array | None = None, *thresholds: Array | None, how: Selection
) -> tuple[Array, int]:
    """Return the selected indices and the maximum number per class. `thresholds`: of the overlap, of the score."""
    limit = max(int(_scalar(max_boxes)), 0)
    overlap, score = map(_scalar, (*thresholds, None, None)[:2])
    return select(boxes, scores, limit, overlap, score, 0.0, how, soft_cut=False)[0], limit


def _fill(indices: Array, rows: int, kind: ElementType) -> Array:
    """Return the first `rows` indices, padded with -1."""
    result = np.full((rows, 3), -1, kind.dtype)
    taken = indices[:rows]
    result[: len(taken)] = taken
    return result


@operator("NonMaxSuppression", "opset4", Steps, BoxSelection)
def non_max_suppression_4(
    boxes: FloatTensor,
    scores: FloatTensor,
    max_output_boxes_per_class: MaxBoxes | None = None,
    iou_threshold: Thresholds | None = None,
    score_threshold: Thresholds | None = None,
    /,
    *,
    how: Selection,
) -> TensorOfOutputType:
    """The selected boxes, [min(num_boxes, max_output_boxes_per_class) * num_batches * num_classes, 3], filled with -1.

    C1: boxes is [num_batches, num_boxes, 4]. C2: scores is [num_batches, num_classes, num_boxes]. C3: the other inputs
    are scalars.
    """
    indices, limit = _select_4(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, how=how)
    batches, classes, count = scores.shape
    return _fill(indices, min(count, limit) * batches * classes, how.index_type)


@non_max_suppression_4.shapes
def _(check: Check, *inputs: TensorType | None) -> PartialShape:
    extents = _check_inputs(check, *inputs, vectors=False)
    each = _most(extents["num_boxes"], inputs[2])
    return PartialShape([each * extents["num_batches"] * extents["num_classes"], 3])


@operator("NonMaxSuppression", "opset3", Steps, BoxSelection)
def non_max_suppression_3(
    *inputs: Annotated[Any, InputsOf(non_max_suppression_4)], how: Selection
) -> TensorOfOutputType:
    """The selected boxes, [min(num_boxes, max_output_boxes_per_class * num_classes), 3], cut or filled with -1.

    C1 to C3 as NonMaxSuppression-4.
    """
    indices, limit = _select_4(*inputs, how=how)
    _, classes, count = inputs[1].shape
    return _fill(indices, min(count, limit * classes), how.index_type)


@non_max_suppression_3.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    form.need_attribute("output_type", "i64")


@non_max_suppression_3.shapes
def _shapes_3(check: Check, *inputs: TensorType | None) -> PartialShape:
    extents = _check_inputs(check, *inputs, vectors=False)
    boxes, classes, given = extents["num_boxes"], extents["num_classes"], inputs[2]
    limit = 0 if given is None else given.scalar
    if limit is None:
        return PartialShape([Dimension(0, boxes.max), 3])
    most = classes * max(int(limit), 0)
    highs = [m for m in (boxes.max, most.max) if m is not None]
    return PartialShape([Dimension(min(boxes.min, most.min), min(highs) if highs else None), 3])


@operator("NonMaxSuppression", "opset1", Steps, BoxSelection, shapes=_shapes_3)
def non_max_suppression_1(
    *inputs: Annotated[Any, InputsOf(non_max_suppression_3)],
    **how: Annotated[Any, AttributesOf(non_max_suppression_3, without="output_type")],
) -> Annotated[Array, Elements("I64", {ElementType.by_name["i64"]})]:
    """As NonMaxSuppression-3 with i64 indices.

    C1 to C3 as NonMaxSuppression-4.
    """
    return np.asarray(non_max_suppression_3.compute(*inputs, **how))


def undefined_selection(
    boxes: Array, scores: Array, most: Array | None = None, *thresholds: Array | None, by_formula: bool = True
) -> Undefined:
    """The result is undefined without `by_formula`, for thresholds that do not have the type of the boxes (and
    may be rounded to it), and for an overlap threshold that is not between 0 and 1.
    """
    if _scalar(most) < 0:
        return "no result"
    return (
        not by_formula
        or not 0.0 < _scalar(thresholds[0] if thresholds else None) < 1.0
        or any(a is not None and a.dtype != boxes.dtype for a in thresholds)
    )


def _is_selection(
    expected: Sequence[Array], found: Sequence[Array], boxes: Array, scores: Array, *others: Array | None, **_: Any
) -> bool | None:
    """Return whether as many rows as the page requires are the selected boxes; None if their choice is undefined."""
    if undefined_selection(boxes, scores, *others) or np.unique(scores).size < scores.size:
        return None
    return bool(np.array_equal(expected[0], found[0]))


for _new in (non_max_suppression_9, non_max_suppression_5):
    _new.oracle.undefined_for(undefined_selection)
    _new.oracle.allowed = Allowed(composes=False, ties=tied_boxes(_new, numbered=True))
for _old in (non_max_suppression_4, non_max_suppression_3, non_max_suppression_1):
    # The pages' formulas for the number of rows do not include the number of images.
    _old.oracle.undefined_for(partial(undefined_selection, by_formula=False))
    _old.oracle.allowed = Allowed(chosen=_is_selection, composes=False, ties=tied_boxes(_old, numbered=True))


for _op in (
    non_max_suppression_1,
    non_max_suppression_3,
    non_max_suppression_4,
    non_max_suppression_5,
    non_max_suppression_9,
):
    _op.oracle.draw("boxes")(draw_boxes)
    _op.oracle.draw("scores")(draw_scores)
    _op.oracle.draw("iou_threshold", "score_threshold", "soft_nms_sigma")(draw_threshold)
