"""GenerateProposals and ExperimentalDetectronGenerateProposalsSingleImage: regions of interest from anchors.

Source: operation pages GenerateProposals-9, ExperimentalDetectronGenerateProposalsSingleImage-6; deltas move and resize
anchors as in OpenVINO's reference (and Detectron).
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np

from irexec.core.types import Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.compute.boxes import descending, suppress
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.boxes import draw_boxes, draw_images, draw_scores
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import NonNegative, Within
from irexec.ops.spec.operator import Check, TypeFrom, operator, rounded
from irexec.ops.spec.tensors import FloatTensor

Limit = Annotated[float, Within(ge=0)]
# The largest growth of a side, as a logarithm: from 16 to 1000 pixels.
MAX_LOG = math.log(1000.0 / 16.0)


def refine(anchors: Array, deltas: Array, offset: float, max_log: float) -> Array:
    """Return boxes [..., 4] (low, low, high, high) moved by deltas [..., 4] as (dx, dy, log of width, log of height).

    `offset` is 1 if corners are pixels that belong to the box, else 0.
    """
    kind = anchors.dtype.type
    sizes = anchors[..., 2:] - anchors[..., :2] + kind(offset)
    centres = deltas[..., :2] * sizes + (anchors[..., :2] + kind(0.5) * sizes)
    with np.errstate(over="ignore"):
        halves = kind(0.5) * np.exp(np.minimum(deltas[..., 2:], kind(max_log))) * sizes
    return np.concatenate([centres - halves, centres + halves - kind(offset)], axis=-1)


def _propose(
    anchors: Array,
    deltas: Array,
    scores: Array,
    image: Array,
    smallest: tuple[float, float],
    offset: float,
    pre_nms: int,
) -> tuple[Array, Array]:
    """Return the boxes [n, 4] of one image, clipped to it, and their scores, best first, before suppression.

    anchors [height * width * count, 4], deltas [count * 4, height, width], scores [count, height, width]; `smallest` is
    the least width and height.
    """
    count, height, width = scores.shape
    moves = deltas.reshape(count, 4, height, width).transpose(2, 3, 0, 1).reshape(-1, 4)
    values = scores.transpose(1, 2, 0).reshape(-1)
    boxes = refine(anchors, moves, offset, MAX_LOG)
    limit = np.array([image[1], image[0]] * 2, boxes.dtype) - boxes.dtype.type(offset)
    boxes = np.maximum(np.minimum(boxes, limit), 0)
    sizes = boxes[:, 2:] - boxes[:, :2] + boxes.dtype.type(offset)
    large = (sizes >= np.array(smallest, boxes.dtype)).all(axis=1)
    best = descending(values)[:pre_nms]
    best = best[large[best]]
    return boxes[best], values[best]


@operator("GenerateProposals", "opset9", tolerance=rounded(64))
def generate_proposals_9(
    im_info: FloatTensor,
    anchors: FloatTensor,
    boxesdeltas: FloatTensor,
    scores: FloatTensor,
    /,
    *,
    min_size: Limit,
    nms_threshold: Limit,
    pre_nms_count: NonNegative,
    post_nms_count: NonNegative,
    normalized: bool = True,
    nms_eta: Annotated[float, Within(ge=0, le=1)] = 1.0,
    roi_num_type: Literal["i32", "i64"] = "i64",
) -> tuple[FloatTensor, FloatTensor, Annotated[Array, TypeFrom("roi_num_type")]]:
    """Regions rpnrois [n, 4] and scores rpnscores [n], image by image and best first; rpnroisnum [num_batches].

    min_size is in pixels of the original image: it is multiplied by the scale in im_info (OpenVINO's reference).

    C1: im_info is [num_batches, 3] or [num_batches, 4]. C2: anchors is [height, width, number_of_anchors, 4]. C3:
    boxesdeltas is [num_batches, number_of_anchors * 4, height, width]. C4: scores is
    [num_batches, number_of_anchors, height, width].
    """
    offset = 0.0 if normalized else 1.0
    flat = widen(anchors).reshape(-1, 4)
    rois, values, counts = [np.empty((0, 4), flat.dtype)], [np.empty(0, flat.dtype)], []
    for image, deltas, score in zip(widen(im_info), widen(boxesdeltas), widen(scores), strict=True):
        smallest = float(min_size * image[-1]), float(min_size * image[2])
        boxes, best = _propose(flat, deltas, score, image, smallest, offset, pre_nms_count)
        kept = suppress(boxes, best, nms_threshold, post_nms_count, extra=offset, eta=nms_eta)
        rois.append(boxes[kept])
        values.append(best[kept])
        counts.append(len(kept))
    dtype = im_info.dtype
    numbers = np.array(counts, ElementType.by_name[roi_num_type].dtype)
    return narrow(np.concatenate(rois), dtype), narrow(np.concatenate(values), dtype), numbers


@generate_proposals_9.shapes
def _(
    check: Check,
    im_info: TensorType,
    anchors: TensorType,
    boxesdeltas: TensorType,
    scores: TensorType,
    *,
    post_nms_count: int,
) -> tuple[PartialShape, PartialShape, PartialShape]:
    extents = Extents(check)
    if extents.match("C1", "im_info", im_info, "num_batches", "numbers"):
        fits = extents["numbers"].compatible(Dimension(3, 4))
        check("C1", fits, f"im_info has {extents['numbers']} numbers for an image, expected 3 or 4", port="im_info")
    extents.match("C2", "anchors", anchors, "height", "width", "number_of_anchors", 4)
    extents.match("C4", "scores", scores, "num_batches", "number_of_anchors", "height", "width")
    _match_deltas(check, "C3", "boxesdeltas", boxesdeltas, extents, "num_batches")
    most = extents["num_batches"] * post_nms_count
    rows = Dimension(0, most.max)
    return PartialShape([rows, 4]), PartialShape([rows]), extents.shape("num_batches")


def _match_deltas(check: Check, constraint: str, port: str, deltas: TensorType, extents: Extents, *before: str) -> None:
    """Check that deltas [*before, number_of_anchors * 4, height, width] has four channels for each anchor."""
    four = extents["number_of_anchors"] * 4
    if extents.match(constraint, port, deltas, *before, "deltas", "height", "width"):
        message = f"{port} has {extents['deltas']} channels, expected number_of_anchors * 4 = {four}"
        check(constraint, extents["deltas"].compatible(four), message, port=port)


@operator("ExperimentalDetectronGenerateProposalsSingleImage", "opset6", tolerance=rounded(64))
def generate_proposals_single_image_6(
    im_info: FloatTensor,
    anchors: FloatTensor,
    deltas: FloatTensor,
    scores: FloatTensor,
    /,
    *,
    min_size: Limit,
    nms_threshold: Limit,
    pre_nms_count: NonNegative,
    post_nms_count: NonNegative,
) -> tuple[FloatTensor, FloatTensor]:
    """Regions [post_nms_count, 4] and their scores [post_nms_count], best first, then zeros.

    Corners are pixels that belong to the box, but overlaps are computed as if they were points (OpenVINO's reference).
    Boxes smaller than min_size are removed, as on the page (OpenVINO keeps them with the score 0).

    C1: im_info is [3]. C2: anchors is [height * width * number_of_anchors, 4]. C3: deltas is
    [number_of_anchors * 4, height, width]. C4: scores is [number_of_anchors, height, width].
    """
    small = min_size, min_size
    moves, values = widen(deltas), widen(scores)
    count = int(np.prod(values.shape))
    boxes, best = _propose(widen(anchors), moves, values, widen(im_info), small, 1.0, count)
    boxes, best = boxes[:pre_nms_count], best[:pre_nms_count]
    kept = suppress(boxes, best, nms_threshold, post_nms_count)
    rois, found = np.zeros((post_nms_count, 4), boxes.dtype), np.zeros(post_nms_count, best.dtype)
    rois[: len(kept)], found[: len(kept)] = boxes[kept], best[kept]
    return narrow(rois, im_info.dtype), narrow(found, im_info.dtype)


@generate_proposals_single_image_6.shapes
def _(
    check: Check,
    im_info: TensorType,
    anchors: TensorType,
    deltas: TensorType,
    scores: TensorType,
    *,
    post_nms_count: int,
) -> tuple[PartialShape, PartialShape]:
    extents = Extents(check)
    extents.match("C1", "im_info", im_info, 3)
    extents.match("C2", "anchors", anchors, "anchors", 4)
    extents.match("C4", "scores", scores, "number_of_anchors", "height", "width")
    _match_deltas(check, "C3", "deltas", deltas, extents)
    total = extents.shape("height", "width", "number_of_anchors").size
    message = f"there are {extents['anchors']} anchors, expected one for each of the {total} scores"
    check("C2", extents["anchors"].compatible(total), message, port="anchors")
    return PartialShape([post_nms_count, 4]), PartialShape([post_nms_count])


for _op in (generate_proposals_9, generate_proposals_single_image_6):
    _op.oracle.draw("im_info")(draw_images)
    _op.oracle.draw("anchors")(draw_boxes)
    _op.oracle.draw("scores")(draw_scores)
