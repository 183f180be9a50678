"""Long ranges, which are computed in parts."""

from __future__ import annotations

import numpy as np

import irexec


def test_parts_of_a_long_range_follow_each_other() -> None:
    found = irexec.opset4.range(np.int64(-5), np.int64(5 << 19), np.int64(1), output_type="i32")
    np.testing.assert_array_equal(found, np.arange(-5, 5 << 19))
    halves = irexec.opset4.range(np.float32(0), np.float32(1 << 20), np.float32(0.5), output_type="f64")
    np.testing.assert_array_equal(halves, np.arange(1 << 21) / 2)
