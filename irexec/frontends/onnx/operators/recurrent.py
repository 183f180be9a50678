"""Translators of ONNX's recurrent operators: IR's sequences where these are equivalent, otherwise ONNX's own kernels.

Source: ONNX operator pages RNN, GRU, LSTM. In ONNX time is the first axis (layout 0), in IR the batch; the gates of an
LSTM are in a different order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.core.types import I32
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_DEFAULTS = {"RNN": ["tanh"], "GRU": ["sigmoid", "tanh"], "LSTM": ["sigmoid", "tanh", "tanh"]}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_OF_IR = {"sigmoid", "tanh", "relu"}


@translates("RNN", "GRU", "LSTM", since=(1, 7, 14, 22))
@translates("GRU", since=(3,))
def _recurrent(op: Op) -> list[Value]:
    return recurrent(op, op.type)


def recurrent(op: Op, type: str) -> list[Value]:
    """Translate RNN, GRU or LSTM; an LSTM with scales at the inputs from 8 on has quantized weights."""
    direction = op.text("direction", "forward", allowed=("forward", "reverse", "bidirectional"))
    directions, gates = 2 if direction == "bidirectional" else 1, _GATES[type]
    quantized = len(op) > 8
    hidden = _hidden_size(op, 1 if quantized else 2)
    _check_sizes(op, gates, directions, hidden, quantized)
    names = [name.lower() for name in op.texts("activations") or _DEFAULTS[type] * directions]
    clip = op.number("clip", 0.0)
    options: dict[str, Any] = {"hidden_size": hidden, "direction": direction}
    if type == "GRU":
        options["linear_before_reset"] = op.flag("linear_before_reset")
    batch_first = op.flag("layout")
    x = op[0] if batch_first else op.make("Transpose", op[0], [1, 0, 2])
    batch = op.extent(x, [0])
    states = [_state(op, op.get(5 + i), batch, directions, hidden, batch_first) for i in range(1 + (type == "LSTM"))]
    w, r, b = op[1], op[2], _or_zeros(op, op.get(3), (directions, 2 * gates * hidden))
    inputs = [x, *states, _lengths(op, x, batch)]
    peepholes = op.get(7) if type == "LSTM" else None
    own = quantized or len(set(_per_direction(names, directions))) > 1 or not set(names) <= _OF_IR
    own |= peepholes is not None or op.flag("input_forget")
    if own:
        options |= {"activations": names, "clip": clip}
        options |= {"alphas": op.numbers("activation_alpha") or [], "betas": op.numbers("activation_beta") or []}
        inputs += [w, r, b]
        if type == "LSTM":
            options["input_forget"] = op.flag("input_forget")
            inputs.append(_or_zeros(op, peepholes, (directions, 3 * hidden)))
        inputs += [op[i] for i in range(8, len(op))]
        made = op.make_node(op.type, *inputs, opset="onnx7", **options).outputs
    else:
        w, r, b = _as_ir(op, w, r, b, hidden, directions)
        options |= {"activations": names[: len(names) // directions]} | ({"clip": clip} if clip > 0 else {})
        made = op.make_node(f"{type}Sequence", *inputs, w, r, b, opset=5, **options).outputs
    return _outputs(op, made, batch_first)


def _check_sizes(op: Op, gates: int, directions: int, hidden: int, quantized: bool) -> None:
    """Check the shapes of weights, biases, lengths and states. Raises Refused."""
    x, state = ("N T I", "N D H") if op.flag("layout") else ("T N I", "D N H")
    w, r = ("D I G*H", "D H G*H") if quantized else ("D G*H I", "D G*H H")
    op.check_shapes(
        f"X: {x}; W: {w}; R: {r}; B: D 2*G*H; sequence_lens: N; initial_h: {state}; initial_c: {state}; P: D 3*H",
        G=gates, D=directions, H=op.integer("hidden_size", hidden),
    )  # fmt: skip


def _per_direction(names: list[str], directions: int) -> list[tuple[str, ...]]:
    size = max(1, len(names) // directions)
    return [tuple(names[i : i + size]) for i in range(0, len(names), size)]


def _hidden_size(op: Op, axis: int) -> int:
    """Return the extent of r along the axis or, if it is unknown, the attribute's value."""
    shape, hidden = op[2].type.shape, op.integer("hidden_size", 0)
    if shape.rank == 3 and shape[axis].is_static:
        return int(shape[axis].value)
    if hidden < 1:
        op.refuse("hidden_size must be known", attribute="hidden_size")
    return hidden


def _state(op: Op, given: Value | None, batch: Value, directions: int, hidden: int, batch_first: bool) -> Value:
    if given is None:
        shape = op.make("Concat", batch, [directions, hidden], axis=0)
        return op.make("Broadcast", op.like(0), shape, opset=3)
    return given if batch_first else op.make("Transpose", given, [1, 0, 2])


def _lengths(op: Op, x: Value, batch: Value) -> Value:
    """Return the length of each sequence, by default the length of x."""
    given = op.get(4)
    if given is not None:
        return given
    times = op.convert(op.extent(x, 1), I32)
    return op.make("Broadcast", times, batch, opset=3)


def _or_zeros(op: Op, given: Value | None, shape: tuple[int, ...]) -> Value:
    return given if given is not None else op.constant(np.zeros(shape, op.kind().dtype), op.kind())


def _as_ir(op: Op, w: Value, r: Value, b: Value, hidden: int, directions: int) -> tuple[Value, Value, Value]:
    """Return weights with the gates in IR's order; the biases of input and state are added where IR has only one."""
    gates = _GATES[op.type]
    of_input, of_state = op.make_node("Split", b, 1, num_splits=2).outputs
    if op.type == "GRU" and op.flag("linear_before_reset"):
        # The state's bias of the last gate is kept separate.
        first, last = op.make_node("VariadicSplit", of_state, 1, [2 * hidden, hidden]).outputs
        zeros = op.constant(np.zeros((directions, hidden), op.kind().dtype), op.kind())
        added = op.make("Add", of_input, op.make("Concat", first, zeros, axis=1))
        return w, r, op.make("Concat", added, last, axis=1)
    b = op.make("Add", of_input, of_state)
    if op.type != "LSTM":
        return w, r, b
    ordered = []
    for value in (w, r, b):
        i, o, f, c = op.make_node("Split", value, 1, num_splits=gates).outputs
        ordered.append(op.make("Concat", f, i, c, o, axis=1))
    return ordered[0], ordered[1], ordered[2]


def _outputs(op: Op, made: Sequence[Value], batch_first: bool) -> list[Value]:
    """Return Y from [batch, directions, time, hidden], and the states from [batch, directions, hidden]."""
    results = [op.make("Transpose", made[0], [0, 2, 1, 3] if batch_first else [2, 1, 0, 3])]
    return results + [state if batch_first else op.make("Transpose", state, [1, 0, 2]) for state in made[1:]]
