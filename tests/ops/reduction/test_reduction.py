"""Reductions of large tensors and of intervals."""

from __future__ import annotations

import numpy as np
from support.cases import the
from support.oracle import run

from irexec.core.types import Dimension


def test_large_sums_keep_their_precision() -> None:
    x = np.full((4, 100_000), 0.1, np.float32)
    np.testing.assert_allclose(run(the("ReduceSum", 1), x, np.array([1]))[0], 10_000, rtol=1e-6)
    np.testing.assert_allclose(run(the("ReduceMean", 1), x, np.array([0, 1]))[0], 0.1, rtol=1e-6)


def test_intervals_pass_through_sum_and_product() -> None:
    known = np.array([2, Dimension(3, 5), 4], object)
    for name, expected in (("ReduceProd", Dimension(24, 40)), ("ReduceSum", Dimension(9, 11))):
        assert the(name, 1).kernel(known, np.array([0])).item() == expected
        assert list(the(name, 1).kernel(known, np.array([0]), keep_dims=True)) == [expected]
