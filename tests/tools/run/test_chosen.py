"""Chosen inputs, which avoid what operators leave undefined: no integer is divided by zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from irexec import Model
from irexec import opset15 as ops
from irexec.core.diagnostics.findings import Findings
from irexec.model.arrays.given import Given
from irexec.tools.run.run import complete

DIVISIONS = {"Divide": ops.divide, "Mod": ops.mod, "FloorMod": ops.floor_mod}
WAYS: dict[str, Callable[[Any], Any]] = {
    "directly": lambda b: b,
    "after a conversion": lambda b: ops.convert(ops.convert(b, "i64"), "i32"),
    "after movements": lambda b: ops.transpose(ops.reshape(b, np.int64([8, 8]), False), np.int64([1, 0])),
}


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("division", DIVISIONS)
def test_no_integer_is_divided_by_zero(division: str, way: str, seed: int) -> None:
    a, b = (ops.parameter([8, 8], np.int32, name=name) for name in "ab")
    model = Model([DIVISIONS[division](a, WAYS[way](b), name="layer")], [a, b], "model")
    divisors = _chosen(model, seed)["b"]
    assert divisors.shape == (8, 8) and (divisors != 0).all() and len(np.unique(divisors)) > 3


def test_other_integers_may_be_zero() -> None:
    a, b = (ops.parameter([8, 8], np.int32, name=name) for name in "ab")
    chosen = _chosen(Model([ops.divide(ops.multiply(a, b), np.int32(3))], [a, b], "model"), 0)
    assert (chosen["a"] == 0).any() and (chosen["b"] == 0).any()


def _chosen(model: Model, seed: int) -> dict[str, Any]:
    return {entry.name: entry.array for entry in complete(model, Given(seed=seed), Findings())}
