"""Squeeze of an extent that only a run shows."""

from __future__ import annotations

import numpy as np
import pytest

import irexec


def test_c3_an_extent_that_a_run_shows_is_1() -> None:
    x = irexec.opset15.parameter([2, -1, 3], np.float32)
    model = irexec.compile_model(irexec.Model([irexec.opset15.squeeze(x, [1])], [x], "squeezed"))
    assert model([np.ones((2, 1, 3), np.float32)])[0].shape == (2, 3)
    for extent in (0, 4):
        with pytest.raises(irexec.IRError, match=f"{extent} elements along axis 1, expected 1") as caught:
            model([np.ones((2, extent, 3), np.float32)])
        (finding,) = caught.value.report
        assert finding.constraint == "Squeeze-15 C3"
