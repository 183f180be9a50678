"""DFT-7 and IDFT-7."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64
from irexec.ops.signals.dft import dft_7, idft_7
from irexec.ops.signals.rdft import irdft_9, rdft_9
from irexec.ops.spec.operator import ConstraintError

RNG = np.random.default_rng(5)


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("shape", "axes", "sizes", "expected"),
    [
        ("1,320,320,2", [1, 2], None, "[1,320,320,2]"),
        ("320,320,2", [0, 1], None, "[320,320,2]"),
        ("1,320,320,2", [1, 2], [512, 100], "[1,512,100,2]"),
        ("16,768,580,320,2", [3, 0, -2], [256, -1, 1024], "[16,768,1024,256,2]"),
        ("?,8,2", [-1], [-1], "[?,8,2]"),
    ],
)
def test_shapes_of_the_dft_page(shape: str, axes: list[int], sizes: list[int] | None, expected: str) -> None:
    size = None if sizes is None else tensor(I64, str(len(sizes)), sizes)
    types, breaches = infer(dft_7, [tensor(F32, shape), tensor(I64, str(len(axes)), axes), size])
    assert not breaches
    assert str(types[0].shape) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize(("axes", "sizes"), [([0], None), ([1, 0], None), ([-1], [7]), ([0, 1], [2, -1]), ([], None)])
def test_forward_and_back_is_the_data(dtype: type, axes: list[int], sizes: list[int] | None) -> None:
    data = RNG.normal(size=(4, 5, 2)).astype(dtype)
    inputs = [_i64(*axes), *([] if sizes is None else [_i64(*sizes)])]
    there = run(dft_7, data, *inputs)[0]
    back = run(idft_7, there, _i64(*axes))[0]
    extents = dict(zip([a % 2 for a in axes], sizes or [], strict=False))
    expected = np.asarray(data, np.float64)
    for axis, size in extents.items():
        if size > 0:
            expected = np.take(expected, range(min(size, expected.shape[axis])), axis)
            pads = [(0, size - expected.shape[axis]) if a == axis else (0, 0) for a in range(3)]
            expected = np.pad(expected, pads)
    tolerance = {np.float32: 1e-5, np.float64: 1e-12}.get(dtype, 0.05)
    np.testing.assert_allclose(np.asarray(back, np.float64), expected, atol=tolerance)


@pytest.mark.parametrize(("axes", "sizes"), [([0, 1], []), ([1], []), ([2, 0], []), ([1], [9]), ([0, 2], [3, 4])])
def test_dft_agrees_with_openvino(axes: list[int], sizes: list[int]) -> None:
    data = RNG.normal(size=(3, 4, 5, 2)).astype(np.float32)
    inputs = [data, _i64(*axes), *([_i64(*sizes)] if sizes else [])]
    for op in (dft_7, idft_7):
        np.testing.assert_allclose(run(op, *inputs)[0], openvino(op, *inputs)[0], atol=1e-4)


@pytest.mark.parametrize("axes", [[3], [-4], [0, 0], [1, -2]])
def test_c1_axes_are_different_and_inside(axes: list[int]) -> None:
    data = tensor(F32, "4,5,6,2")
    _, breaches = infer(dft_7, [data, tensor(I64, str(len(axes)), axes), None])
    assert [b.constraint for b in breaches] == ["C1"]
    with pytest.raises(ConstraintError):
        dft_7(np.zeros((4, 5, 6, 2), np.float32), _i64(*axes))


@pytest.mark.parametrize(("count", "broken"), [("3", []), ("4", ["C1"])])
def test_c1_more_axes_than_there_are(count: str, broken: list[str]) -> None:
    _, breaches = infer(dft_7, [tensor(F32, "4,5,6,2"), tensor(I64, count), None])
    assert [b.constraint for b in breaches] == broken


def test_c3_c4_signal_size() -> None:
    data, axes = tensor(F32, "4,5,2"), tensor(I64, "2", [0, 1])
    assert [b.constraint for b in infer(dft_7, [data, axes, tensor(I64, "1", [4])])[1]] == ["C3"]
    assert [b.constraint for b in infer(dft_7, [data, axes, tensor(I64, "2", [0, -2])])[1]] == ["C4"]
    pairs = np.zeros((4, 5, 2), np.float32)
    for op in (dft_7, rdft_9, irdft_9):
        with pytest.raises(ConstraintError, match="the shape of axes"):
            op(pairs, _i64(0, 1), _i64(4))
        with pytest.raises(ConstraintError, match=r"signal_size is \[4, -2\]"):
            op(pairs, _i64(0, 1), _i64(4, -2))


def test_c5_pairs() -> None:
    axes = tensor(I64, "1", [0])
    assert [b.constraint for b in infer(dft_7, [tensor(F32, "4,5,3"), axes, None])[1]] == ["C5"]
    assert [b.constraint for b in infer(irdft_9, [tensor(F32, "4"), axes, None])[1]] == ["C5"]
