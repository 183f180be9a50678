"""DetectionOutput: the detections of an SSD head, decoded from its logits and filtered by suppression.

Source: operation pages DetectionOutput-1 and -8; decoding, the two methods of suppression and the order of the results
follow OpenVINO's reference.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, FLOATS, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.boxes import descending, suppress
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.boxes import draw_scores
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Positive, Within
from irexec.ops.spec.groups import group
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import FloatTensor
from irexec.ops.spec.traits import Detection

# The page gives no type for proposals, which PriorBox computes as f32 in every model.
T_PRIORS: TypeAlias = Annotated[Array, Elements("proposals", FLOATS)]
# OpenVINO's reader rejects the list if a number has more bits.
Int32 = Annotated[int, Within(ge=-(1 << 31), le=(1 << 31) - 1)]
CodeType = Literal["caffe.PriorBoxParameter.CENTER_SIZE", "caffe.PriorBoxParameter.CORNER"]


@group
class Settings:
    """Parameters of decoding and suppression."""

    background_label_id: int = 0
    top_k: int = -1
    variance_encoded_in_target: bool = False
    keep_top_k: tuple[Int32, ...]
    code_type: CodeType = "caffe.PriorBoxParameter.CORNER"
    share_location: bool = True
    nms_threshold: float
    confidence_threshold: float = 0.0
    clip_after_nms: bool = False
    clip_before_nms: bool = False
    decrease_label_id: bool = False
    normalized: bool = False
    input_height: Positive = 1
    input_width: Positive = 1
    objectness_score: float = 0.0

    @property
    def keep(self) -> int:
        """The number of detections of an image that are kept; -1 for all."""
        return self.keep_top_k[0]

    @property
    def prior_box_size(self) -> int:
        return 4 if self.normalized else 5


def _detect(
    location: Array,
    confidence: Array,
    priors: Array,
    arm_confidence: Array | None,
    arm_location: Array | None,
    s: Settings,
) -> Array:
    """Return detections [1, 1, rows, 7]: image, class, confidence, corners.

    The row after the last detection contains the image number -1.
    """
    images, size = len(location), s.prior_box_size
    count = priors.shape[2] // size
    boxes, variances = _priors(priors, count, size, s)
    scores = confidence.reshape(images, count, confidence.shape[1] // max(count, 1))
    classes = scores.shape[2]
    if arm_confidence is not None and arm_location is not None:
        boxes = _decode(boxes, variances, _per_class(arm_location, count), s)
        unlikely = arm_confidence.reshape(images, count, 2)[..., 1] < s.objectness_score
        background = (np.arange(classes) == s.background_label_id).astype(scores.dtype)
        scores = np.where(unlikely[..., None], background, scores)
    decoded = _decode(boxes, variances, _per_class(location, count), s)
    rows = []
    for image in range(images):
        found = (
            _mxnet(decoded[image], scores[image], s)
            if s.decrease_label_id
            else _caffe(decoded[image], scores[image], s)
        )
        for label, index in _best(found, scores[image], s.keep):
            corners = decoded[image, index, 0 if s.share_location else label]
            corners = np.clip(corners, 0, 1) if s.clip_after_nms else corners
            rows.append([image, label - s.decrease_label_id, scores[image, index, label], *corners])
    result = np.zeros((_row_count(images, count, classes, s), 7), location.dtype)
    if rows:
        result[: len(rows)] = rows[: len(result)]
    if len(rows) < len(result):
        result[len(rows), 0] = -1
    return result[None, None]


def _row_count(images: int, priors: int, classes: int, s: Settings) -> int:
    if s.keep > 0:
        return images * s.keep
    return images * classes * (s.top_k if s.keep == -1 and s.top_k > 0 else priors)


def _priors(priors: Array, count: int, size: int, s: Settings) -> tuple[Array, Array | None]:
    """Return corners [batch, priors, 1, 4] and their variances, [batch, priors, 1, 4] or None."""
    batch = len(priors)
    boxes = priors[:, 0].reshape(batch, count, size)[:, :, None, size - 4 :]
    if s.variance_encoded_in_target:
        return boxes, None
    # There are four variances per box, even if boxes have five numbers.
    return boxes, priors[:, 1, : 4 * count].reshape(batch, count, 1, 4)


def _per_class(location: Array, count: int) -> Array:
    return location.reshape(len(location), count, location.shape[1] // (4 * count) if count else 1, 4)


def _decode(boxes: Array, variances: Array | None, location: Array, s: Settings) -> Array:
    """Return corners [images, priors, classes or 1, 4] of the boxes moved and resized by `location`."""
    if not s.normalized:
        boxes = boxes / np.array([s.input_width, s.input_height] * 2, boxes.dtype)
    shift = location if variances is None else variances * location
    if s.code_type.endswith("CENTER_SIZE"):
        low, high = boxes[..., :2], boxes[..., 2:]
        side = high - low
        centre = shift[..., :2] * side + (low + high) / 2
        with np.errstate(over="ignore"):
            half = np.exp(shift[..., 2:]) * side / 2
        result: Array = np.concatenate([centre - half, centre + half], axis=-1)
    else:
        result = boxes + shift
    return np.clip(result, 0, 1) if s.clip_before_nms else result


def _caffe(boxes: Array, scores: Array, s: Settings) -> dict[int, Array]:
    """Return the priors kept for each class: suppression within a class, over all priors above the threshold."""
    found = {}
    for label in range(scores.shape[1]):
        if label != s.background_label_id:
            candidates = np.flatnonzero(scores[:, label] > s.confidence_threshold)
            candidates = candidates[descending(scores[candidates, label])]
            found[label] = _suppress(boxes, scores, _cut(candidates, s.top_k), label, s)
    return found


def _mxnet(boxes: Array, scores: Array, s: Settings) -> dict[int, Array]:
    """Return the priors kept for each class: each prior counts for its best class only, and top_k limits all classes
    together.
    """
    judged = scores.copy()
    judged[:, 0] = -1
    if -1 < s.background_label_id < judged.shape[1]:
        judged[:, s.background_label_id] = -1
    labels = judged.argmax(axis=1)
    best = np.take_along_axis(judged, labels[:, None], axis=1)[:, 0]
    candidates = np.flatnonzero((best > -1) & (best >= s.confidence_threshold))
    candidates = _cut(candidates[descending(best[candidates])], s.top_k)
    return {
        int(label): _suppress(boxes, scores, candidates[labels[candidates] == label], int(label), s)
        for label in np.unique(labels[candidates])
    }


def _cut(candidates: Array, top_k: int) -> Array:
    return candidates[:top_k] if top_k > -1 else candidates


def _suppress(boxes: Array, scores: Array, candidates: Array, label: int, s: Settings) -> Array:
    own = boxes[candidates, 0 if s.share_location else label]
    kept: Array = candidates[suppress(own, scores[candidates, label], s.nms_threshold, len(candidates))]
    return kept


def _best(found: dict[int, Array], scores: Array, keep: int) -> list[tuple[int, int]]:
    """Return (class, prior) of the `keep` best detections (-1: all), by class and descending score."""
    pairs = [(label, int(index)) for label in sorted(found) for index in found[label]]
    if -1 < keep < len(pairs):
        pairs = sorted(pairs, key=lambda p: (-scores[p[1], p[0]], p[1]))[:keep]
        pairs.sort(key=lambda p: p[0])
    return pairs


@operator("DetectionOutput", "opset8", Detection, tolerance=rounded(32))
def detection_output_8(
    box_logits: FloatTensor,
    class_preds: FloatTensor,
    proposals: T_PRIORS,
    aux_class_preds: FloatTensor | None = None,
    aux_box_preds: FloatTensor | None = None,
    /,
    *,
    settings: Settings,
) -> FloatTensor:
    """Detections [1, 1, rows, 7] as (image, class, confidence, xmin, ymin, xmax, ymax), sorted by image and class.

    If there are fewer detections than rows, a row with image -1 marks the end, and zeros follow.

    C1: box_logits is [N, num_prior_boxes * num_loc_classes * 4]. C2: class_preds is [N, num_prior_boxes * num_classes].
    C3: proposals is [1 or N, 2, num_prior_boxes * prior_box_size]; one row with variance_encoded_in_target; a
    prior_box_size of 4 when normalized, otherwise 5. C4: aux_class_preds is [N, num_prior_boxes * 2]. C5: aux_box_preds
    has the shape of box_logits. C6: aux_class_preds and aux_box_preds are both given or both omitted. C7: keep_top_k is
    not empty.
    """
    aux_class, aux_box = (None if a is None else widen(a) for a in (aux_class_preds, aux_box_preds))
    result = _detect(widen(box_logits), widen(class_preds), widen(proposals), aux_class, aux_box, settings)
    return narrow(result, box_logits.dtype)


@operator("DetectionOutput", "opset1", Detection, tolerance=rounded(32))
def detection_output_1(
    *inputs: Annotated[Any, InputsOf(detection_output_8)], num_classes: Positive, settings: Settings
) -> FloatTensor:
    """As DetectionOutput-8, with num_classes given. C1 to C7 as DetectionOutput-8."""
    return np.asarray(detection_output_8.compute(*inputs, settings=settings))


@detection_output_8.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    """Set `num_classes`, which the previous version requires, from the extents of class_preds and proposals."""
    classes, proposals = (given.shape if given is not None else PartialShape.dynamic() for given in inputs[1:3])
    known = classes.rank == 2 and proposals.rank == 3 and classes[1].is_static and proposals[2].is_static
    form.need(known, "the number of classes is not known")
    priors = proposals[2].value // (4 if form.attributes["normalized"] else 5)
    form.attributes["num_classes"] = classes[1].value // max(priors, 1)


@detection_output_8.shapes
@detection_output_1.shapes
def _(check: Check, *inputs: TensorType | None, settings: Settings, num_classes: int | None = None) -> PartialShape:
    """Check C1 to C7, and return the shape of the output. If `num_classes` is None, it follows from the shapes."""
    keep_top_k = settings.keep_top_k
    names = ("box_logits", "class_preds", "proposals", "aux_class_preds", "aux_box_preds")
    ranks = (2, 2, 3, 2, 2)
    fits = [
        t is None or has_rank(check, c, t, rank, name)
        for t, c, rank, name in zip(inputs, ("C1", "C2", "C3", "C4", "C5"), ranks, names, strict=True)
    ]
    check(
        "C6",
        (inputs[3] is None) == (inputs[4] is None),
        "one of aux_class_preds and aux_box_preds is missing, expected both or neither",
    )
    if not check(
        "C7", len(keep_top_k) > 0, "keep_top_k is empty, expected at least one value", attribute="keep_top_k"
    ) or not all(fits):
        return PartialShape([1, 1, ANY_DIMENSION, 7])
    second = [None if t is None or t.rank is None else t.shape[-1] for t in inputs]
    priors = _quotient(check, "C3", "proposals", second[2], settings.prior_box_size)
    classes = num_classes
    if classes is None and priors:
        classes = _quotient(check, "C2", "class_preds", second[1], priors)
    if priors is None and classes:
        priors = _quotient(check, "C2", "class_preds", second[1], classes)
    boxes = None if priors is None else 1 if settings.share_location else classes
    images = ANY_DIMENSION
    expected = (
        ("C1", None if boxes is None or priors is None else priors * boxes * 4),
        ("C2", None if classes is None or priors is None else priors * classes),
        ("C3", None),
        ("C4", None if priors is None else priors * 2),
        ("C5", None if boxes is None or priors is None else priors * boxes * 4),
    )
    for (constraint, extent), tensor, name in zip(expected, inputs, names, strict=True):
        if tensor is None or tensor.rank is None:
            continue
        first, last = tensor.shape[0], tensor.shape[-1]
        single = name == "proposals" and first.compatible(1)
        together = images.merge(first)
        message = f"{name} has {first} images, expected {images}"
        check(constraint, together is not None or single, message, port=name)
        images = images if together is None or single else together
        right = extent is None or last.compatible(extent)
        check(constraint, right, f"{name} has {last} values per image, expected {extent}", port=name)
    if inputs[2] is not None and inputs[2].rank == 3:
        rows = 1 if settings.variance_encoded_in_target else 2
        message = f"proposals has {inputs[2].shape[1]} rows, expected {rows}"
        check("C3", inputs[2].shape[1].compatible(rows), message, port="proposals")
    each = ANY_DIMENSION if classes is None else Dimension(classes)
    if keep_top_k[0] > 0:
        return PartialShape([1, 1, images * keep_top_k[0], 7])
    if keep_top_k[0] == -1 and settings.top_k > 0:
        return PartialShape([1, 1, images * settings.top_k * each, 7])
    return PartialShape([1, 1, images * (ANY_DIMENSION if priors is None else Dimension(priors)) * each, 7])


@detection_output_8.oracle.undefined_for
@detection_output_1.oracle.undefined_for
def _(*inputs: Array | None, settings: Settings) -> Undefined:
    """The result is undefined for limits below -1, whose meaning the page does not state, and after the image -1 that
    ends it.
    """
    if min(settings.top_k, *settings.keep_top_k) < -1:
        return True
    result = np.asarray(detection_output_8.compute(*inputs, settings=settings))
    ended = np.logical_or.accumulate(result.reshape(-1, 7)[:, 0] == -1)
    undefined = np.repeat(ended, 7)
    undefined[7 * np.flatnonzero(ended)[:1]] = False
    return (undefined.reshape(result.shape),)


def _quotient(check: Check, constraint: str, name: str, extent: Dimension | None, divisor: int) -> int | None:
    if extent is None or not extent.is_static:
        return None
    message = f"{name} has {extent} values, expected a positive multiple of {divisor}"
    fits = extent.value % divisor == 0 and extent.value > 0
    return extent.value // divisor if check(constraint, fits, message, port=name) else None


for _op in (detection_output_1, detection_output_8):
    _op.oracle.draw("class_preds", "aux_class_preds")(draw_scores)


@detection_output_8.oracle.draw("proposals")
@detection_output_1.oracle.draw("proposals")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, settings: Settings) -> Array:
    """Draw prior boxes within the image, [batch, 0, priors * (4 or 5)], and their variances, [batch, 1, ...]."""
    wanted = types[port]
    batch, rows, numbers = wanted.shape.to_shape()
    size = settings.prior_box_size
    corner = rng.uniform(0.0, 0.7, (batch, numbers // size, 2))
    boxes = np.zeros((batch, numbers // size, size))
    boxes[..., -4:] = np.concatenate([corner, corner + rng.uniform(0.05, 0.3, corner.shape)], axis=-1)
    if not settings.normalized:
        boxes[..., -4:] *= [settings.input_width, settings.input_height] * 2
    drawn = np.full((batch, rows, numbers), 0.1)
    drawn[:, 0] = boxes.reshape(batch, numbers)
    return drawn.astype(wanted.element_type.dtype)
