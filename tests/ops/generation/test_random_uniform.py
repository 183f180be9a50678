"""RandomUniform: the page's examples, OpenVINO's streams, and the constraints."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cases import the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32, I64
from irexec.ops.generation.random_uniform import mersenne_twister, philox
from irexec.ops.spec.operator import ConstraintError

op = the("RandomUniform", 8)


def arrays(shape: list[int], low: float, high: float, dtype: Any) -> list[Any]:
    return [np.array(shape, np.int64), np.array(low, dtype), np.array(high, dtype)]


def test_page_example_1() -> None:
    result = run(op, *arrays([3, 3], 0, 1, np.float32), output_type="f32", global_seed=150, op_seed=10)[0]
    expected = [[0.7011236, 0.30539632, 0.93931055], [0.9456035, 0.11694777, 0.50770056]]
    np.testing.assert_allclose(result, [*expected, [0.5197197, 0.22727466, 0.991374]], rtol=1e-6)


def test_page_example_2() -> None:
    result = run(op, *arrays([2, 2], 2, 10, np.float64), output_type="f64", global_seed=80, op_seed=100)[0]
    np.testing.assert_allclose(result, [[5.65927959, 4.23122376], [2.67008206, 2.36423758]], rtol=1e-8)


def test_page_example_3() -> None:
    result = run(op, *arrays([2, 3], 50, 100, np.int32), output_type="i32", global_seed=80, op_seed=100)[0]
    assert result.tolist() == [[65, 70, 56], [59, 82, 92]]


@pytest.mark.parametrize("alignment", ["tensorflow", "pytorch"])
@pytest.mark.parametrize(
    ("kind", "low", "high"),
    [
        ("f32", -3, 7),
        ("f64", 0, 1),
        ("f16", 0, 1),
        ("bf16", 0, 1),
        ("i32", -20, 1000),
        ("i64", -5, 90),
        ("i64", -5, 2**40),
    ],
)
def test_agrees_with_openvinos_core(alignment: str, kind: str, low: float, high: float) -> None:
    # The CPU plugin draws f64, f16 and i64 from the streams of f32 and i32.
    dtype = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i32": np.int32, "i64": np.int64}
    attributes = {"output_type": kind, "global_seed": 2**33 + 7, "op_seed": 2**40 + 3, "alignment": alignment}
    inputs = arrays([7, 101], low, high, dtype.get(kind, ml_dtypes.bfloat16))
    ours = run(op, *inputs, **attributes)[0]
    theirs = openvino(op, *inputs, constants=True, **attributes)[0]
    np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), rtol=1e-6)


def test_generators_against_their_authors_values() -> None:
    # Random123's known answers for philox4x32-10 with counter and key 0, and the first number of MT19937 for 5489.
    assert [hex(v) for v in philox(0, 0, 4)] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]
    assert mersenne_twister(5489, 1).tolist() == [3499211612]


def test_seeds_of_zero_differ_each_time() -> None:
    inputs = arrays([50], 0, 1, np.float32)
    one, other = (op(*inputs, output_type="f32") for _ in range(2))
    assert (one != other).any() and (one >= 0).all() and (one < 1).all()
    fixed = [op(*inputs, output_type="f32", op_seed=1) for _ in range(2)]
    np.testing.assert_array_equal(*fixed)


def test_empty_and_scalar_shapes() -> None:
    for shape in ([0, 3], []):
        result = run(op, *arrays(shape, 0, 1, np.float32), output_type="f32", op_seed=1)[0]
        assert result.shape == tuple(shape)


def test_whole_range_of_integers() -> None:
    result = run(op, *arrays([100], -(2**31), 2**31 - 1, np.int32), output_type="i32", op_seed=1)[0]
    assert result.min() < -(2**30) and result.max() > 2**30


def breaches(*types: Any, **attributes: Any) -> set[str | None]:
    return {b.constraint for b in infer(op, list(types), **{"output_type": "f32"} | attributes)[1]}


def test_c1_to_c5() -> None:
    shape, one = tensor(I64, "2"), tensor(F32, "1")
    assert breaches(shape, one, tensor(F32, "")) == set()
    assert breaches(tensor(I64, ""), one, one) == {"C1"}
    assert breaches(shape, one, tensor(F32, "2")) == {"C2"}
    assert breaches(shape, tensor(I32, "1"), tensor(I32, "1")) == {"C3"}
    assert breaches(shape, tensor(F32, "1", [2]), tensor(F32, "1", [2])) == {"C4"}
    assert breaches(tensor(I64, "2", [2, -1]), one, one) == {"C5"}
    with pytest.raises(ConstraintError):
        op(*arrays([2], 1, 0, np.float32), output_type="f32")


def test_inferred_shape() -> None:
    types = [tensor(I64, "3"), tensor(F32, ""), tensor(F32, "")]
    assert str(infer(op, types, output_type="f32")[0][0]) == "f32[?,?,?]"
    types[0] = tensor(I64, "2", [4, 5])
    assert str(infer(op, types, output_type="f32")[0][0]) == "f32[4,5]"
