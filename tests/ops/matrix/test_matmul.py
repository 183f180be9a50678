"""MatMul: threads, matrices at any byte, constants, and exact integers."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.cases import the
from support.lowering import kernels
from support.oracle import run

from irexec import Model
from irexec import opset13 as ops
from irexec.core.threads import parallel
from irexec.core.types import TensorType
from irexec.ops.matrix.matmul import ConstantMatrix, matmul_1
from irexec.ops.spec.operator import NodeTypes

op = the("MatMul", 1)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((300, 90), (90, 40)),
        ((20, 300), (300, 200)),
        ((7, 80, 64), (7, 64, 80)),
        ((2, 60, 99), (99, 70)),
        ((4, 1, 50, 60), (3, 60, 50)),
    ],
)
def test_threads_give_the_same(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=a), rng.normal(size=b)
    try:
        parallel.set_num_threads(3)
        result = run(op, x, y)[0]
    finally:
        parallel.set_num_threads(None)
    np.testing.assert_allclose(result, np.matmul(x, y), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(op(x.swapaxes(-1, -2), y, transpose_a=True), result, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.int64, np.uint64])
def test_integers_are_exact_and_wrap(dtype: Any) -> None:
    rng = np.random.default_rng(2)
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, (6, 3000), dtype, endpoint=True)
    b = rng.integers(info.min, info.max, (3000, 5), dtype, endpoint=True)
    with np.errstate(over="ignore"):
        expected = np.matmul(a.astype(np.int64), b.astype(np.int64)).astype(dtype)
    np.testing.assert_array_equal(run(op, a, b)[0], expected)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(4, 200)).astype(dtype), rng.normal(size=(200, 3)).astype(dtype)
    expected = np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    np.testing.assert_allclose(run(op, a, b)[0].astype(np.float32), expected.astype(np.float32), rtol=1e-2)


def test_a_constant_is_widened_once() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(4, 20)).astype(np.float16), rng.normal(size=(20, 3)).astype(np.float16)
    types = (TensorType.of(a), TensorType.of(b))
    outputs = tuple(op.infer(types, {"transpose_a": False, "transpose_b": False}))
    attributes = op.parse_attributes({})[0]
    assert op.specializer is not None
    for constants in [(None, b), (a, None)]:
        fast = op.specializer(NodeTypes(types, outputs, constants, attributes))
        assert fast is not None
        out = np.empty((4, 3), np.float16)
        assert fast(a, b, out=out) is out
        np.testing.assert_array_equal(out, op(a, b))
    wide = TensorType.of(a.astype(np.float64)), TensorType.of(b.astype(np.float64))
    assert op.specializer(NodeTypes(wide, wide[:1], (None, b.astype(np.float64)), attributes)) is None


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    ("a", "b"),
    [((130, 700), (700, 1100)), ((20, 700), (700, 1100)), ((2, 50, 300), (300, 400)), ((2, 50, 300), (2, 300, 90))],
)
def test_matrices_at_any_byte(a: tuple[int, ...], b: tuple[int, ...], transposed: bool, threads: int) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(a, np.float32), rng.standard_normal(b, np.float32)
    stored = np.ascontiguousarray(y.swapaxes(-1, -2) if transposed else y)
    odd = np.frombuffer(b"\0" + stored.tobytes(), np.float32, offset=1).reshape(stored.shape)
    assert not odd.flags.aligned
    try:
        parallel.set_num_threads(threads)
        results = [run(op, x, matrix, transpose_b=transposed)[0] for matrix in (odd, stored)]
        half = op.kernel(x, stored.astype(np.float16), transpose_b=transposed)
    finally:
        parallel.set_num_threads(None)
    for result in results:
        np.testing.assert_allclose(result, np.matmul(x, y), rtol=1e-4, atol=1e-4)
    # f16 is converted in the same blocks.
    np.testing.assert_allclose(half, np.matmul(x, y.astype(np.float16).astype(np.float32)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [1, 3, 40, 700])
@pytest.mark.parametrize("columns", [8, 600, 2000])
@pytest.mark.parametrize("transposed", [False, True])
def test_how_a_matrix_lies_changes_no_bit(rows: int, columns: int, transposed: bool) -> None:
    rng = np.random.default_rng(rows + columns)
    a = rng.standard_normal((rows, 900)).astype(np.float32)
    b = rng.standard_normal((columns, 900) if transposed else (900, columns)).astype(np.float32)
    odd = np.empty(b.nbytes + 1, np.uint8)[1:].view(np.float32).reshape(b.shape)
    odd[...] = b
    assert not odd.flags.aligned
    found = [matmul_1.kernel(a, matrix, transpose_b=transposed) for matrix in (b, odd)]
    np.testing.assert_array_equal(*found)
    narrow = b.astype(np.float16)
    found = [matmul_1.kernel(a, matrix, transpose_b=transposed) for matrix in (narrow.astype(np.float32), narrow)]
    np.testing.assert_array_equal(*found)


def test_later_calls_change_no_bit_without_compiled_code() -> None:
    rng = np.random.default_rng(0)
    odd = np.empty(4 * 900 * 2000 + 1, np.uint8)[1:].view(np.float32).reshape(2000, 900)
    odd[...] = rng.standard_normal(odd.shape)
    x = ops.parameter([-1, 900], np.float32)
    constant = ops.constant(np.zeros((2000, 900), np.float32))
    model = Model([ops.matmul(x, constant, False, True)], [x])
    next(node for node in model.nodes if node.constant is not None).constant = odd
    assert not any(node.constant.flags.aligned for node in model.nodes if node.constant is not None)
    given = rng.standard_normal((40, 900)).astype(np.float32)
    compiled = kernels(model)
    first, *later = [compiled([given])[0].copy() for _ in range(5)]
    assert all(np.array_equal(first, other) for other in later)


@pytest.mark.parametrize(("rows", "at_once"), [(64, True), (2000, False)], ids=["small", "large"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_a_constant_is_converted_for_blas(rows: int, at_once: bool, dtype: Any) -> None:
    """A small constant is converted when it is planned, a large one block by block in each call."""
    numbers = np.random.default_rng(0).standard_normal((rows, 700)).astype(dtype)
    odd = np.frombuffer(b"\0" + numbers.tobytes(), dtype, offset=1).reshape(numbers.shape)
    matrix = ConstantMatrix(odd, False)
    assert (matrix.right.flags.aligned and matrix.right.dtype == np.float32) == at_once
    assert np.array_equal(matrix.right, numbers)
    given = np.ones((5, rows), np.float32)
    expected = matmul_1.kernel(given, numbers.astype(np.float32))
    np.testing.assert_array_equal(matmul_1.kernel(given, matrix.right), expected)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
@pytest.mark.parametrize("bits", [4, 20, 64])
@pytest.mark.parametrize("shape", [(40, 50, 30), (3, 700, 5), (1, 9000, 1)])
def test_products_of_integers_are_exact_and_wrap(dtype: Any, bits: int, shape: tuple[int, int, int]) -> None:
    """The result equals that of NumPy's elementwise products; small, large and extreme numbers, transposed matrices."""
    rng = np.random.default_rng(bits)
    information, (rows, depth, columns) = np.iinfo(dtype), shape
    low, high = max(information.min, -(1 << bits)), min(information.max, 1 << bits)
    a = rng.integers(low, high, (2, rows, depth), dtype, endpoint=True)
    b = rng.integers(low, high, (columns, depth), dtype, endpoint=True)
    a[0, 0, :3], b[0, :3] = low, high
    with np.errstate(over="ignore"):
        expected = sum((a[:, :, k, None] * b.T[k] for k in range(depth)), np.zeros((2, rows, columns), dtype))
    found = ops.matmul(a, b, False, True)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
