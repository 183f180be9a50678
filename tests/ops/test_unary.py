"""Elementwise arithmetic with one operand."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import openvino, run

from irexec.ops.contents import find


@pytest.mark.parametrize("type", ["Abs", "Ceiling", "Tanh"])
def test_agrees_with_openvino(type: str) -> None:
    op = find(type, "opset1")
    assert op is not None
    x = np.random.default_rng(0).normal(size=(3, 4, 5)).astype(np.float32) * 3
    np.testing.assert_allclose(run(op, x)[0], openvino(op, x)[0], rtol=1e-5, atol=1e-6)
