"""Axes of size zero: every operator version computes the defined result, or rejects the input by one of its
constraints.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.calls import calls, table
from support.row_checks import emptied

import irexec
from irexec.ops.spec.contents import CONTENTS

BODIES = {"If", "Loop", "TensorIterator", "ReadValue", "Assign", "Parameter", "Const", "Result"}


@pytest.mark.parametrize("first", sorted({name[0] for name, _, _ in table()}))
def test_zero_size_axes(first: str) -> None:
    """Rule and kernel agree, and every error names a constraint."""
    for call in calls():
        if not call.operator.type.startswith(first):
            continue
        for arrays in emptied(call.arrays):
            empty = call._replace(arrays=arrays)
            try:
                empty.run()
            except irexec.IRError as error:
                codes = {d.code for d in error.report.diagnostics}
                assert not codes & {"O006", "O007"}, f"{empty}: {error}"


def test_the_table_of_calls_has_every_operator_without_a_body() -> None:
    present = {call.operator.versioned_name for call in calls()}
    known = {f"{type}-{n}" for type, (_, versions) in CONTENTS.items() for n in versions if type not in BODIES}
    assert known == present


def test_every_call_of_the_table_is_legal() -> None:
    for call in calls():
        if call.operator.type != "BinaryConvolution":  # no array represents the u1 kernel of BinaryConvolution
            call.run()


EMPTY = {
    "an empty batch of a GRU": (
        "gru_sequence",
        [(0, 4, 3), (0, 1, 2), np.zeros(0, np.int64), (1, 6, 3), (1, 6, 2), (1, 6)],
        {"hidden_size": 2, "direction": "forward"},
        (0, 1, 4, 2),
    ),
    "no channels": ("adaptive_max_pool", [(1, 0, 4, 4), np.array([2, 2])], {}, (1, 0, 2, 2)),
    "a zero-length axis": ("dft", [(0, 2), np.array([0])], {}, (0, 2)),
    "no signal": ("rdft", [(0,), np.array([0])], {}, (1, 2)),
    "an empty batch": ("reorg_yolo", [(0, 4, 4, 4)], {"stride": 2}, (0, 16, 2, 2)),
    "a vector of nothing": ("matmul", [(2, 3, 0), (0,)], {"transpose_a": False, "transpose_b": False}, (2, 3)),
    "no pixels": (
        "roi_align",
        [(1, 2, 0, 4), (3, 4), np.zeros(3, np.int64)],
        {"pooled_h": 2, "pooled_w": 2, "sampling_ratio": 2, "spatial_scale": 1.0, "mode": "avg"},
        (3, 2, 2, 2),
    ),
}


@pytest.mark.parametrize("case", EMPTY)
def test_what_is_computed_of_nothing_is_nothing_or_zero(case: str) -> None:
    name, inputs, attributes, expected = EMPTY[case]
    arrays = [np.ones(i, np.float32) if isinstance(i, tuple) else i for i in inputs]
    result = getattr(irexec.opset15, name)(*arrays, **attributes)
    first = result[0] if isinstance(result, tuple) else result
    assert first.shape == expected and not first.any()


def test_a_box_that_is_not_finite_gives_zeros_and_a_huge_one_costs_what_it_meets() -> None:
    features = np.random.default_rng(0).uniform(1, 2, (1, 2, 5, 6)).astype(np.float32)
    boxes = np.float32([[0, 0, np.inf, 3], [np.nan, 0, 3, 3], [-1e9, -1e9, 1e9, 1e9], [0, 0, 5, 4]])
    attributes = {"pooled_h": 1, "pooled_w": 1, "sampling_ratio": 0, "spatial_scale": 1.0}
    batches = np.zeros(4, np.int64)
    mean = irexec.opset15.roi_align(features, boxes, batches, mode="avg", **attributes)[:, :, 0, 0]
    assert not mean[:2].any() and (mean[2] < 1e-12).all() and (mean[3] > 1).all()
    largest = irexec.opset15.roi_align(features, boxes, batches, mode="max", **attributes)[:, :, 0, 0]
    assert (largest[2] > 1).all()
    turned = np.concatenate([boxes, np.float32([[0.3]] * 4)], axis=1)
    turned[2] = [2, 2, 1e9, 1e9, 0.3]
    rotated = irexec.opset15.roi_align_rotated(features, turned, batches, **attributes)[:, :, 0, 0]
    assert not rotated[:2].any() and (rotated[2] < 1e-12).all()


def test_clipped_samples_are_those_that_count() -> None:
    """A region in pieces, each near the feature map, has the same sum of samples as the whole region."""
    features = np.random.default_rng(1).uniform(-1, 1, (1, 3, 8, 8)).astype(np.float32)
    plain = {"pooled_h": 1, "sampling_ratio": 0, "spatial_scale": 1.0, "mode": "avg"}
    far = np.float32([[-96, 0, 104, 8]])
    whole = irexec.opset15.roi_align(features, far, np.zeros(1, np.int64), pooled_w=1, **plain)
    pieces = irexec.opset15.roi_align(features, far, np.zeros(1, np.int64), pooled_w=10, **plain)
    np.testing.assert_allclose(whole[..., 0], pieces.mean(axis=-1), rtol=1e-4, atol=1e-6)
