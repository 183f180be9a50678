"""SoftMax and LogSoftmax: compared with OpenVINO and with f64, and edge cases."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I32
from irexec.ops.activation.softmax import log_softmax_5, softmax_1, softmax_8
from irexec.ops.spec.operator import ConstraintError, Operator


def exact(x: np.ndarray, axis: int) -> np.ndarray:
    x = x.astype(np.float64)
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@pytest.mark.parametrize(
    ("shape", "axis"), [((4,), 0), ((3, 5), 1), ((2, 3, 4), 1), ((2, 3, 4), -1), ((2, 3, 4, 2), 0)]
)
@pytest.mark.parametrize("op", [softmax_8, log_softmax_5])
def test_agrees_with_openvino(op: Operator, shape: tuple[int, ...], axis: int) -> None:
    x = (np.random.default_rng(axis + 1).normal(size=shape) * 3).astype(np.float32)
    np.testing.assert_allclose(run(op, x, axis=axis)[0], openvino(op, x, axis=axis)[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("shape", "axis"), [((300, 512), 1), ((2, 90, 700), 1), ((70000,), 0), ((3, 40000), -1)])
def test_large_tensors_in_blocks(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    np.testing.assert_allclose(run(softmax_8, x, axis=axis)[0], exact(x, axis), rtol=2e-6)
    np.testing.assert_allclose(run(log_softmax_5, x, axis=axis)[0], np.log(exact(x, axis)), rtol=2e-6)
    out = np.empty(shape[::-1], np.float32).T
    assert softmax_8(x, axis=axis, out=out) is out
    np.testing.assert_array_equal(out, softmax_8(x, axis=axis))
    softmax_8(x, axis=axis, out=x)
    np.testing.assert_array_equal(x, out)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_round_once(dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=(5, 40)).astype(dtype)
    for op in (softmax_8, log_softmax_5):
        wide = op(x.astype(np.float32), axis=1).astype(dtype)
        np.testing.assert_array_equal(run(op, x, axis=1)[0].astype(np.float32), wide.astype(np.float32))


def test_f64_is_computed_as_itself() -> None:
    x = np.random.default_rng(0).normal(size=(5, 40)) * 20
    np.testing.assert_allclose(run(softmax_8, x, axis=0)[0], exact(x, 0), rtol=1e-14)


@pytest.mark.filterwarnings("error")
def test_specials() -> None:
    x = np.array([[np.inf, 1], [-np.inf, -np.inf], [-np.inf, 0], [1e30, -1e30], [np.nan, 0]], np.float32)
    with np.errstate(all="warn"):
        nan = np.nan
        expected = [[nan, nan], [nan, nan], [0, 1], [1, 0], [nan, nan]]
        np.testing.assert_array_equal(run(softmax_8, x, axis=1)[0], np.array(expected, np.float32))
        logs = run(log_softmax_5, x, axis=1)[0]
    np.testing.assert_array_equal(logs[2], [-np.inf, 0])


def test_default_axis_is_1() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for op in (softmax_1, softmax_8, log_softmax_5):
        np.testing.assert_array_equal(run(op, x)[0], run(op, x, axis=1)[0])
    left_out = next(a for a in softmax_1.attributes if a.name == "axis")
    assert left_out.reader_default == 0


def test_empty_tensors() -> None:
    for shape in ((0, 5), (5, 0), (0,)):
        for axis in range(len(shape)):
            assert run(softmax_8, np.zeros(shape, np.float32), axis=axis)[0].shape == shape


@pytest.mark.parametrize("op", [softmax_1, softmax_8, log_softmax_5])
def test_c1_axis_lies_in_the_rank(op: Operator) -> None:
    [found], breaches = infer(op, [tensor(F32, "2,3")], axis=2)
    assert [b.constraint for b in breaches] == ["C1"]
    assert found.shape == (2, 3)
    with pytest.raises(ConstraintError):
        op(np.ones((2, 3), np.float32), axis=2)


def test_softmax_1_has_no_negative_axis() -> None:
    _, problems = softmax_1.parse_attributes({"axis": "-1"})
    assert [p.code for p in problems] == ["D007"]


def test_only_floats() -> None:
    _, breaches = infer(softmax_8, [tensor(I32, "2,3")])
    assert [b.code for b in breaches] == ["O002"]
