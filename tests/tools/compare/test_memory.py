"""irexec compare keeps the model once, and a window of values, whatever the number of layers."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from support.benchmark import benchmark

import irexec
from irexec import opset15 as ops

LAYERS, WIDTH = 16, 1000


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The path of a model: a chain of products with 64 MB of weights."""
    x = ops.parameter([8, WIDTH], np.float32, name="x")
    rng, value = np.random.default_rng(0), x
    for number in range(LAYERS):
        weights = rng.normal(0, WIDTH**-0.5, (WIDTH, WIDTH)).astype(np.float32)
        value = ops.relu(ops.matmul(value, weights, name=f"product{number}"))
    irexec.save_model(irexec.Model([value], [x], "chain"), tmp_path / "chain.xml")
    return tmp_path / "chain.xml"


@pytest.mark.in_ci("compares models of 64 MB")
@pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")
def test_the_memory_of_a_comparison_is_that_of_the_model(model: Path) -> None:
    measuring = benchmark("compare_memory")
    size, own, least, _ = measuring.ratio(model, "openvino", [])
    assert 55 < size < 65
    assert own > least > 0
    assert own - least < 1.3 * size
