"""CTCLoss: the negative log probability of a sequence of labels, summed over all alignments that decode to it.

Source: operation page CTCLoss-4. The paths are not enumerated: one pass over the steps sums their probabilities, as in
the paper cited by the page (Graves et al., 2006).
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import INDICES, Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.rules.axes import drawn_below, filled, in_range
from irexec.ops.rules.extents import Extents
from irexec.ops.rules.shapes import has_rank
from irexec.ops.sequence.ctc import blank_of, known_blank, packed
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, Elements, operator, require, rounded
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import FloatTensorF, IndexTensor2

T1: TypeAlias = Annotated[Array, Elements("T1", INDICES)]


@operator("CTCLoss", "opset4", tolerance=rounded(256))
def ctc_loss_4(
    logits: FloatTensorF,
    logit_length: T1,
    labels: IndexTensor2,
    label_length: T1,
    blank_index: IndexTensor2 | None = None,
    /,
    *,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: Annotated[bool, AsRead(default=False)] = True,
    unique: bool = False,
) -> FloatTensorF:
    """The negative logarithm of the probability that `logits` [N, T, C] decode to `labels` [N, T]: [N].

    Only the first `logit_length` [N] steps and the first `label_length` [N] labels are used. Of these labels,
    `preprocess_collapse_repeated` merges equal neighbours and `unique` keeps first occurrences. Steps decode to the
    labels that are not blank, after equal neighbours are merged (`ctc_merge_repeated`). The default blank is class
    C - 1. The result is infinity for labels to which no path decodes.

    C1: logits has rank 3 and, unless it is empty, a class. C2: logit_length has shape [N] and is in [0, T].
    C3: labels has shape [N, T]; labels that are used are classes other than the blank. C4: label_length has shape [N]
    and is in [0, logit_length]. C5: blank_index is a scalar in [0, C - 1].
    """
    _, steps, classes = logits.shape
    blank = blank_of("C5", blank_index, classes)
    in_range(require, "C2", "logit_length", logit_length, 0, steps)
    _check_lengths(require, label_length.tolist(), logit_length.tolist())
    live = np.arange(steps) < label_length[:, None]
    _check_labels(require, labels[live], classes, blank)
    if preprocess_collapse_repeated:
        live[:, 1:] &= labels[:, 1:] != labels[:, :-1]
    if unique:
        live &= _is_first(labels)
    targets, lengths = packed(labels, live, blank)
    with np.errstate(all="ignore"):
        loss = _loss(widen(logits), logit_length, targets, lengths, blank, ctc_merge_repeated)
    return narrow(loss, logits.dtype)


@ctc_loss_4.shapes
def _(
    check: Check,
    logits: TensorType,
    logit_length: TensorType,
    labels: TensorType,
    label_length: TensorType,
    blank_index: TensorType | None,
) -> PartialShape:
    extents = Extents(check)
    if extents.match("C1", "logits", logits, "N", "T", "C"):
        empty = extents["N"].contains(0) or extents["T"].contains(0)
        check("C1", extents["C"].max != 0 or empty, "logits has no classes", port="logits")
    extents.match("C2", "logit_length", logit_length, "N")
    extents.match("C3", "labels", labels, "N", "T")
    extents.match("C4", "label_length", label_length, "N")
    if blank_index is not None:
        has_rank(check, "C5", blank_index, 0, "blank_index")
    blank = known_blank(check, "C5", blank_index, extents["C"])
    steps, found = logit_length.ints, label_length.ints
    in_range(check, "C2", "logit_length", steps, 0, extents["T"].max)
    if found is not None:
        _check_lengths(check, found, steps)
        if labels.value is not None and labels.rank == 2:
            counting = [row[: max(n, 0)] for row, n in zip(labels.value, found, strict=False)]
            _check_labels(check, np.concatenate([*counting, labels.value[:0].ravel()]), extents["C"].max, blank)
    return extents.shape("N")


def _check_lengths(check: Check, lengths: list[int], steps: list[int] | None) -> None:
    fits = all(n >= 0 for n in lengths) and (steps is None or all(n <= m for n, m in zip(lengths, steps, strict=False)))
    check("C4", fits, f"label_length {lengths} is not within [0, logit_length]", port="label_length")


def _check_labels(check: Check, labels: Array, classes: int | None, blank: int | None) -> None:
    """Check C3 for the labels that are used; None means an unknown number of classes or an unknown blank."""
    wrong = labels[(labels < 0) | (labels == blank) | (False if classes is None else labels >= classes)]
    most = "the number of classes - 1" if classes is None else classes - 1
    other = "" if blank is None else f" ({blank})"
    message = f"label {wrong[0] if len(wrong) else ''} is not a class from 0 to {most} other than the blank{other}"
    check("C3", len(wrong) == 0, message, port="labels")


def _loss(logits: Array, steps: Array, targets: Array, lengths: Array, blank: int, merge: bool) -> Array:
    """Return the loss [N] of the first `lengths` [N] targets [N, T], for the first `steps` [N] of logits [N, T, C].

    `paths[n, s]` is the logarithm of the probability of all paths so far that end in state s. Odd states are the
    labels; even states are the blanks before, between and after the labels.
    """
    count, longest = len(logits), int(lengths.max(initial=0))
    states = np.full((count, 2 * longest + 1), blank, np.intp)
    states[:, 1::2] = targets[:, :longest]
    # If equal neighbours are merged, two equal consecutive labels need a blank between them.
    skips = np.full(states.shape, False)
    skips[:, 3::2] = (states[:, 3::2] != states[:, 1:-2:2]) | (not merge)
    stays = np.full(states.shape[1], True)
    stays[1::2] = merge
    never = logits.dtype.type(-np.inf)
    paths = np.full(states.shape, never)
    paths[:, 0] = 0
    for step in range(int(steps.max(initial=0))):
        row = logits[:, step]
        high = row.max(axis=1, keepdims=True)
        scores = row - (high + np.log(np.exp(row - high).sum(axis=1, keepdims=True)))
        arriving = np.where(stays, paths, never)
        arriving[:, 1:] = np.logaddexp(arriving[:, 1:], paths[:, :-1])
        arriving[:, 2:] = np.logaddexp(arriving[:, 2:], np.where(skips[:, 2:], paths[:, :-2], never))
        arriving += np.take_along_axis(scores, states, axis=1)
        paths = np.where((step < steps)[:, None], arriving, paths)
    rows = np.arange(count)
    ends_blank, ends_label = paths[rows, 2 * lengths], paths[rows, np.maximum(2 * lengths - 1, 0)]
    return np.asarray(0 - np.where(lengths > 0, np.logaddexp(ends_blank, ends_label), ends_blank))


def _is_first(labels: Array) -> Array:
    """Return True where a label [N, T] does not occur earlier in its row."""
    order = np.argsort(labels, axis=1, kind="stable")
    ordered = np.take_along_axis(labels, order, axis=1)
    first = np.full(labels.shape, True)
    np.put_along_axis(first, order[:, 1:], ordered[:, 1:] != ordered[:, :-1], axis=1)
    return first


@ctc_loss_4.oracle.draw("logit_length", "label_length")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    _, steps, classes = types["logits"].shape.to_shape()
    if port == "logit_length":
        return filled(types, port, rng.integers((steps + 1) // 2, steps + 1, types[port].shape.to_shape()))
    known = types["logit_length"].value
    most = np.zeros(1, np.int64) if known is None or classes < 2 else known
    return filled(types, port, rng.integers(0, most + 1, types[port].shape.to_shape()))


@ctc_loss_4.oracle.draw("labels", "blank_index")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw labels other than the blank, or the last class as the blank."""
    classes = types["logits"].shape[2].value
    if port == "blank_index":
        return filled(types, port, max(classes - 1, 0))
    given = types["blank_index"].scalar if "blank_index" in types else None
    drawn = drawn_below(rng, types, port, classes - 1)
    return drawn if given is None else drawn + (drawn >= given)


ctc_loss_4.oracle.allowed = Allowed(composes=False)
