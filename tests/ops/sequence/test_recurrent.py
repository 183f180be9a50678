"""LSTM, GRU and RNN cells and sequences: against OpenVINO, against the page's formulas, and their corners."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.ops.declare.contents import find
from irexec.ops.declare.operator import ConstraintError, Operator
from irexec.types import F32, I64

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}
ACTIVATIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}


def op_of(type: str) -> Operator:
    opset = {"LSTMCell": 4, "GRUCell": 3, "RNNCell": 1}.get(type, 5)
    op = find(type, f"opset{opset}")
    assert op is not None
    return op


def assert_close(ours: list[Any], theirs: list[Any]) -> None:
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def cell_arrays(
    rng: Any, kind: str, batch: int, size: int, hidden: int, bias: int, dtype: Any = np.float32
) -> list[Any]:
    gates = GATES[kind] * hidden
    shapes = [(batch, size), *[(batch, hidden)] * STATES[kind], (gates, size), (gates, hidden), (bias * hidden,)]
    return [rng.normal(size=s).astype(dtype) for s in shapes]


def sequence_arrays(
    rng: Any, kind: str, batch: int, steps: int, size: int, hidden: int, directions: int, lengths: Any, bias: int
) -> list[Any]:
    gates = GATES[kind] * hidden
    shapes = [(batch, steps, size), *[(batch, directions, hidden)] * STATES[kind]]
    weights = [(directions, gates, size), (directions, gates, hidden), (directions, bias * hidden)]
    f32 = [rng.normal(size=s).astype(np.float32) for s in shapes]
    return [*f32, np.asarray(lengths, np.int64), *[rng.normal(size=s).astype(np.float32) for s in weights]]


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


def test_lstm_cell_follows_the_formula() -> None:
    rng = np.random.default_rng(0)
    x, h, c, w, r, b = cell_arrays(rng, "LSTM", 3, 2, 4, 4, np.float64)
    f, i, g, o = np.split(x @ w.T + h @ r.T + b, 4, axis=1)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    ho, co = run(op_of("LSTMCell"), x, h, c, w, r, b, hidden_size=4)
    np.testing.assert_allclose(co, cell, rtol=1e-14)
    np.testing.assert_allclose(ho, sigmoid(o) * np.tanh(cell), rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    narrow = [
        a if a.dtype == np.int64 else a.astype(dtype) for a in sequence_arrays(rng, "GRU", 2, 6, 3, 4, 1, [6, 4], 3)
    ]
    wide = [a if a.dtype == np.int64 else a.astype(np.float32) for a in narrow]
    attributes = {"hidden_size": 4, "direction": "reverse"}
    op = op_of("GRUSequence")
    for a, b in zip(run(op, *narrow, **attributes), run(op, *wide, **attributes), strict=True):
        assert a.dtype == dtype
        np.testing.assert_array_equal(a.astype(np.float32), b.astype(dtype).astype(np.float32))


def test_lstm_cell_of_opset_1_has_peepholes_and_input_forget() -> None:
    op = find("LSTMCell", "opset1")
    assert op is not None
    rng = np.random.default_rng(0)
    x, h, c, w, r, b = cell_arrays(rng, "LSTM", 2, 3, 2, 4, np.float64)
    p = rng.normal(size=6)
    pf, pi, po = np.split(p, 3)
    f, i, g, o = np.split(x @ w.T + h @ r.T + b, 4, axis=1)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    forget = sigmoid(f + pf * c)
    cell = forget * c + sigmoid(i + pi * c) * np.tanh(g)
    ho, co = run(op, x, h, c, w, r, b, p, hidden_size=2, weights_format="fico")
    np.testing.assert_allclose(co, cell, rtol=1e-14)
    np.testing.assert_allclose(ho, sigmoid(o + po * cell) * np.tanh(cell), rtol=1e-14)
    _, coupled = run(op, x, h, c, w, r, b, p, hidden_size=2, input_forget=True)
    np.testing.assert_allclose(coupled, forget * c + (1 - forget) * np.tanh(g), rtol=1e-14)
    plain = run(op, x, h, c, w, r, b, hidden_size=2, weights_format="ifco")
    np.testing.assert_array_equal(plain, run(op_of("LSTMCell"), x, h, c, w, r, b, hidden_size=2))


def test_without_bias_it_is_zero() -> None:
    rng = np.random.default_rng(0)
    for kind in GATES:
        *arrays, b = cell_arrays(rng, kind, 2, 3, 2, GATES[kind])
        op = op_of(f"{kind}Cell")
        np.testing.assert_array_equal(run(op, *arrays, hidden_size=2), run(op, *arrays, b * 0, hidden_size=2))


def test_length_zero_gives_zero_states() -> None:
    arrays = sequence_arrays(np.random.default_rng(0), "LSTM", 2, 3, 2, 2, 1, [0, 3], 4)
    y, h, c = run(op_of("LSTMSequence"), *arrays, hidden_size=2, direction="forward")
    assert not y[0].any() and not h[0].any() and not c[0].any() and h[1].all()


def test_overflow_in_the_sigmoid_is_silent() -> None:
    arrays = [a * 1e4 for a in cell_arrays(np.random.default_rng(0), "LSTM", 2, 3, 2, 4)]
    h, c = run(op_of("LSTMCell"), *arrays, hidden_size=2)
    assert np.isfinite(h).all() and np.isfinite(c).all()


@pytest.mark.parametrize("hidden", [1, 2])
def test_hidden_size_one(hidden: int) -> None:
    # The gates are then views with large strides, which NumPy's own negative gets wrong in place.
    arrays = cell_arrays(np.random.default_rng(2), "LSTM", 2, 2, hidden, 4)
    wide = [a.astype(np.float64) for a in arrays]
    op = op_of("LSTMCell")
    assert_close(run(op, *arrays, hidden_size=hidden), run(op, *wide, hidden_size=hidden))


def breaches(type: str, shapes: list[str], lengths: Any = None, **attributes: Any) -> set[str | None]:
    types = [tensor(F32, s) for s in shapes]
    if "Sequence" in type:
        index = 1 + STATES[type.removesuffix("Sequence")]
        types[index] = tensor(I64, shapes[index], lengths)
    return {b.constraint for b in infer(op_of(type), types, **attributes)[1]}


def cell_shapes(kind: str) -> list[str]:
    gates = GATES[kind] * 4
    return ["2,3", *["2,4"] * STATES[kind], f"{gates},3", f"{gates},4", f"{gates}"]


def sequence_shapes(kind: str) -> list[str]:
    gates = GATES[kind] * 4
    return ["2,5,3", *["2,1,4"] * STATES[kind], "2", f"1,{gates},3", f"1,{gates},4", f"1,{gates}"]


def test_c1_number_of_activations() -> None:
    assert breaches("RNNCell", cell_shapes("RNN"), hidden_size=4, activations=["tanh", "tanh"]) == {"C1"}
    assert breaches("RNNCell", cell_shapes("RNN"), hidden_size=4, activations=[]) == {"C1"}


def test_c2_clip_is_not_negative() -> None:
    assert breaches("RNNCell", cell_shapes("RNN"), hidden_size=4, clip=-1.0) == {"C2"}


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


def test_gru_c7_c8_a_fourth_bias_with_linear_before_reset() -> None:
    cell, sequence = cell_shapes("GRU"), sequence_shapes("GRU")
    assert breaches("GRUCell", cell, hidden_size=4, linear_before_reset=True) == {"C7"}
    assert breaches("GRUCell", [*cell[:-1], "16"], hidden_size=4, linear_before_reset=True) == set()
    attributes: dict[str, Any] = {"hidden_size": 4, "direction": "forward", "linear_before_reset": True}
    assert breaches("GRUSequence", sequence, **attributes) == {"C8"}
    assert breaches("GRUSequence", [*sequence[:-1], "1,16"], **attributes) == set()


def test_lstm_c9_peepholes() -> None:
    op = find("LSTMCell", "opset1")
    assert op is not None
    types = [tensor(F32, s) for s in [*cell_shapes("LSTM"), "16"]]
    assert [b.constraint for b in infer(op, types, hidden_size=4)[1]] == ["C9"]


def test_c4_lengths_beyond_the_sequence() -> None:
    assert breaches("RNNSequence", sequence_shapes("RNN"), [2, 6], hidden_size=4, direction="forward") == {"C4"}
    arrays = sequence_arrays(np.random.default_rng(0), "RNN", 2, 3, 2, 2, 1, [1, 4], 1)
    with pytest.raises(ConstraintError, match=r"outside 0\.\.3"):
        op_of("RNNSequence")(*arrays, hidden_size=2, direction="forward")


def test_dynamic_shapes_are_merged() -> None:
    types, found = infer(
        op_of("LSTMSequence"),
        [
            tensor(F32, "?,?,3"),
            tensor(F32, "2,1,?"),
            tensor(F32, "..."),
            tensor(I64, "?"),
            tensor(F32, "1,16,?"),
            tensor(F32, "1,?,4"),
            tensor(F32, "1,16"),
        ],
        hidden_size=4,
        direction="forward",
    )
    assert not found
    assert [str(t.shape) for t in types] == ["[2,1,?,4]", "[2,1,4]", "[2,1,4]"]
