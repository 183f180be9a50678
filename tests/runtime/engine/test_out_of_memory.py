"""Models that need more memory than available: a finding that names the layer, never a MemoryError."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec
from irexec import IRError
from irexec.runtime.engine import memory, runner

o: Any = irexec.opset15


def refusal(call: Any) -> irexec.Diagnostic:
    with pytest.raises(IRError) as raised:
        call()
    [finding] = raised.value.report
    assert finding.code == "O011"
    return finding


def test_a_result_larger_than_the_machine_is_refused_when_the_model_is_compiled() -> None:
    x = o.parameter([], np.float32, name="x")
    model = irexec.Model([o.broadcast(x, [1 << 45], name="wide")], [x])
    assert refusal(lambda: irexec.compile_model(model)).layer.name == "wide"


def test_one_of_a_dynamic_model_when_its_extent_comes() -> None:
    x = o.parameter([-1], np.float32, name="x")
    compiled = irexec.compile_model(irexec.Model([o.tile(x, [1 << 30], name="wide")], [x]))
    assert compiled([np.zeros(0, np.float32)])[0].shape == (0,)
    assert refusal(lambda: compiled([np.zeros(1 << 15, np.float32)])).layer.name == "wide"


def test_one_whose_shape_a_value_decides() -> None:
    x = o.parameter([1], np.float32, name="x")
    n = o.parameter([1], np.int64, name="n")
    compiled = irexec.compile_model(irexec.Model([o.broadcast(x, n, name="wide")], [x, n]))
    assert compiled([[2.0], [3]])[0].tolist() == [2, 2, 2]
    assert refusal(lambda: compiled([[2.0], [1 << 45]])).layer.name == "wide"


@pytest.mark.parametrize("count", [1 << 61, (1 << 63) - 1])
@pytest.mark.parametrize("mode", ["constant", "edge"])
def test_more_elements_than_numpy_counts(mode: str, count: int) -> None:
    x, end = o.parameter([1], np.float32, name="x"), o.parameter([1], np.int64, name="end")
    padded = o.pad(x, o.constant(np.zeros(1, np.int64)), end, mode, o.constant(np.float32(0)), name="wide")
    compiled = irexec.compile_model(irexec.Model([padded], [x, end]))
    assert compiled([[2.0], [1]])[0].shape == (2,)
    assert refusal(lambda: compiled([[2.0], [count]])).layer.name == "wide"


def test_the_copy_of_a_result_that_finds_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x = o.parameter([2], np.float32, name="x")
    compiled = irexec.compile_model(irexec.Model([o.reshape(x, [2, 1], special_zero=False)], [x]))

    def owned(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(runner, "_owned", owned)
    assert refusal(lambda: compiled([[1.0, 2.0]])).layer.type == "Reshape"


def test_buffers_that_find_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    x = o.parameter([64, 64], np.float32, name="x")
    small = o.relu(x, name="one")
    model = irexec.Model([o.reduce_sum(o.exp(small, name="two"), [0, 1], keep_dims=False)], [x])
    compiled = irexec.compile_model(model)

    def allocate(*_: Any) -> Any:
        raise MemoryError("no room")

    monkeypatch.setattr(memory.MemoryPlan, "allocate", allocate)
    assert refusal(lambda: compiled([np.zeros((64, 64), np.float32)])).layer.name in ("one", "two")
