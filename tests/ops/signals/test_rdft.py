"""RDFT-9 and IRDFT-9."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec import opset9
from irexec.core.types import F32, I64
from irexec.ops.signals.dft import dft_7
from irexec.ops.signals.rdft import irdft_9, rdft_9
from irexec.ops.spec.operator import Operator

RNG = np.random.default_rng(5)


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    ("op", "shape", "axes", "sizes", "expected"),
    [
        (rdft_9, "1,320,320", [1, 2], None, "[1,320,161,2]"),
        (rdft_9, "16,768,580,320", [3, 0, 2], [256, -1, 100], "[16,768,51,256,2]"),
        (irdft_9, "1,161,161,2", [1, 2], None, "[1,161,320]"),
        (irdft_9, "161,161,2", [0, 1], [512, 100], "[512,100]"),
        (irdft_9, "...", [0], None, "[...]"),
    ],
)
def test_shapes_of_the_rdft_pages(
    op: object, shape: str, axes: list[int], sizes: list[int] | None, expected: str
) -> None:
    size = None if sizes is None else tensor(I64, str(len(sizes)), sizes)
    types, breaches = infer(op, [tensor(F32, shape), tensor(I64, str(len(axes)), axes), size])
    assert not breaches
    assert str(types[0].shape) == expected


@pytest.mark.parametrize("axes", [[0, 1], [1], [2, 0], [-1]])
def test_rdft_agrees_with_openvino(axes: list[int]) -> None:
    real = RNG.normal(size=(3, 4, 6)).astype(np.float32)
    # With other than constant axes the plugin crashes.
    theirs = openvino(rdft_9, real, _i64(*axes), fixed=[1])[0]
    np.testing.assert_allclose(run(rdft_9, real, _i64(*axes))[0], theirs, atol=1e-4)
    pairs = RNG.normal(size=(3, 4, 6, 2)).astype(np.float32)
    theirs = openvino(irdft_9, pairs, _i64(*axes), fixed=[1])[0]
    np.testing.assert_allclose(run(irdft_9, pairs, _i64(*axes))[0], theirs, atol=1e-4)


def test_rdft_is_half_of_dft() -> None:
    real = RNG.normal(size=(3, 8)).astype(np.float32)
    pairs = np.stack([real, np.zeros_like(real)], -1)
    whole = run(dft_7, pairs, _i64(0, 1), _i64(5, 6))[0]
    np.testing.assert_allclose(run(rdft_9, real, _i64(0, 1), _i64(5, 6))[0], whole[:, :4], atol=1e-4)


@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_over_no_axes_numbers_become_pairs(shape: tuple[int, ...]) -> None:
    real = np.full(shape, 7, np.float32)
    pairs = opset9.rdft(real, _i64())
    assert pairs.shape == (*shape, 2)
    np.testing.assert_array_equal(pairs, np.stack([real, np.zeros_like(real)], -1))
    if shape:
        np.testing.assert_array_equal(opset9.irdft(pairs, _i64()), real)


@pytest.mark.parametrize("op", [rdft_9, irdft_9])
def test_the_last_of_no_axes_is_undefined(op: Operator) -> None:
    """The kernels return the data unchanged."""
    data = np.zeros((3, 2), np.float32)
    assert op.oracle.undefined(data, _i64(), None) == "no result"
    assert op.oracle.undefined(data, _i64(0), None) is False
