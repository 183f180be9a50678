"""Detections per class: their order, their number, and the outputs that MatrixNms and MulticlassNms share.

Source: operation pages MatrixNonMaxSuppression-8, MulticlassNonMaxSuppression-8 and -9. On the pages, the attribute
for the order is `sort_result` with a value `class`; in files, `sort_result_type` with `classid`. Both are accepted.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, TypeAlias

import numpy as np

from irexec.core.types import Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import narrow
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import AsRead, Within
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check
from irexec.ops.spec.oracle import Undefined

SortType: TypeAlias = Literal["none", "score", "classid", "class"]
IndexType: TypeAlias = Literal["i64", "i32"]


@group
class Listing:
    """The order of the selected boxes and the type of their indices."""

    sort_result: Annotated[SortType, AsRead(others="never reads it")] = "none"
    sort_result_type: SortType = "none"
    sort_result_across_batch: bool = False
    output_type: IndexType = "i64"

    @property
    def order(self) -> str:
        """The order of the results, from either attribute."""
        return self.sort_result if self.sort_result_type == "none" else self.sort_result_type


Most: TypeAlias = Annotated[int, Within(ge=-1)]  # the number of boxes to keep, -1 for all


class Found(NamedTuple):
    """The detections of one image: the class, index of the box, score and corners of each detection."""

    labels: Array
    indices: Array
    scores: Array
    boxes: Array

    @staticmethod
    def join(parts: list[Found], dtype: np.dtype[np.generic]) -> Found:
        """Concatenate detections."""
        empty = Found(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, dtype), np.empty((0, 4), dtype))
        return Found(*(np.concatenate(column) for column in zip(empty, *parts, strict=True)))

    def take(self, order: Array) -> Found:
        return Found(*(column[order] for column in self))


def outputs(
    images: list[Found], keep_top_k: int, listing: Listing, dtype: np.dtype[np.generic]
) -> tuple[Array, Array, Array]:
    """Return selected_outputs [n, 6] as (class, score, corners), selected_indices [n, 1] and selected_num [images].

    Each image keeps its `keep_top_k` best detections (-1: all), by descending score, or by class if `order` requires.
    """
    order, across = listing.order, listing.sort_result_across_batch
    kept = []
    for image in images:
        if not len(image.labels):
            kept.append(image)
            continue
        best = image.take(np.lexsort((image.indices, image.labels, -image.scores)))
        best = best.take(np.arange(len(best.labels))[: keep_top_k if keep_top_k > -1 else None])
        if order in ("class", "classid") and not across:
            best = best.take(np.lexsort((best.indices, -best.scores, best.labels)))
        kept.append(best)
    counts = [len(image.labels) for image in kept]
    number = np.repeat(np.arange(len(kept)), counts)
    everything = Found.join(
        [image for image in kept if len(image.labels)], images[0].scores.dtype if images else np.dtype(np.float32)
    )
    if across and order == "score":
        everything = everything.take(np.lexsort((everything.indices, everything.labels, number, -everything.scores)))
    elif across and order in ("class", "classid"):
        everything = everything.take(np.lexsort((everything.indices, -everything.scores, number, everything.labels)))
    kind = ElementType.by_name[listing.output_type].dtype
    rows = np.column_stack([everything.labels, everything.scores, everything.boxes]).astype(everything.scores.dtype)
    return narrow(rows, dtype), everything.indices[:, None].astype(kind), np.array(counts, kind)


def shapes(
    images: Dimension, classes: Dimension, boxes: Dimension, nms_top_k: int, keep_top_k: int
) -> tuple[PartialShape, PartialShape, PartialShape]:
    """Return the outputs' shapes, with the maximum number of selected boxes as upper bound."""
    each = boxes.max if nms_top_k < 0 else nms_top_k if boxes.max is None else min(boxes.max, nms_top_k)
    most = None if each is None or classes.max is None else each * classes.max
    if keep_top_k > -1:
        most = keep_top_k if most is None else min(most, keep_top_k)
    total = Dimension(0, None if most is None or images.max is None else most * images.max)
    return PartialShape([total, 6]), PartialShape([total, 1]), PartialShape([images])


def shared_shapes(
    check: Check, boxes: TensorType, scores: TensorType, *, nms_top_k: int, keep_top_k: int, background_class: int
) -> tuple[PartialShape, PartialShape, PartialShape]:
    """Check C1 (boxes), C2 (scores) and C3 (background_class) for boxes that all classes share; return the shapes."""
    extents = Extents(check)
    extents.match("C1", "boxes", boxes, "num_batches", "num_boxes", 4)
    extents.match("C2", "scores", scores, "num_batches", "num_classes", "num_boxes")
    check_background(check, background_class)
    return shapes(extents["num_batches"], extents["num_classes"], extents["num_boxes"], nms_top_k, keep_top_k)


def check_background(check: Check, background_class: int) -> None:
    """Check C3: the background is a class, or -1 for no background."""
    message = f"background_class is {background_class}, expected -1 (no background) or a class number"
    check("C3", background_class >= -1, message, attribute="background_class", allowed="-1 or a class")


def undefined_order(*inputs: Array | None, listing: Listing) -> Undefined:
    """The order is undefined unless it is by score: the pages do not define it for boxes of the same class."""
    return listing.order != "score"
