"""Arrays that exceed the memory of the machine, or of the process, are rejected before they are allocated."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import F32, PartialShape, TensorType
from irexec.ops.spec.capacity import beyond_memory, memory, reserve


def test_the_memory_that_a_process_may_have_is_the_least_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr("irexec.ops.spec.capacity._machine_memory", lambda: 1 << 33)
    for limit, expected in ((resource.RLIM_INFINITY, 1 << 33), (1 << 32, 1 << 32), (1 << 40, 1 << 33)):
        monkeypatch.setattr("resource.getrlimit", lambda what, limit=limit: (limit, limit))
        assert memory() == expected
    monkeypatch.setattr("resource.getrlimit", lambda what: (1 << 30, 1 << 30))
    assert beyond_memory([TensorType(F32, PartialShape([1 << 29]))]) is not None
    assert beyond_memory([TensorType(F32, PartialShape([1 << 20]))]) is None


@pytest.mark.parametrize("shape", [[1 << 40, 1 << 40], [0, 1 << 62, 1 << 62], [1 << 62]])
def test_an_array_that_cannot_be_counted_raises_as_one_that_is_too_large(shape: list[int]) -> None:
    with pytest.raises(MemoryError, match="exceeds this machine"):
        reserve(shape, np.dtype(np.float32))
    reserve([0, 1 << 10], np.dtype(np.float32))
