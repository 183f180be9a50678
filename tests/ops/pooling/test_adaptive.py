"""AdaptiveAvgPool and AdaptiveMaxPool: OpenVINO live, constraints, indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32, I32, I64
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op(type: str) -> Operator:
    found = find(type, "opset8")
    assert found is not None
    return found


TYPES = ["AdaptiveAvgPool", "AdaptiveMaxPool"]


@pytest.mark.parametrize("type", TYPES)
def test_shape_of_the_page(type: str) -> None:
    results, breaches = infer(op(type), [tensor(F32, "1,3,32,32"), tensor(I64, "2", [16, 16])])
    assert not breaches and {str(r.shape) for r in results} == {"[1,3,16,16]"}
    results, _ = infer(op(type), [tensor(F32, "1,?,32,32"), tensor(I32, "2")])
    assert {str(r.shape) for r in results} == {"[1,?,?,?]"}
    results, _ = infer(op(type), [tensor(F32, "..."), tensor(I32, "2", [3, 4])])
    assert {str(r.shape) for r in results} == {"[?,?,3,4]"}


def breach(type: str, data: str, shape: Any, **attributes: Any) -> list[str | None]:
    return [b.constraint for b in infer(op(type), [tensor(F32, data), shape], **attributes)[1]]


@pytest.mark.parametrize("type", TYPES)
def test_c1_c2_c3(type: str) -> None:
    assert breach(type, "1,2", tensor(I64, "1", [1])) == ["C1"]
    assert breach(type, "1,2,3", tensor(I64, "2", [1, 2])) == ["C2"]
    assert breach(type, "1,2,3", tensor(I64, "1,1")) == ["C2"]
    assert breach(type, "1,2,3", tensor(I64, "1", [-1])) == ["C3"]
    with pytest.raises(ConstraintError) as error:
        op(type)(np.zeros((1, 1, 0), np.float32), np.array([2]))
    assert error.value.constraint == "C3"


def test_c4_type_of_the_indices() -> None:
    assert breach("AdaptiveMaxPool", "1,2,3", tensor(I64, "1", [1]), index_element_type="f32") == ["C4"]


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("shape", [(7,), (6, 9), (4, 5, 7)])
def test_agrees_with_openvino(type: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(shape))
    x = rng.normal(size=(2, 3, *shape)).astype(np.float32)
    for wanted in [np.array(shape), np.array([3] * len(shape)), np.array([1] * len(shape)), np.array(shape) + 2]:
        attributes = {"index_element_type": "i32"} if type == "AdaptiveMaxPool" else {}
        theirs = openvino(op(type), x, wanted, fixed=[1], **attributes)
        for mine, other in zip(run(op(type), x, wanted, **attributes), theirs, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_indices_count_in_the_flattened_plane() -> None:
    x = np.array([[[[1, 9, 3], [4, 5, 9]], [[7, 7, 7], [7, 7, 7]]]], np.float16)
    values, indices = run(op("AdaptiveMaxPool"), x, np.array([1, 2]), index_element_type="i32")
    assert values.tolist() == [[[[9, 9]], [[7, 7]]]]
    assert indices.dtype == np.int32 and indices.tolist() == [[[[1, 1]], [[0, 1]]]]


def test_no_output_of_an_empty_plane() -> None:
    assert run(op("AdaptiveAvgPool"), np.zeros((1, 2, 0, 3), np.float32), np.array([0, 2]))[0].shape == (1, 2, 0, 2)


@pytest.mark.parametrize("type", ["AdaptiveAvgPool", "AdaptiveMaxPool"])
def test_a_shape_beyond_memory_fails_immediately(type: str) -> None:
    op = find(type, "opset8")
    assert op is not None
    with pytest.raises((ValueError, MemoryError)):
        op(np.ones((1, 1, 3), np.float32), np.array([2**63 - 1]))


@pytest.mark.parametrize("name", ["adaptive_avg_pool", "adaptive_max_pool"])
def test_windows_of_nothing_are_not_counted(name: str) -> None:
    result = getattr(irexec.opset15, name)(np.zeros((0, 2, 7), np.float32), np.int64([1 << 26]))
    values = result if isinstance(result, np.ndarray) else result[0]
    assert values.shape == (0, 2, 1 << 26)
