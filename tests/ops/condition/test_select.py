"""Select: OpenVINO, broadcasting in both modes, every type, large tensors."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import BOOLEAN, F32, I32, Dimension
from irexec.ops.condition.select import select_1
from irexec.ops.spec.operator import ConstraintError

SHAPES = [
    ((2, 3), (2, 3), (2, 3)),
    ((), (2, 3), (2, 3)),
    ((2, 1), (1, 3), (2, 3)),
    ((2, 3), (), ()),
    ((2, 3, 2, 1, 2), (1,), (2, 1, 1, 2, 1)),
]


@pytest.mark.parametrize(("cond", "then", "other"), SHAPES)
def test_agrees_with_openvino(cond: tuple[int, ...], then: tuple[int, ...], other: tuple[int, ...]) -> None:
    rng = np.random.default_rng(len(cond))
    arrays = [rng.integers(0, 2, cond).astype(bool), *(rng.normal(size=s).astype(np.float32) for s in (then, other))]
    np.testing.assert_array_equal(run(select_1, *arrays)[0], openvino(select_1, *arrays)[0])


def test_pdpd_agrees_with_the_core() -> None:
    rng = np.random.default_rng(0)
    cond, then = rng.integers(0, 2, (2, 3)).astype(bool), rng.normal(size=(2, 3, 4)).astype(np.float32)
    other = rng.normal(size=(2,)).astype(np.float32)
    found = run(select_1, cond, then, other, auto_broadcast="pdpd")[0]
    np.testing.assert_array_equal(found, np.where(cond[:, :, None], then, other[:, None, None]))
    # The CPU plugin first aligns the ranks from the end, and then rejects its own shapes.
    np.testing.assert_array_equal(
        found, openvino(select_1, cond, then, other, constants=True, auto_broadcast="pdpd")[0]
    )


@pytest.mark.parametrize(
    "dtype",
    [np.bool_, np.int8, np.uint16, np.int64, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, ml_dtypes.int4],
)
@pytest.mark.parametrize("size", [4, 3000])
def test_every_type(dtype: type, size: int) -> None:
    rng = np.random.default_rng(size)
    cond = rng.integers(0, 2, (2, size)).astype(bool)
    then, other = rng.integers(0, 2, (2, size)).astype(dtype), rng.integers(0, 2, (1, size)).astype(dtype)
    found = run(select_1, cond, then, other)[0]
    assert found.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(found, np.where(cond, then, other))


def test_large_tensors_keep_every_bit() -> None:
    rng = np.random.default_rng(0)
    cond = rng.integers(0, 2, (3, 1, 2000)).astype(bool)
    then = np.array([np.nan, -0.0, 1e-40], np.float32).reshape(3, 1, 1)
    other = rng.normal(size=(1, 4, 2000)).astype(np.float32)
    found = run(select_1, cond, then, other)[0]
    np.testing.assert_array_equal(found.view(np.uint32), np.where(cond, then, other).view(np.uint32))
    out = np.empty_like(found)
    assert select_1(cond, then, other, out=out) is out


def test_strings() -> None:
    text = np.array(["a", "bc"], np.dtypes.StringDType())
    assert list(run(select_1, np.array([True, False]), text, text[::-1].copy())[0]) == ["a", "a"]


@pytest.mark.parametrize("mode", ["numpy", "none", "pdpd"])
def test_shapes_that_do_not_fit_are_refused(mode: str) -> None:
    types = [tensor(BOOLEAN, "2,3"), tensor(F32, "2,3"), tensor(F32, "2,4")]
    assert [b.constraint for b in infer(select_1, types, auto_broadcast=mode)[1]] == ["broadcast"]
    with pytest.raises(ConstraintError):
        select_1(np.ones((2, 3), bool), np.zeros((2, 3)), np.zeros((2, 4)), auto_broadcast=mode)
    with pytest.raises(ConstraintError):
        select_1(np.ones((5, 3), bool), np.zeros((2, 3)), np.zeros((2, 3)), auto_broadcast=mode)


def test_types() -> None:
    assert [b.code for b in infer(select_1, [tensor(I32, "2"), tensor(F32, "2"), tensor(F32, "2")])[1]] == ["O002"]
    assert [b.code for b in infer(select_1, [tensor(BOOLEAN, "2"), tensor(F32, "2"), tensor(I32, "2")])[1]] == ["O003"]
    [found], breaches = infer(select_1, [tensor(BOOLEAN, "4,1,1"), tensor(F32, "?,3"), tensor(F32, "")])
    assert not breaches
    assert str(found.shape) == "[4,?,3]"


def test_intervals_pass_through_the_kernel() -> None:
    then, other = np.array([Dimension(2, 4), 3], object), np.array([1, Dimension(-1)], object)
    found = select_1.compute(np.array([1, 0], object), then, other)
    assert list(found) == [Dimension(2, 4), Dimension(-1)]
