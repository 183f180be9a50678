"""Compiled rows and columns: sums, means, normalization and softmax with the results of the plain kernels, for any
width and any values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.lowering import forms, groups, kernels, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering.rows import ColumnWise, RowWise

ops: Any = irexec.opset15
rng = np.random.default_rng(0)


pytestmark = pytest.mark.usefixtures("small_layers_too")


def axes(*numbers: int) -> Any:
    return ops.constant(np.array(numbers, np.int64))


def norm(x: Any, *along: int, variance: bool = True, eps: float = 1e-5, mode: str = "inside_sqrt") -> Any:
    return ops.mvn(x, axes(*along), normalize_variance=variance, eps=eps, eps_mode=mode)


LAYERS: dict[str, Callable[[Any], Any]] = {
    "softmax": lambda x: ops.softmax(x, axis=-1),
    "mean": lambda x: ops.reduce_mean(x, axes(-1), False),
    "mean of all": lambda x: ops.reduce_mean(x, axes(0, 1, 2), False),
    "mean of planes": lambda x: ops.reduce_mean(x, axes(2, 1), True),
    "largest": lambda x: ops.reduce_max(x, axes(-1), True),
    "smallest": lambda x: ops.reduce_min(x, axes(2, 1), False),
    "length": lambda x: ops.reduce_l2(x, axes(-1), True),
    "normalized": lambda x: norm(x, -1),
    "outside": lambda x: norm(x, -1, eps=0.1, mode="outside_sqrt"),
    "centred": lambda x: norm(x, 2, variance=False),
    "planes": lambda x: norm(x, 1, 2),
    "sum": lambda x: ops.reduce_sum(x, axes(1, 2), True),
    "softmax of columns": lambda x: ops.softmax(x, axis=1),
    "sum of columns": lambda x: ops.reduce_sum(x, axes(1, 0), False),
    "sum of columns of planes": lambda x: ops.reduce_sum(x, axes(1), True),
    "largest of columns": lambda x: ops.reduce_max(x, axes(1), False),
    "smallest of columns": lambda x: ops.reduce_min(x, axes(0), True),
}


def runs(layer: Callable[[Any], Any], values: np.ndarray) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return the results of a layer by the plain kernel and by compiled code, and the call."""
    x = ops.parameter(values.shape, np.float32, name="x")
    model = Model([layer(x)], [x])
    compiled = lowered(model)
    (form,) = forms(compiled).values()
    assert isinstance(form, (RowWise, ColumnWise)) and form.shape(values) is not None
    return kernels(model)([values])[0], compiled([values])[0], compiled


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("width", [1, 3, 15, 16, 17, 49, 64, 200])
def test_rows_of_any_width(name: str, width: int) -> None:
    values = (rng.standard_normal((5, 7, width)) * 4 + 1).astype(np.float32)
    plain, found, _ = runs(LAYERS[name], values)
    np.testing.assert_allclose(found, plain, rtol=5e-5, atol=2e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_values_at_the_ends_of_what_f32_holds(name: str) -> None:
    """Sums that overflow are computed with wider numbers; NaN and infinity propagate as in the plain kernel."""
    # Differences of nearly equal numbers are only as accurate as the numbers: this seed draws none.
    values = np.random.default_rng(0).standard_normal((8, 3, 70)).astype(np.float32)
    # Whether a sum overflows depends on the order of additions; means are computed with wider numbers.
    values[1] *= np.float32(1e35 if name.startswith("sum") else 7e37)
    values[2] *= np.float32(1e30)
    values[3, 1, 5] = np.nan
    values[4, 2, 69] = np.inf
    values[5, 0, :] = -np.inf
    values[6, 1, 3] = -np.inf
    values[7] *= np.float32(1e-42)
    with np.errstate(all="ignore"):
        plain, found, _ = runs(LAYERS[name], values)
    np.testing.assert_allclose(found, plain, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", LAYERS)
def test_results_are_the_same_for_any_number_of_threads(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    values = rng.standard_normal((40, 9, 100)).astype(np.float32)
    _, found, compiled = runs(LAYERS[name], values)
    try:
        for threads in (1, 2, 8):
            parallel.set_num_threads(threads)
            assert np.array_equal(compiled([values])[0], found)
    finally:
        parallel.set_num_threads(None)


def test_a_normalization_leads_what_scales_and_shifts_its_columns() -> None:
    values = (rng.standard_normal((4, 30, 100)) * 3).astype(np.float32)
    x = ops.parameter(values.shape, np.float32, name="x")
    scale, shift = (ops.constant(rng.standard_normal(100).astype(np.float32)) for _ in range(2))
    last = ops.exp(ops.add(ops.multiply(norm(ops.floor(x), -1), scale), shift))
    model = Model([last], [x])
    compiled = lowered(model)
    (group,) = groups(compiled)
    assert len(group.following) == 2
    plain = kernels(model)([values])[0]
    for _ in range(2):
        np.testing.assert_allclose(compiled([values])[0], plain, rtol=5e-5, atol=2e-6)
