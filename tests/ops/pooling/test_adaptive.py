"""AdaptiveAvgPool and AdaptiveMaxPool beyond the memory."""

from __future__ import annotations

import numpy as np
import pytest

import irexec
from irexec.ops.spec.contents import find

TYPES = ["AdaptiveAvgPool", "AdaptiveMaxPool"]


@pytest.mark.parametrize("type", ["AdaptiveAvgPool", "AdaptiveMaxPool"])
def test_a_shape_beyond_memory_fails_immediately(type: str) -> None:
    op = find(type, "opset8")
    assert op is not None
    with pytest.raises((ValueError, MemoryError)):
        op(np.ones((1, 1, 3), np.float32), np.array([2**63 - 1]))


@pytest.mark.parametrize("name", ["adaptive_avg_pool", "adaptive_max_pool"])
def test_windows_of_nothing_are_not_counted(name: str) -> None:
    result = getattr(irexec.opset15, name)(np.zeros((0, 2, 7), np.float32), np.int64([1 << 26]))
    values = result if isinstance(result, np.ndarray) else result[0]
    assert values.shape == (0, 2, 1 << 26)
