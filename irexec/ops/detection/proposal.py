"""Proposal: regions of interest of a Faster R-CNN head, from anchors at every point of its feature map.

Source: operation pages Proposal-1 and -4; for the anchors and the effect of `framework`, OpenVINO's reference.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.boxes import descending, suppress
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.boxes import draw_images, draw_scores
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import UNCOMPILED, Positive, Within
from irexec.ops.spec.groups import group
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import FloatTensor

Above0 = Annotated[float, Within(gt=0)]


@group
class Settings:
    """The parameters with which regions are computed from anchors; `offset` is 1 if corners are pixels that belong to
    the box (Caffe), else 0.
    """

    base_size: Positive
    pre_nms_topn: Positive
    post_nms_topn: Positive
    nms_thresh: Above0
    feat_stride: Positive
    min_size: Positive
    ratio: tuple[float, ...]
    scale: tuple[float, ...]
    clip_before_nms: bool = True
    clip_after_nms: bool = False
    normalize: bool = False
    box_size_scale: Above0 = 1.0
    box_coordinate_scale: Above0 = 1.0
    framework: Annotated[Literal["", "tensorflow"], UNCOMPILED] = ""

    @property
    def tensorflow(self) -> bool:
        return self.framework == "tensorflow"

    @property
    def offset(self) -> float:
        return 0.0 if self.tensorflow else 1.0


def anchors_of(s: Settings) -> Array:
    """Return corners [ratios * scales, 4] of the first point's anchors; their sides are rounded to pixels for Caffe."""
    ratio = np.array(s.ratio, np.float32)
    width = np.sqrt(np.float32(s.base_size * s.base_size) / ratio)
    width = width if s.tensorflow else np.floor(width + np.float32(0.5))
    height = width * ratio
    height = height if s.tensorflow else np.floor(height + np.float32(0.5))
    centre = np.float32(0.5) * np.float32(s.base_size - s.offset)
    if s.tensorflow:
        centre -= np.float32(s.base_size * 0.5)
    sides = np.stack([width, height], axis=-1)[:, None] * np.array(s.scale, np.float32)[:, None]
    halves = (np.float32(0.5) * (sides - np.float32(s.offset))).reshape(-1, 2)
    return np.concatenate([centre - halves, centre + halves], axis=-1)


def _extent(image: Array, s: Settings) -> Array:
    """Return [largest x, largest y] twice, for two corners. In the framework "tensorflow", x counts rows."""
    height, width = image[:2]
    return np.array([height, width] * 2 if s.tensorflow else [width, height] * 2, image.dtype)


def _proposals(scores: Array, deltas: Array, image: Array, s: Settings) -> tuple[Array, Array]:
    """Return boxes [n, 4] and scores [n], best first, from scores [count, H, W] and deltas [count * 4, H, W]."""
    count, height, width = scores.shape
    kind = deltas.dtype.type
    extent = _extent(image, s)
    rows, columns = (np.arange(n, dtype=np.float32) * s.feat_stride for n in (height, width))
    x, y = (rows[:, None], columns[None]) if s.tensorflow else (columns[None], rows[:, None])
    points = np.stack(np.broadcast_arrays(x, y, x, y), axis=-1)
    boxes = (points[:, :, None] + anchors_of(s)).astype(deltas.dtype)
    if s.tensorflow:
        boxes = np.clip(boxes, 0, extent)
    moves = deltas.reshape(count, 4, height, width).transpose(2, 3, 0, 1)
    sizes = boxes[..., 2:] - boxes[..., :2] + kind(s.offset)
    centres = moves[..., :2] / kind(s.box_coordinate_scale) * sizes + (boxes[..., :2] + kind(0.5) * sizes)
    with np.errstate(over="ignore"):
        halves = kind(0.5) * (np.exp(moves[..., 2:] / kind(s.box_size_scale)) * sizes)
    boxes = np.concatenate([centres - halves, centres + halves], axis=-1)
    if s.clip_before_nms:
        boxes = np.maximum(np.minimum(boxes, extent - kind(s.offset)), 0)
    boxes, values = boxes.reshape(-1, 4), scores.transpose(1, 2, 0).reshape(-1)
    smallest = kind(s.min_size) * np.array([image[-1], image[2]], deltas.dtype)
    large = np.flatnonzero((boxes[:, 2:] - boxes[:, :2] + kind(s.offset) >= smallest).all(axis=1))
    best = large[descending(values[large])][: s.pre_nms_topn]
    return boxes[best], values[best]


