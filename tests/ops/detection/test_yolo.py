"""RegionYolo and ReorgYolo: compared with OpenVINO, and constraints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator


def op_of(type: str, opset: int) -> Operator:
    op = find(type, f"opset{opset}")
    assert op is not None
    return op


REGION: dict[str, Any] = {"axis": 1, "end_axis": 3, "coords": 4, "classes": 3, "num": 2}


@pytest.mark.parametrize(
    "attributes",
    [
        {"do_softmax": True},
        {"do_softmax": True, "axis": 0, "end_axis": -1},
        {"do_softmax": True, "axis": -2, "end_axis": 2},
        {"do_softmax": False, "mask": [0, 1]},
        {"do_softmax": False, "mask": [3], "num": 9},
    ],
)
def test_region_agrees_with_openvino(attributes: dict[str, Any]) -> None:
    op, attributes = op_of("RegionYolo", 1), REGION | attributes
    count = 2 if attributes["do_softmax"] else len(attributes["mask"])
    data = np.random.default_rng(0).normal(size=(2, 8 * count, 3, 5)).astype(np.float32) * 4
    ours, theirs = run(op, data, **attributes)[0], openvino(op, data, **attributes)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_region_defaults_to_softmax() -> None:
    # OpenVINO's reader uses false if the attribute is omitted.
    data = np.random.default_rng(0).normal(size=(1, 16, 2, 2)).astype(np.float32)
    scores = run(op_of("RegionYolo", 1), data, **REGION)[0].reshape(2, 8, 4)[:, 5:]
    np.testing.assert_allclose(scores.sum(axis=1), 1, rtol=1e-5)


def test_region_is_silent_for_large_values() -> None:
    data = np.full((1, 16, 1, 1), -1e4, np.float32)
    assert np.isfinite(run(op_of("RegionYolo", 1), data, **REGION)[0]).all()


@pytest.mark.parametrize(("shape", "stride"), [((2, 8, 4, 6), 2), ((1, 9, 6, 3), 3), ((1, 4, 2, 2), 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_reorg_agrees_with_openvino(shape: tuple[int, ...], stride: int, dtype: Any) -> None:
    data = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    op = op_of("ReorgYolo", 2)
    np.testing.assert_array_equal(run(op, data, stride=stride)[0], openvino(op, data, stride=[stride])[0])


def test_reorg_takes_every_type() -> None:
    data = np.arange(16).reshape(1, 4, 2, 2)
    expected = run(op_of("ReorgYolo", 2), data, stride=2)[0]
    assert sorted(expected.ravel()) == list(range(16)) and expected.shape == (1, 16, 1, 1)
    words = data.astype(np.dtypes.StringDType())
    assert run(op_of("ReorgYolo", 2), words, stride=2)[0].ravel().tolist() == [str(v) for v in expected.ravel()]


def test_constraints_of_region() -> None:
    def found(shape: str, **attributes: Any) -> set[str | None]:
        return {b.constraint for b in infer(op_of("RegionYolo", 1), [tensor(F32, shape)], **REGION | attributes)[1]}

    assert found("1,16,2,2") == set()
    assert found("16,2,2") == {"C1"}
    assert found("1,15,2,2") == {"C2"}
    assert found("1,15,2,2", do_softmax=False, mask=[0, 1]) == {"C2"}
    assert found("1,16,2,2", axis=4) == {"C3"}
    assert found("1,16,2,2", axis=3, end_axis=1) == {"C3"}


def test_constraints_of_reorg() -> None:
    def found(shape: str) -> set[str | None]:
        return {b.constraint for b in infer(op_of("ReorgYolo", 2), [tensor(F32, shape)], stride=2)[1]}

    assert found("1,4,2,2") == set()
    assert found("4,2,2") == {"C1"}
    assert found("1,4,3,2") == found("1,4,2,3") == {"C2"}
    assert found("1,3,2,2") == {"C3"}


def test_partial_shapes() -> None:
    assert str(infer(op_of("RegionYolo", 1), [tensor(F32, "?,16,2,3")], **REGION)[0][0].shape) == "[?,96]"
    assert str(infer(op_of("ReorgYolo", 2), [tensor(F32, "?,4,2..8,?")], stride=2)[0][0].shape) == "[?,16,1..4,?]"
