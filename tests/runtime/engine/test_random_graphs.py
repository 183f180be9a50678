"""The memory plan on random graphs over all operators, against evaluation node by node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.graphs import RandomGraph, candidates, difference

import irexec
from irexec import Model
from irexec.runtime.engine import memory

ops: Any = irexec.opset15


@pytest.fixture(autouse=True)
def every_result_has_a_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give small results buffers, as large ones have."""
    monkeypatch.setattr(memory, "_MIN_BYTES", 1)


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("part", range(4))
def test_random_graphs(part: int, dynamic: bool) -> None:
    pool, wrong = candidates(), {}
    for seed in range(part * 40, part * 40 + amount(40, 10)):
        graph = RandomGraph(pool, seed, dynamic=dynamic)
        if (found := difference(graph.model, graph.inputs)) is not None:
            wrong[seed] = found
    assert wrong == {}


def test_the_graphs_have_all_operators_that_can_be_run_by_themselves() -> None:
    assert len(candidates()) >= 230


def i64(*values: int) -> Any:
    return ops.constant(np.array(values, np.int64))


def through_a_transposed_view(x: Any) -> Any:
    return ops.softmax(ops.transpose(ops.relu(x), i64(0, 1, 3, 2)), axis=1)


def through_a_smaller_result(x: Any) -> Any:
    return ops.sigmoid(ops.reduce_max(ops.relu(x), i64(3), keep_dims=True))


def through_a_larger_result(x: Any) -> Any:
    scales, axes = ops.constant(np.float32([2, 2])), i64(2, 3)
    larger = ops.interpolate(ops.relu(x), scales, axes, mode="linear_onnx", shape_calculation_mode="scales")
    return ops.sigmoid(larger)


def through_a_view_at_an_offset(x: Any) -> Any:
    part = ops.slice(ops.relu(x), i64(3), i64(8), i64(1), i64(3))
    return ops.concat([ops.gelu(part), ops.relu(part), ops.softmax(ops.swish(part), axis=1)], axis=0)


def through_a_broadcast_view(x: Any) -> Any:
    wide = ops.broadcast(ops.relu(ops.reduce_max(x, i64(0), keep_dims=True)), i64(4, 8, 8, 8))
    return ops.add(ops.exp(wide), ops.tanh(wide))


def through_several_consumers(x: Any) -> Any:
    shared = ops.relu(x)
    return ops.add(ops.negative(shared), ops.multiply(ops.exp(shared), shared))


@pytest.mark.parametrize(
    "network",
    [
        through_a_transposed_view,
        through_a_smaller_result,
        through_a_larger_result,
        through_a_view_at_an_offset,
        through_a_broadcast_view,
        through_several_consumers,
    ],
)
def test_compositions(network: Any) -> None:
    x = ops.parameter([4, 8, 8, 8], np.float32, name="x")
    model = Model([network(x)], [x])
    array = np.random.default_rng(0).standard_normal((4, 8, 8, 8), dtype=np.float32)
    assert difference(model, [array]) is None


def test_what_a_listener_sees_was_computed() -> None:
    """MaxPool's indices are not computed if no layer reads them, unless a listener observes them."""
    x = ops.parameter([1, 1, 4, 4], np.float32, name="x")
    pool = ops.max_pool(x, strides=[2, 2], dilations=[1, 1], pads_begin=[0, 0], pads_end=[0, 0], kernel=[2, 2])
    model = Model([pool.output(0)], [x])
    array = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    seen: list[list[np.ndarray]] = []

    class Looking:
        def before(self, node: Any, inputs: Any) -> None: ...

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None:
            seen.append([np.array(output) for output in outputs])

    compiled = irexec.compile_model(model)
    plain = compiled([array])[0]
    watched = compiled.create_infer_request([Looking()]).infer([array])[0]
    assert np.array_equal(plain, watched)
    assert seen[0][1].ravel().tolist() == [5, 7, 13, 15]
