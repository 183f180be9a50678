"""Compiled LSTM and GRU: the results of the plain kernel for all shapes and options, for any number of threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.amounts import amount
from support.lowering import forms, kernels, lowered

import irexec
from irexec.core.threads import parallel
from irexec.ops.sequence import gru, lstm, rnn
from irexec.runtime.lowering.recurrence import CompiledRecurrence

ops: Any = irexec.opset15


def drawn(rng: np.random.Generator, batch: int, steps: int, inputs: int, units: int, directions: int) -> list[Any]:
    """Return X, the states, lengths, W, R and B."""

    def numbers(*shape: int) -> np.ndarray:
        return (rng.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) == 3 else 4)).astype(np.float32)

    lengths = rng.integers(0, steps + 1, batch)
    return [
        3 * numbers(batch, steps, inputs),
        numbers(batch, directions, units),
        numbers(batch, directions, units),
        lengths,
        numbers(directions, 4 * units, inputs),
        numbers(directions, 4 * units, units),
        numbers(directions, 4 * units),
    ]


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("seed", range(amount(24, 10)))
def test_the_results_are_those_of_the_plain_kernel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, steps, inputs, units = (int(rng.integers(1, most)) for most in (8, 7, 40, 150))
    direction = ("forward", "reverse", "bidirectional")[seed % 3]
    activations = (("sigmoid", "tanh", "tanh"), ("sigmoid", "relu", "tanh"), ("tanh", "sigmoid", "relu"))[seed // 3 % 3]
    clip = 0.0 if seed % 2 else 0.7
    given = drawn(rng, batch, steps, inputs, units, 1 + (direction == "bidirectional"))
    gates = lstm.SequenceGates(activations=activations, clip=clip)
    expected = lstm.lstm_sequence_5.kernel(*given, hidden_size=units, direction=direction, gates=gates)
    found = CompiledRecurrence("lstm", *given[4:], direction, activations, clip)(*given[:3], given[3].astype(np.int64))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("seed", range(amount(24, 10)))
def test_the_results_of_a_gru_are_those_of_the_plain_kernel(seed: int, before: bool) -> None:
    rng = np.random.default_rng(seed)
    batch, steps, inputs, units = (int(rng.integers(1, most)) for most in (8, 7, 40, 150))
    direction = ("forward", "reverse", "bidirectional")[seed % 3]
    # With an update gate outside of 0 to 1, rounding errors would grow from step to step.
    activations = ("sigmoid", ("tanh", "relu", "sigmoid")[seed // 3 % 3])
    gates = gru.SequenceGates(activations=activations, clip=0.0 if seed % 2 else 0.7)
    x, hidden, _, lengths, w, r, b = drawn(rng, batch, steps, inputs, units, 1 + (direction == "bidirectional"))
    w, r, b = w[:, : 3 * units], r[:, : 3 * units], b if before else b[:, : 3 * units]
    expected = gru.gru_sequence_5.kernel(
        x, hidden, lengths, w, r, b, hidden_size=units, direction=direction, gates=gates, linear_before_reset=before
    )
    kind = "gru" if before else "reset_gru"
    found = CompiledRecurrence(kind, w, r, b, direction, activations, gates.clip)(x, hidden, lengths.astype(np.int64))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("seed", range(amount(18, 9)))
def test_the_results_of_a_simple_network_are_those_of_the_plain_kernel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, steps, inputs, units = (int(rng.integers(1, most)) for most in (8, 7, 40, 150))
    direction = ("forward", "reverse", "bidirectional")[seed % 3]
    activation, clip = ("tanh", "relu", "sigmoid")[seed // 3 % 3], 0.0 if seed % 2 else 0.7
    gates = rnn.SequenceGates(activations=(activation,), clip=clip)
    x, hidden, _, lengths, w, r, b = drawn(rng, batch, steps, inputs, units, 1 + (direction == "bidirectional"))
    w, r, b = w[:, :units], r[:, :units], b[:, :units]
    expected = rnn.rnn_sequence_5.kernel(
        x, hidden, lengths, w, r, b, hidden_size=units, direction=direction, gates=gates
    )
    found = CompiledRecurrence("rnn", w, r, b, direction, (activation,), clip)(x, hidden, lengths.astype(np.int64))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


def test_a_lowered_simple_network() -> None:
    x, hidden, _, lengths, w, r, b = drawn(np.random.default_rng(0), 2, 5, 7, 40, 1)
    weights = [ops.constant(array[:, :40]) for array in (w, r, b)]
    data = ops.parameter(list(x.shape), np.float32, name="x")
    made = ops.rnn_sequence(data, ops.constant(hidden), ops.constant(lengths), *weights, 40, "forward")
    model = irexec.Model([made.output(0), made.output(1)], [data])
    compiled = lowered(model)
    for one, other in zip(compiled([x]).to_tuple(), kernels(model)([x]).to_tuple(), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    assert "RNNSequence" in forms(compiled)


@pytest.mark.parametrize("before", [True, False])
def test_a_lowered_gru(before: bool) -> None:
    x, hidden, _, lengths, w, r, b = drawn(np.random.default_rng(0), 2, 5, 7, 40, 2)
    weights = [ops.constant(array) for array in (w[:, :120], r[:, :120], b if before else b[:, :120])]
    data = ops.parameter(list(x.shape), np.float32, name="x")
    made = ops.gru_sequence(
        data, ops.constant(hidden), ops.constant(lengths), *weights, 40, "bidirectional",
        activations=["sigmoid", "tanh"], linear_before_reset=before,
    )  # fmt: skip
    model = irexec.Model([made.output(0), made.output(1)], [data])
    compiled = lowered(model)
    for one, other in zip(compiled([x]).to_tuple(), kernels(model)([x]).to_tuple(), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)
    assert "GRUSequence" in forms(compiled)


def test_one_nan_stays_with_its_batch_element() -> None:
    given = drawn(np.random.default_rng(0), 3, 4, 5, 33, 2)
    given[3] = np.array([4, 4, 4])
    given[0][1, 2, 3] = np.nan
    given[0][0, 0, 0] = np.inf
    gates = lstm.SequenceGates(activations=("sigmoid", "tanh", "tanh"))
    expected = lstm.lstm_sequence_5.kernel(*given, hidden_size=33, direction="bidirectional", gates=gates)
    found = CompiledRecurrence("lstm", *given[4:], "bidirectional", ("sigmoid", "tanh", "tanh"), np.inf)(*given[:4])
    for one, other in zip(found, expected, strict=True):
        assert np.isfinite(other[2]).all()
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.by_hand(0)
@pytest.mark.usefixtures("threads")
def test_results_are_the_same_for_any_number_of_threads() -> None:
    given = drawn(np.random.default_rng(1), 2, 9, 20, 700, 2)
    results = []
    for count in (1, 2, 8):
        parallel.set_num_threads(count)
        compiled = CompiledRecurrence("lstm", *given[4:], "bidirectional", ("sigmoid", "tanh", "tanh"), 0.0)
        results.append(compiled(*given[:4]))
    for other in results[1:]:
        assert all(np.array_equal(*pair) for pair in zip(results[0], other, strict=True))


@pytest.mark.parametrize("element_type", [np.float32, np.float16])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_lowered_lstm(batch: int, element_type: Any) -> None:
    x = ops.parameter([batch, 5, 7], element_type, name="x")
    given = [array.astype(element_type) for array in drawn(np.random.default_rng(0), batch, 5, 7, 100, 2)]
    lengths = ops.constant(np.arange(5 - batch, 5) + 1)
    hidden, cell, w, r, b = (ops.constant(array) for array in (*given[1:3], *given[4:]))
    node = ops.lstm_sequence(x, hidden, cell, lengths, w, r, b, hidden_size=100, direction="bidirectional")
    model = irexec.Model([node.output(i) for i in range(3)], [x])
    compiled = lowered(model)
    expected, found = kernels(model)([given[0]]).to_tuple(), compiled([given[0]]).to_tuple()
    assert "LSTMSequence" in forms(compiled)
    tolerance = 1e-4 if element_type is np.float32 else 2e-3
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == element_type
        np.testing.assert_allclose(
            one.astype(np.float64), other.astype(np.float64), rtol=tolerance, atol=tolerance / 100
        )
