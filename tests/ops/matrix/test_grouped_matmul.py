"""GroupedMatMul: both forms compared with loops, constraints, OpenVINO's shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, layer_xml, run, tensor

from irexec.core.types import F32, I32, I64, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op() -> Operator:
    found = find("GroupedMatMul", "opset17")
    assert found is not None
    return found


def test_groups_of_tokens() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(10, 4)).astype(np.float32), rng.normal(size=(3, 5, 4)).astype(np.float32)
    result = run(op(), a, b, np.array([3, 3, 8]))[0]
    np.testing.assert_allclose(result[:3], a[:3] @ b[0].T, rtol=1e-5)
    np.testing.assert_allclose(result[3:8], a[3:8] @ b[2].T, rtol=1e-5)
    assert not result[8:].any()


@pytest.mark.parametrize("dtype", [np.int32, np.int8, np.float64])
def test_groups_of_equal_size(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-9, 9, (3, 4, 6)).astype(dtype), rng.integers(-9, 9, (3, 5, 6)).astype(dtype)
    expected = np.einsum("gmk,gnk->gmn", a.astype(np.int64), b.astype(np.int64)).astype(dtype)
    np.testing.assert_array_equal(run(op(), a, b)[0], expected)


def test_openvino_infers_the_same_shapes() -> None:
    """OpenVINO's CPU plugin and core do not execute it."""
    import openvino as ov

    shapes: list[Any] = [((2, 3, 4), (2, 5, 4)), ((6, 4), (2, 5, 4), (2,))]
    for shape in shapes:
        arrays = [np.zeros(s, np.float32) for s in shape[:2]] + [np.zeros(s, np.int64) for s in shape[2:]]
        inferred, _ = infer(op(), [TensorType.of(a) for a in arrays] + [None] * (3 - len(arrays)))
        model = ov.Core().read_model(layer_xml(op(), arrays, {}, inferred).encode(), b"")
        assert str(model.outputs[0].partial_shape) == str(inferred[0].shape)


@pytest.mark.parametrize(
    ("constraint", "a", "b", "offsets"),
    [
        ("C1", "6", "3,5,4", None),
        ("C1", "6,4", "5,4", ("3", [1, 2, 6])),
        ("C2", "6,4", "3,4,5", ("3", [1, 2, 6])),
        ("C2", "3,6,4", "3,4,5", None),
        ("C3", "6,4", "3,5,4", None),
        ("C3", "3,6,4", "3,5,4", ("3", [1, 2, 6])),
        ("C4", "6,4", "3,5,4", ("2", [1, 6])),
        ("C4", "2,6,4", "3,5,4", None),
        ("C5", "6,4", "3,5,4", ("3", [2, 1, 6])),
        ("C5", "6,4", "3,5,4", ("3", [1, 2, 7])),
        ("C5", "6,4", "3,5,4", ("3", [-1, 2, 6])),
    ],
)
def test_c1_to_c5(constraint: str, a: str, b: str, offsets: Any) -> None:
    inputs = [tensor(F32, a), tensor(F32, b), None if offsets is None else tensor(I64, *offsets)]
    assert [x.constraint for x in infer(op(), inputs)[1]] == [constraint]
    arrays = [np.zeros(t.shape.to_shape(), np.float32) for t in inputs[:2] if t is not None]
    with pytest.raises(ConstraintError) as error:
        op()(*arrays, None if offsets is None else np.array(offsets[1]))
    assert error.value.constraint == constraint


def test_partial_shapes() -> None:
    (result,), breaches = infer(op(), [tensor(F32, "?,4"), tensor(F32, "3,5,?"), tensor(I32, "?")])
    assert not breaches and str(result.shape) == "[?,5]"
    (result,), _ = infer(op(), [tensor(F32, "?,2,4"), tensor(F32, "3,5,4"), None])
    assert str(result.shape) == "[3,2,5]"
