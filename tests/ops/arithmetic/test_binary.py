"""Arithmetic of intervals, and the axis of PaddlePaddle's broadcasting."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.oracle import run

from irexec.core.types import I32, Dimension, PartialShape, TensorType


def test_intervals_pass_through_the_kernel() -> None:
    known = np.array([Dimension(2, 4), 3], object)
    assert list(the("Multiply", 1).compute(known, np.array([2, 2], object))) == [Dimension(4, 8), 6]
    assert list(the("Divide", 1).compute(known, np.array([2, 2], object))) == [Dimension(1, 2), 1]
    assert TensorType(I32, PartialShape([2]), partial=known).known == [Dimension(2, 4), 3]


def test_pdpd_along_an_axis() -> None:
    a, b = np.zeros((2, 3, 4, 5), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    found = run(the("Add", 1), a, b, auto_broadcast="pdpd", auto_broadcast_axis=1)[0]
    np.testing.assert_array_equal(found, a + b[:, :, None])
