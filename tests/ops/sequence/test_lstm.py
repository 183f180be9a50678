"""LSTMCell and LSTMSequence: the page's formula, peepholes, edge cases."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, run, tensor
from support.recurrent import assert_close, cell_arrays, cell_shapes, op_of, sequence_arrays

from irexec.core.types import F32, I64
from irexec.ops.spec.contents import find


def test_lstm_cell_follows_the_formula() -> None:
    rng = np.random.default_rng(0)
    x, h, c, w, r, b = cell_arrays(rng, "LSTM", 3, 2, 4, 4, np.float64)
    f, i, g, o = np.split(x @ w.T + h @ r.T + b, 4, axis=1)
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    cell = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    ho, co = run(op_of("LSTMCell"), x, h, c, w, r, b, hidden_size=4)
    np.testing.assert_allclose(co, cell, rtol=1e-14)
    np.testing.assert_allclose(ho, sigmoid(o) * np.tanh(cell), rtol=1e-14)


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


def test_lstm_c9_peepholes() -> None:
    op = find("LSTMCell", "opset1")
    assert op is not None
    types = [tensor(F32, s) for s in [*cell_shapes("LSTM"), "16"]]
    assert [b.constraint for b in infer(op, types, hidden_size=4)[1]] == ["C9"]


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
