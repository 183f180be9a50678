"""irexec diff: constants that are transposed, reshaped or stored in fewer bits in the other model."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.tools.diff.diff import diff


@pytest.mark.parametrize("columns", [8, 4])
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_weights_in_fewer_bits_may_be_stored_transposed(kind: str, columns: int) -> None:
    weights = np.random.default_rng(0).normal(size=(8, columns)).astype(np.float32)

    def model(stored: bool) -> Model:
        x = ops.parameter([2, 8], np.float32, name="x")
        given: Any = ops.convert(ops.constant(weights.T.copy(), kind), "f32") if stored else weights
        return irexec.Model([ops.matmul(x, given, transpose_b=stored, name="product")], [x], "product")

    for first, shapes in (
        (False, f"[8, {columns}] became [{columns}, 8]"),
        (True, f"[{columns}, 8] became [8, {columns}]"),
    ):
        changes = {change.change: change.text for change in diff(model(first), model(not first))}
        assert {*changes} == {"attribute", "constant", "compressed"}
        assert changes["constant"] == f"transposed: {shapes}, read by product"
        error, ratio = re.search(r"largest error (\S+), SNR (\S+) dB", changes["compressed"]).groups()  # type: ignore[union-attr]
        assert float(error) < (0.002 if kind == "f16" else 0.02) and float(ratio) > 45


def test_reshaped_weights_in_fewer_bits_are_reshaped_and_compressed() -> None:
    def model(stored: bool) -> Model:
        x = ops.parameter([2, 8], np.float32, name="x")
        bias = np.float32([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
        given: Any = ops.convert(ops.constant(bias.reshape(1, 8), "f16"), "f32") if stored else bias
        return irexec.Model([ops.add(x, given, name="sum")], [x], "sum")

    changes = {change.change: change.text for change in diff(model(False), model(True))}
    assert changes["constant"] == "reshaped: [8] became [1, 8], read by sum"
    assert {*changes} == {"constant", "compressed"}
