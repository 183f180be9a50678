"""Broadcast beyond the memory."""

from __future__ import annotations

import numpy as np
import pytest

import irexec


def test_more_elements_than_can_be_counted_are_too_many_for_the_memory() -> None:
    shape = irexec.opset3.parameter([2], np.int64, name="shape")
    compiled = irexec.compile_model(irexec.Model([irexec.opset3.broadcast(np.int32(0), shape)], [shape], "large"))
    with pytest.raises(irexec.IRError) as refused:
        compiled([np.array([1 << 33, 1 << 33])])
    assert [finding.code for finding in refused.value.report] == ["O011"]
