"""LSTMCell, GRUCell, RNNCell, LSTMSequence, GRUSequence, RNNSequence: OpenVINO, and the properties that all share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import layer_xml, openvino, run, tensor
from support.recurrent import (
    ACTIVATIONS,
    GATES,
    STATES,
    assert_close,
    breaches,
    cell_arrays,
    cell_shapes,
    op_of,
    sequence_arrays,
    sequence_shapes,
)

import irexec
from irexec.core.types import F32


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("seed", range(6))
def test_cells_agree_with_openvino(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch, size, hidden = (int(n) for n in rng.integers(1, 5, 3))
    names = [str(n) for n in rng.choice(["relu", "sigmoid", "tanh"], ACTIVATIONS[kind])]
    attributes: dict[str, Any] = {"hidden_size": hidden, "activations": names, "clip": float(rng.choice([0.0, 0.7]))}
    bias = GATES[kind]
    if kind == "GRU":
        attributes["linear_before_reset"] = bool(seed % 2)
        bias += seed % 2
    arrays = cell_arrays(rng, kind, batch, size, hidden, bias)
    op = op_of(f"{kind}Cell")
    assert_close(run(op, *arrays, **attributes), openvino(op, *arrays, **attributes))


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("ragged", [False, True])
def test_sequences_agree_with_openvino(kind: str, direction: str, ragged: bool) -> None:
    rng = np.random.default_rng(len(kind) + len(direction) + ragged)
    batch, steps, size, hidden = 3, 5, 2, 4
    lengths = [2, 5, 4] if ragged else [steps] * batch
    attributes: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "clip": 0.9 if ragged else 0.0}
    bias = GATES[kind]
    if kind == "GRU":
        attributes["linear_before_reset"] = ragged
        bias += ragged
    directions = 2 if direction == "bidirectional" else 1
    arrays = sequence_arrays(rng, kind, batch, steps, size, hidden, directions, lengths, bias)
    op = op_of(f"{kind}Sequence")
    defaults = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}[kind]
    theirs = openvino(op, *arrays, activations=defaults, **attributes)
    assert_close(run(op, *arrays, **attributes), theirs)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_sequence_is_its_cells(kind: str) -> None:
    rng = np.random.default_rng(3)
    batch, steps, size, hidden = 2, 4, 3, 2
    arrays = sequence_arrays(rng, kind, batch, steps, size, hidden, 1, [steps] * batch, GATES[kind])
    x, *states = arrays[: 1 + STATES[kind]]
    w, r, b = (a[0] for a in arrays[-3:])
    states = [s[:, 0] for s in states]
    y, *ends = run(op_of(f"{kind}Sequence"), *arrays, hidden_size=hidden, direction="forward")
    for t in range(steps):
        states = run(op_of(f"{kind}Cell"), x[:, t], *states, w, r, b, hidden_size=hidden)
        np.testing.assert_allclose(y[:, 0, t], states[0], rtol=1e-5, atol=1e-6)
    for end, state in zip(ends, states, strict=True):
        np.testing.assert_allclose(end[:, 0], state, rtol=1e-5, atol=1e-6)


def test_without_bias_it_is_zero() -> None:
    rng = np.random.default_rng(0)
    for kind in ("LSTM", "GRU"):
        *arrays, b = cell_arrays(rng, kind, 2, 3, 2, GATES[kind])
        op = op_of(f"{kind}Cell")
        np.testing.assert_array_equal(run(op, *arrays, hidden_size=2), run(op, *arrays, b * 0, hidden_size=2))


@pytest.mark.parametrize(("kind", "code"), [("LSTM", "D011"), ("GRU", "D011"), ("RNN", "P007")])
def test_openvino_rejects_a_cell_without_bias(kind: str, code: str) -> None:
    """The pages of LSTMCell and GRUCell say that the bias is optional, that of RNNCell that it is required."""
    core = pytest.importorskip("openvino").Core()
    arrays = cell_arrays(np.random.default_rng(0), kind, 2, 3, 4, GATES[kind])
    whole, without = (
        layer_xml(op_of(f"{kind}Cell"), given, {"hidden_size": 4}, [tensor(F32, "2,4")] * STATES[kind]).encode()
        for given in (arrays, arrays[:-1])
    )
    core.read_model(whole)
    assert not [d for d in irexec.validate(whole) if d.code == code]
    with pytest.raises(RuntimeError, match="out of range"):
        core.read_model(without)
    (finding,) = (d for d in irexec.validate(without) if d.code == code)
    assert finding.openvino and finding.openvino.startswith("rejects")


@pytest.mark.parametrize("kind", GATES)
def test_c3_to_c8_shapes_of_a_cell(kind: str) -> None:
    """C3 is X, and so on in the order of the ports."""
    shapes = cell_shapes(kind)
    assert breaches(f"{kind}Cell", shapes, hidden_size=4) == set()
    for port in range(len(shapes)):
        wrong = [*shapes[:port], "2,3,4", *shapes[port + 1 :]]
        assert breaches(f"{kind}Cell", wrong, hidden_size=4) == {f"C{port + 3}"}


@pytest.mark.parametrize("kind", GATES)
def test_c3_to_c9_shapes_of_a_sequence(kind: str) -> None:
    """C3 is X, C4 sequence_lengths, then the others in the order of the ports."""
    shapes = sequence_shapes(kind)
    lengths = 1 + STATES[kind]
    assert breaches(f"{kind}Sequence", shapes, hidden_size=4, direction="reverse") == set()
    ports = [0, lengths, *[p for p in range(len(shapes)) if p not in (0, lengths)]]
    for number, port in enumerate(ports, 3):
        wrong = [*shapes[:port], "7,7,7,7", *shapes[port + 1 :]]
        assert breaches(f"{kind}Sequence", wrong, hidden_size=4, direction="reverse") == {f"C{number}"}