def _propose(class_probs: Array, bbox_deltas: Array, image_shape: Array, s: Settings) -> tuple[Array, Array]:
    """Return regions [batch * post_nms_topn, 5] as (image, corners) and their probabilities."""
    probs, deltas, image = widen(class_probs), widen(bbox_deltas), widen(image_shape).reshape(-1)
    batch, count = len(probs), probs.shape[1] // 2
    _check_anchors(require, Dimension(probs.shape[1]), Dimension(deltas.shape[1]), s)
    rois = np.zeros((batch, s.post_nms_topn, 5), probs.dtype)
    values = np.zeros((batch, s.post_nms_topn), probs.dtype)
    extent = _extent(image, s)
    for number in range(batch):
        boxes, best = _proposals(probs[number, count:], deltas[number], image, s)
        kept = suppress(boxes, best, s.nms_thresh, s.post_nms_topn, extra=s.offset)
        boxes = boxes[kept]
        if s.clip_after_nms:
            boxes = np.clip(boxes, 0, extent)
        if s.normalize:
            boxes = boxes / extent
        rois[number, : len(kept), 0] = number
        rois[number, : len(kept), 1:] = boxes
        values[number, : len(kept)] = best[kept]
        if len(kept) < s.post_nms_topn:
            rois[number, len(kept), 0] = -1
    dtype = class_probs.dtype
    return narrow(rois.reshape(-1, 5), dtype), narrow(values.reshape(-1), dtype)


@operator("Proposal", "opset4", tolerance=rounded(64))
def proposal_4(
    class_probs: FloatTensor, bbox_deltas: FloatTensor, image_shape: FloatTensor, /, *, settings: Settings
) -> tuple[FloatTensor, FloatTensor]:
    """Regions [batch_size * post_nms_topn, 5] as (image, x1, y1, x2, y2), best first, and their probabilities.

    If an image has fewer regions, the row after its last region has image -1, and zeros follow. min_size is multiplied
    by the scale in image_shape.

    C1: class_probs is [batch_size, 2 * K, H, W]. C2: bbox_deltas is [batch_size, 4 * K, H, W]. C3: image_shape is [3]
    or [4]. C4: K is the number of ratios times the number of scales.
    """
    return _propose(class_probs, bbox_deltas, image_shape, settings)


@proposal_4.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    form.drop_output(1, "the output of probabilities")


@proposal_4.shapes
def _(
    check: Check, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType, *, settings: Settings
) -> tuple[PartialShape, PartialShape]:
    rois = _rois(check, class_probs, bbox_deltas, image_shape, settings=settings)
    return rois, rois[:1]


def _rois(
    check: Check, class_probs: TensorType, bbox_deltas: TensorType, image_shape: TensorType, *, settings: Settings
) -> PartialShape:
    extents = Extents(check)
    extents.match("C1", "class_probs", class_probs, "batch_size", "twice", "H", "W")
    extents.match("C2", "bbox_deltas", bbox_deltas, "batch_size", "four_times", "H", "W")
    extents.match("C3", "image_shape", image_shape, "numbers")
    numbers, twice, four_times = extents["numbers"], extents["twice"], extents["four_times"]
    fits = numbers.compatible(Dimension(3, 4))
    check("C3", fits, f"image_shape has {numbers} elements, expected 3 or 4", port="image_shape", allowed="3 or 4")
    _check_anchors(check, twice, four_times, settings)
    return PartialShape([extents["batch_size"] * settings.post_nms_topn, 5])


def _check_anchors(check: Check, twice: Dimension, four_times: Dimension, settings: Settings) -> None:
    """Check C4, and C2 for the channels of bbox_deltas."""
    ratios, scales = len(settings.ratio), len(settings.scale)
    anchors = ratios * scales
    message = f"class_probs has {twice} channels, expected {2 * anchors}: 2 * {ratios} ratios * {scales} scales"
    fits = check("C4", twice.compatible(2 * anchors), message, port="class_probs", allowed=str(2 * anchors), late=True)
    wanted = 4 * anchors if fits else twice * 2
    message = f"bbox_deltas has {four_times} channels, expected {wanted}"
    check("C2", four_times.compatible(wanted), message, port="bbox_deltas", allowed=str(wanted), late=True)


@operator("Proposal", "opset1", tolerance=rounded(64), shapes=_rois)
def proposal_1(
    class_probs: FloatTensor, bbox_deltas: FloatTensor, image_shape: FloatTensor, /, *, settings: Settings
) -> FloatTensor:
    """As Proposal-4 without the probabilities. C1 to C4 are the same."""
    return _propose(class_probs, bbox_deltas, image_shape, settings)[0]


@proposal_4.oracle.undefined_for
def _undefined(class_probs: Array, bbox_deltas: Array, image_shape: Array, *, settings: Settings) -> Undefined:
    """The result is undefined for equal probabilities, whose order the page does not define. Otherwise, the rows after
    the last box are undefined.
    """
    probs = np.sort(class_probs[:, class_probs.shape[1] // 2 :].reshape(len(class_probs), -1))
    if (probs[:, 1:] == probs[:, :-1]).any():
        return True
    images = _propose(class_probs, bbox_deltas, image_shape, settings)[0][:, 0]
    after = (np.cumsum(images.reshape(len(class_probs), -1) == -1, axis=1) > 0).reshape(-1)
    return after[:, None].repeat(5, 1), after


@proposal_1.oracle.undefined_for
def _(class_probs: Array, bbox_deltas: Array, image_shape: Array, *, settings: Settings) -> Undefined:
    """As Proposal-4, for its first output."""
    found = _undefined(class_probs, bbox_deltas, image_shape, settings=settings)
    return found[:1] if isinstance(found, tuple) else found


for _op in (proposal_1, proposal_4):
    _op.oracle.draw("class_probs")(draw_scores)
    _op.oracle.draw("image_shape")(draw_images)
