"""DetectionOutput: compared with OpenVINO for its attributes, and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator

IMAGES, PRIORS, CLASSES = 2, 6, 3
BASE: dict[str, Any] = {"keep_top_k": [5], "nms_threshold": 0.4, "confidence_threshold": 0.1, "normalized": True}
CENTER, CORNER = "caffe.PriorBoxParameter.CENTER_SIZE", "caffe.PriorBoxParameter.CORNER"


def op_of(opset: int) -> Operator:
    op = find("DetectionOutput", f"opset{opset}")
    assert op is not None
    return op


def arrays_for(seed: int, attributes: dict[str, Any], five: bool = False, batch: int = 1) -> list[Any]:
    rng = np.random.default_rng(seed)
    places = 1 if attributes.get("share_location", True) else CLASSES
    location = rng.normal(size=(IMAGES, PRIORS * places * 4)) * 0.3
    scores = rng.permutation(np.linspace(0.02, 0.98, IMAGES * PRIORS * CLASSES)).reshape(IMAGES, -1)
    low = rng.uniform(0, 0.6, (batch, PRIORS, 2))
    corners = np.concatenate([low, low + rng.uniform(0.1, 0.4, low.shape)], axis=2)
    if not attributes["normalized"]:
        corners = np.concatenate([np.zeros((batch, PRIORS, 1)), corners * 32], axis=2)
    rows = [corners.reshape(batch, -1)]
    if not attributes.get("variance_encoded_in_target"):
        rows.append(np.full(rows[0].shape, 0.1))
    arrays = [location, scores, np.stack(rows, axis=1)]
    if five:
        arrays += [rng.uniform(size=(IMAGES, PRIORS * 2)), rng.normal(size=location.shape) * 0.3]
    return [a.astype(np.float32) for a in arrays]


CASES: list[dict[str, Any]] = [
    {},
    {"code_type": CENTER},
    {"code_type": CENTER, "variance_encoded_in_target": True},
    {"variance_encoded_in_target": True},
    {"share_location": False},
    {"share_location": False, "background_label_id": -1},
    {"top_k": 2},
    {"top_k": 4, "keep_top_k": [-1]},
    {"keep_top_k": [-1]},
    {"clip_before_nms": True},
    {"clip_after_nms": True},
    {"decrease_label_id": True},
    {"decrease_label_id": True, "top_k": 3, "share_location": False},
    {"normalized": False, "input_height": 32, "input_width": 32},
    {"normalized": False, "input_height": 32, "input_width": 32, "code_type": CENTER},
    {"confidence_threshold": 0.99},
]


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_openvino(case: dict[str, Any]) -> None:
    attributes = BASE | case
    for opset, more in ((1, {"num_classes": CLASSES}), (8, {})):
        arrays = arrays_for(opset, attributes)
        ours = run(op_of(opset), *arrays, **attributes, **more)[0]
        theirs = openvino(op_of(opset), *arrays, **attributes, **more)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_five_inputs_agree_with_openvino() -> None:
    attributes = BASE | {"objectness_score": 0.3, "code_type": CENTER}
    arrays = arrays_for(0, attributes, five=True, batch=IMAGES)
    ours, theirs = run(op_of(8), *arrays, **attributes)[0], openvino(op_of(8), *arrays, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_priors_shared_by_all_images() -> None:
    attributes = BASE | {"objectness_score": 0.3}
    one = arrays_for(0, attributes, five=True)
    many = [*one[:2], one[2].repeat(IMAGES, axis=0), *one[3:]]
    np.testing.assert_array_equal(run(op_of(8), *one, **attributes)[0], run(op_of(8), *many, **attributes)[0])


def test_the_end_is_marked() -> None:
    attributes = BASE | {"confidence_threshold": 2.0}
    result = run(op_of(8), *arrays_for(0, attributes), **attributes)[0]
    assert result[0, 0, 0].tolist() == [-1, 0, 0, 0, 0, 0, 0] and not result[0, 0, 1:].any()


@pytest.mark.parametrize("decrease", [False, True])
def test_a_background_label_beyond_the_classes_is_not_a_class(decrease: bool) -> None:
    attributes = BASE | {"decrease_label_id": decrease}
    arrays = arrays_for(0, attributes)
    beyond = run(op_of(8), *arrays, **attributes, background_label_id=CLASSES)[0]
    none = run(op_of(8), *arrays, **attributes, background_label_id=-1)[0]
    np.testing.assert_array_equal(beyond, none)


def test_f16_is_computed_in_f32() -> None:
    arrays = [a.astype(np.float16) for a in arrays_for(0, BASE)]
    ours = run(op_of(8), *arrays, **BASE)[0]
    wide = run(op_of(8), *(a.astype(np.float32) for a in arrays), **BASE)[0]
    np.testing.assert_array_equal(ours, wide.astype(np.float16))


RIGHT = ["2,24", "2,18", "1,2,24", "2,12", "2,24"]


@pytest.mark.parametrize(
    ("port", "shape", "constraint"),
    [
        (0, "2,20", "C1"),
        (0, "2,24,1", "C1"),
        (1, "2,17", "C2"),
        (1, "3,18", "C2"),
        (2, "1,2,23", "C3"),
        (2, "1,1,24", "C3"),
        (2, "3,2,24", "C3"),
        (3, "2,11", "C4"),
        (4, "2,20", "C5"),
    ],
)
def test_c1_to_c5(port: int, shape: str, constraint: str) -> None:
    shapes = [*RIGHT[:port], shape, *RIGHT[port + 1 :]]
    for types, expected in ((RIGHT, set()), (shapes, {constraint})):
        found = infer(op_of(8), [tensor(F32, s) for s in types], **BASE)[1]
        assert {b.constraint for b in found} == expected


def test_c6_and_c7() -> None:
    types = [tensor(F32, s) for s in RIGHT]
    assert {b.constraint for b in infer(op_of(8), [*types[:4], None], **BASE)[1]} == {"C6"}
    assert {b.constraint for b in infer(op_of(8), types, **BASE | {"keep_top_k": []})[1]} == {"C7"}


def test_inferred_rows() -> None:
    types = [tensor(F32, "?,24"), tensor(F32, "2,?"), tensor(F32, "?,2,24"), None, None]
    assert str(infer(op_of(8), types, **BASE)[0][0]) == "f32[1,1,10,7]"
    assert str(infer(op_of(8), types, **BASE | {"keep_top_k": [-1]})[0][0]) == "f32[1,1,?,7]"
    assert str(infer(op_of(1), types, num_classes=3, **BASE | {"keep_top_k": [-1]})[0][0]) == "f32[1,1,36,7]"


@pytest.mark.parametrize(("text", "codes"), [("2147483647", []), ("2147483648", ["D005"]), ("-2147483649", ["D007"])])
def test_keep_top_k_has_32_bits(text: str, codes: list[str]) -> None:
    """OpenVINO's reader rejects other numbers."""
    written = {"keep_top_k": text, "nms_threshold": "0.4", "confidence_threshold": "0.1"}
    assert [fault.code for fault in op_of(8).parse_attributes(written)[1]] == codes
