"""PSROIPooling and DeformablePSROIPooling: compared with OpenVINO, and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op_of(type: str) -> Operator:
    op = find(type, "opset1")
    assert op is not None
    return op


def boxes(seed: int, most: float) -> Any:
    rng = np.random.default_rng(seed)
    ends = np.sort(rng.uniform(0, most, (4, 2, 2)), axis=1).reshape(4, 4)
    return np.concatenate([rng.integers(0, 2, (4, 1)), ends], axis=1).astype(np.float32)


@pytest.mark.parametrize(("dim", "size", "scale"), [(2, 2, 1.0), (1, 3, 0.5), (3, 1, 0.25)])
def test_average_agrees_with_openvino(dim: int, size: int, scale: float) -> None:
    data = np.random.default_rng(dim).normal(size=(2, dim * size**2, 8, 9)).astype(np.float32)
    attributes = {"output_dim": dim, "group_size": size, "spatial_scale": scale, "mode": "average"}
    attributes |= {"spatial_bins_x": 1, "spatial_bins_y": 1}
    arrays = (data, boxes(dim, 7 / scale))
    op = op_of("PSROIPooling")
    ours, theirs = run(op, *arrays, **attributes)[0], openvino(op, *arrays, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("dim", "size", "bx", "by"), [(2, 2, 2, 2), (1, 3, 3, 1), (3, 1, 1, 2)])
def test_bilinear_agrees_with_openvino(dim: int, size: int, bx: int, by: int) -> None:
    data = np.random.default_rng(dim).normal(size=(2, dim * bx * by, 8, 9)).astype(np.float32)
    attributes = {"output_dim": dim, "group_size": size, "spatial_scale": 1.0, "mode": "bilinear"}
    attributes |= {"spatial_bins_x": bx, "spatial_bins_y": by}
    arrays = (data, boxes(dim, 1))
    op = op_of("PSROIPooling")
    ours, theirs = run(op, *arrays, **attributes)[0], openvino(op, *arrays, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("with_offsets", [False, True])
@pytest.mark.parametrize(("dim", "size", "bx", "by", "classes"), [(2, 2, 1, 1, 1), (4, 3, 2, 3, 2), (3, 1, 2, 2, 3)])
def test_deformable_agrees_with_openvino(
    with_offsets: bool, dim: int, size: int, bx: int, by: int, classes: int
) -> None:
    rng = np.random.default_rng(dim)
    arrays = [rng.normal(size=(2, dim * size**2, 8, 9)).astype(np.float32), boxes(dim, 16)]
    if with_offsets:
        arrays.append(rng.uniform(-1, 1, (4, 2 * classes, size, size)).astype(np.float32))
    attributes = {"output_dim": dim, "group_size": size, "spatial_scale": 0.5, "trans_std": 0.3, "part_size": size}
    attributes |= {"spatial_bins_x": bx, "spatial_bins_y": by}
    op = op_of("DeformablePSROIPooling")
    ours, theirs = run(op, *arrays, **attributes)[0], openvino(op, *arrays, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_boxes_outside_give_zero() -> None:
    far = np.array([[0, 90, 90, 99, 99]], np.float32)
    data = np.ones((1, 4, 5, 5), np.float32)
    attributes = {"output_dim": 1, "group_size": 2, "spatial_scale": 1.0}
    assert not run(op_of("DeformablePSROIPooling"), data, far, **attributes)[0].any()
    before = np.array([[0, -99, -99, -90, -90]], np.float32)
    assert not run(op_of("PSROIPooling"), data, before, **attributes)[0].any()


@pytest.mark.parametrize("type", ["PSROIPooling", "DeformablePSROIPooling"])
def test_c1_to_c4(type: str) -> None:
    op, attributes = op_of(type), {"output_dim": 2, "group_size": 2, "spatial_scale": 1.0}

    def found(data: str, rois: str, value: Any = None) -> set[str | None]:
        types = [tensor(F32, data), tensor(F32, rois, value)]
        return {b.constraint for b in infer(op, types, **attributes)[1]}

    assert found("2,8,4,5", "1,5", [[1, 0, 0, 1, 1]]) == set()
    assert found("2,8,4", "1,5") == {"C1"}
    assert found("2,8,4,5", "1,4") == {"C2"}
    assert found("2,7,4,5", "1,5") == {"C3"}
    assert found("2,8,4,5", "1,5", [[2, 0, 0, 1, 1]]) == {"C4"}
    with pytest.raises(ConstraintError):
        op(np.ones((1, 8, 2, 2), np.float32), np.array([[1, 0, 0, 1, 1]], np.float32), **attributes)


def test_c5_offsets() -> None:
    op = op_of("DeformablePSROIPooling")
    attributes = {"output_dim": 4, "group_size": 2, "spatial_scale": 1.0, "part_size": 3}

    def found(offsets: str) -> set[str | None]:
        types = [tensor(F32, "2,16,4,5"), tensor(F32, "3,5"), tensor(F32, offsets)]
        return {b.constraint for b in infer(op, types, **attributes)[1]}

    assert found("3,4,3,3") == set()
    assert found("3,6,3,3") == found("3,5,3,3") == found("3,4,2,2") == found("2,4,3,3") == {"C5"}


def test_a_bin_outside_of_the_feature_map_is_undefined() -> None:
    """irexec takes the last pixels, as OpenVINO's reference does; OpenVINO's CPU plugin returns 0."""
    features = np.zeros((1, 4, 8, 8), np.float32)
    boxes = np.array([[0, 0, 0, 6, 6], [0, 8, 0, 20, 6], [0, -40, 0, -9, 6]], np.float32)
    given = {"output_dim": "1", "group_size": "2", "spatial_scale": "1"}
    masks = undefined(features, boxes, given)
    assert masks.all(axis=(1, 2, 3)).tolist() == [False, True, True] and not masks[0].any()
    boxes[:, 1:] /= 8
    given |= {"mode": "bilinear", "spatial_bins_x": "2", "spatial_bins_y": "2"}
    assert undefined(features, boxes, given).ravel().tolist() == [False, True, True]


def undefined(features: Any, boxes: Any, attributes: dict[str, str]) -> Any:
    """Return the mask of undefined elements."""
    operator = op_of("PSROIPooling")
    values, faults = operator.parse_attributes(attributes)
    assert not faults
    (mask,) = operator.oracle.undefined(features, boxes, **values)
    return mask
