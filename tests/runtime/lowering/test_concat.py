"""Compiled Concat: bit-identical to NumPy's concatenation, and the conditions for using it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import forms, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering import concat

ops: Any = irexec.opset15


@pytest.mark.parametrize("seed", range(amount(30, 12)))
def test_arrays_of_any_shape(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(concat, "PIECE", int(rng.choice([1, 7, 64, 1 << 13])))
    rank = int(rng.integers(1, 5))
    axis, shape = int(rng.integers(rank)), [int(n) for n in rng.integers(1, 12, rank)]
    if seed % 4 == 0:
        shape[:axis] = [1] * axis
    shapes = [(*shape[:axis], int(rng.integers(0, 90)), *shape[axis + 1 :]) for _ in range(rng.integers(1, 5))]
    arrays = [rng.standard_normal(one).astype(np.float32) for one in shapes]
    arrays[0][rng.random(shapes[0]) < 0.2] = np.nan
    expected = np.concatenate(arrays, axis)
    if not expected.size:
        return
    monkeypatch.setattr(concat, "LEAST_SIZE", 1)
    inputs = [ops.parameter(one, np.float32, name=f"x{number}") for number, one in enumerate(shapes)]
    model = lowered(Model([ops.concat(inputs, axis)], inputs))
    try:
        for threads in (1, 2, 8):
            parallel.set_num_threads(threads)
            found = model([np.asfortranarray(array) for array in arrays])[0]
            assert found.tobytes() == expected.tobytes()
    finally:
        parallel.set_num_threads(None)
    assert "Concat" in forms(model)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_lowered_model(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concat, "LEAST_SIZE", 1)
    x, y = (ops.parameter([2, n, 5], np.float32, name=f"x{n}") for n in (3, 4))
    model = lowered(Model([ops.concat([x, y], -2)], [x, y]))
    given = [np.random.default_rng(0).standard_normal((2, n, 5)).astype(np.float32) for n in (3, 4)]
    parallel.set_num_threads(threads)
    try:
        for _ in range(5):
            assert np.array_equal(model(given)[0], np.concatenate(given, 1))
    finally:
        parallel.set_num_threads(None)
    assert "Concat" in forms(model)
