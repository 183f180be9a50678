"""Functions that the recurrent operators share: activations, the input projection of all time steps, the time steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.diagnostics.statements import SURPLUS_READ
from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.matrix.product import multiply
from irexec.ops.rules.axes import in_range
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check, Operator, require

Activation = Literal["relu", "sigmoid", "tanh"]
# The activations of a sequence. OpenVINO's reader has no default for them and rejects a file without them.
SequenceActivations: TypeAlias = Annotated[tuple[Activation, ...], AsRead(default=()), AsRead(others=SURPLUS_READ)]
Direction = Literal["forward", "reverse", "bidirectional"]


@group
class Gates:
    """The activation functions of a cell's gates, and the clipping of their inputs; each cell declares its defaults."""

    activations: tuple[Activation, ...]
    activations_alpha: tuple[float, ...] = ()
    activations_beta: tuple[float, ...] = ()
    clip: float = math.inf


InPlace = Callable[[Array], object]
# A function that updates the states in place, given one time step of the projected input. Batches are columns here:
# states are [hidden, batch], the projected input is [gates * hidden, batch]. The recurrence is then R @ h with R as
# stored, and each gate is one block of memory.
Step = Callable[[Array, list[Array]], None]
# A function that makes the step of one direction from recurrence weights, biases (in the page's layout) and batch.
MakeStep = Callable[[Array, Array, int], Step]


def _sigmoid(x: Array) -> None:
    """Compute the sigmoid in place. exp may overflow to inf, whose reciprocal is the correct result 0."""
    np.multiply(x, -1, out=x)  # np.negative in place is wrong for strided views in NumPy 2.4
    np.exp(x, out=x)
    x += 1
    np.reciprocal(x, out=x)


def _relu(x: Array) -> None:
    np.maximum(x, 0, out=x)


def _tanh(x: Array) -> None:
    np.tanh(x, out=x)


_ACTIVATIONS: dict[str, InPlace] = {"relu": _relu, "sigmoid": _sigmoid, "tanh": _tanh}


def activations_of(names: Sequence[str], defaults: Sequence[str]) -> list[InPlace]:
    """Return the activations as in-place functions; `defaults` replaces an empty list. Raises ConstraintError C1."""
    _check_activations(require, names or defaults, len(defaults))
    return [_ACTIVATIONS[name] for name in names or defaults]


def _check_activations(check: Check, names: Sequence[str], count: int) -> None:
    message = f"activations has {len(names)} names, expected {count}"
    check("C1", len(names) == count, message, attribute="activations", allowed=str(count), late=True)


def clipped(gates: Array, clip: float) -> None:
    """Clip the gates to [-clip, clip] in place; 0 and infinity mean no bound."""
    if 0 < clip < np.inf:
        np.clip(gates, -clip, clip, out=gates)


def _check_gates(check: Check, gates: Gates, count: int) -> None:
    """Check C1: there are `count` activations; C2: clip is not negative."""
    _check_activations(check, gates.activations, count)
    clip = gates.clip
    check("C2", clip >= 0, f"clip is {clip}, expected a positive number", attribute="clip", allowed="> 0")


def declare_cell(cell: Operator, rows: int, defaults: Sequence[str]) -> None:
    """Declare the shape rule of a cell: the shapes of its states.

    C1: there are as many activations as `defaults`. C2: the clipping. C3: X. C4 and possibly C5: the states. The next
    three constraints: W and R have `rows` * hidden_size rows, and B has as many elements, or with linear_before_reset
    hidden_size more.
    """

    _declare_products(cell, 1)

    @cell.shapes
    def _(
        check: Check, *ports: TensorType | None, hidden_size: int, gates: Gates, linear_before_reset: bool = False
    ) -> list[PartialShape]:
        _check_gates(check, gates, len(defaults))
        inputs = cell.signature.named(ports)
        extents, states = Extents(check, hidden_size=hidden_size), len(inputs) - 4
        patterns: list[tuple[str | int, ...]] = [
            ("batch_size", "input_size"),
            *[("batch_size", "hidden_size")] * states,
            (rows * hidden_size, "input_size"),
            (rows * hidden_size, "hidden_size"),
            ((rows + linear_before_reset) * hidden_size,),
        ]
        for number, ((name, tensor), pattern) in enumerate(zip(inputs.items(), patterns, strict=True), 3):
            extents.match(f"C{number}", name, tensor, *pattern)
        return [extents.shape("batch_size", "hidden_size")] * states


def declare_sequence(sequence: Operator, rows: int, defaults: Sequence[str]) -> None:
    """Declare the shape rule of a sequence, the shapes of Y and of the last states, and how its lengths are drawn.

    C1 to C3 as in `declare_cell`. C4: sequence_lengths. From C5: the states, W, R and B for each direction.
    """

    _declare_products(sequence, 2)

    @sequence.shapes
    def _(
        check: Check,
        *ports: TensorType,
        hidden_size: int,
        direction: str,
        gates: Gates,
        linear_before_reset: bool = False,
    ) -> list[PartialShape]:
        _check_gates(check, gates, len(defaults))
        inputs = sequence.signature.named(ports)
        extents, directions = Extents(check, hidden_size=hidden_size), 2 if direction == "bidirectional" else 1
        extents.match("C3", "x", inputs.pop("x"), "batch_size", "seq_length", "input_size")
        lengths = inputs.pop("sequence_lengths")
        extents.match("C4", "sequence_lengths", lengths, "batch_size")
        in_range(check, "C4", "sequence_lengths", lengths.ints, 0, extents["seq_length"].max)
        states = len(inputs) - 3
        patterns: list[tuple[str | int, ...]] = [
            *[("batch_size", directions, "hidden_size")] * states,
            (directions, rows * hidden_size, "input_size"),
            (directions, rows * hidden_size, "hidden_size"),
            (directions, (rows + linear_before_reset) * hidden_size),
        ]
        for number, ((name, tensor), pattern) in enumerate(zip(inputs.items(), patterns, strict=True), 5):
            extents.match(f"C{number}", name, tensor, *pattern)
        state = extents.shape("batch_size", directions, "hidden_size")
        return [extents.shape("batch_size", directions, "seq_length", "hidden_size"), *[state] * states]

    sequence.oracle.draw("sequence_lengths")(_draw_lengths)


def _declare_products(operator: Operator, axes: int) -> None:
    """Declare the multiply-adds: for each batch element (with two `axes`, each step), a product with the weights W and
    one with the recurrent weights R, both of which contain all directions.
    """

    @operator.multiply_adds
    def _(outputs: Sequence[TensorType], *ports: TensorType) -> int:
        x, w, r = (operator.signature.named(ports)[name].shape.to_shape() for name in ("x", "w", "r"))
        return prod(x[:axes]) * (prod(w) + prod(r))


def _draw_lengths(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw lengths between 1 and the extent of the time axis."""
    kind, steps = types[port], types["x"].shape[1].value
    return rng.integers(min(1, steps), steps + 1, kind.shape.to_shape()).astype(kind.element_type.dtype)


def run_sequence(
    x: Array,
    states: list[Array],
    sequence_lengths: Array,
    w: Array,
    r: Array,
    b: Array,
    projected_bias: slice,
    make_step: MakeStep,
    direction: str,
) -> tuple[Array, ...]:
    """Run the sequence in each direction: Y [batch, directions, time, hidden] and the last states, in x's type.

    `states` are [batch, directions, hidden] each. `projected_bias`: the biases that are added to the input projection.
    Steps beyond a batch element's length leave its states unchanged and are zeros in Y; for length 0 the states become
    zeros, as in OpenVINO's reference.
    """
    dtype, (batch, steps, _) = x.dtype, x.shape
    x, w, r, b, *states = map(widen, (x, w, r, b, *states))
    lengths = checked_lengths(sequence_lengths, steps)
    y = np.empty((batch, w.shape[0], steps, r.shape[2]), x.dtype)
    ends = [np.empty(s.shape, x.dtype) for s in states]
    with np.errstate(over="ignore"):
        for d in range(w.shape[0]):
            reverse = direction == "reverse" or d == 1
            ordered = _reversed(x, lengths) if reverse else x
            projected = np.empty((steps * batch, w.shape[1]), x.dtype)
            multiply(np.swapaxes(ordered, 0, 1).reshape(steps * batch, x.shape[2]), w[d].T, projected)
            projected += b[d, projected_bias]
            columns = np.ascontiguousarray(np.swapaxes(projected.reshape(steps, batch, w.shape[1]), 1, 2))
            now = [transposed(s[:, d]) for s in states]
            target = np.empty((batch, steps, r.shape[2]), x.dtype) if reverse else y[:, d]
            _walk(make_step(r[d], b[d], batch), columns, now, lengths, target)
            if reverse:
                y[:, d] = _reversed(target, lengths)
            for end, state in zip(ends, now, strict=True):
                end[:, d] = np.where(lengths > 0, state, 0).T if steps else state.T
    return narrow(y, dtype), *(narrow(end, dtype) for end in ends)


def checked_lengths(sequence_lengths: Array, steps: int) -> Array:
    """Return the lengths as i64. Raises ConstraintError C4 for a length outside [0, steps]."""
    lengths = sequence_lengths.astype(np.int64)
    in_range(require, "C4", "sequence_lengths", lengths, 0, steps)
    return lengths


def transposed(rows: Array) -> Array:
    """Return a copy of [batch, n] as [n, batch], or the reverse."""
    return np.array(rows.T, order="C")


def _walk(step: Step, projected: Array, states: list[Array], lengths: Array, y: Array) -> None:
    """Run all time steps of one direction: update the states and fill y [batch, time, hidden]."""
    shortest = int(lengths.min(initial=len(projected)))
    for t, now in enumerate(projected):
        if t < shortest:
            step(now, states)
            y[:, t] = states[0].T
            continue
        before = [s.copy() for s in states]
        step(now, states)
        over = lengths <= t
        for state, old in zip(states, before, strict=True):
            np.copyto(state, old, where=over)
        np.copyto(y[:, t], np.where(over, 0, states[0]).T)


def _reversed(x: Array, lengths: Array) -> Array:
    """Return [batch, time, ...] with the first `length` steps of each batch element in reverse order."""
    steps = x.shape[1]
    if np.all(lengths == steps):
        return x[:, ::-1]
    time = np.arange(steps)
    index = np.where(time < lengths[:, None], lengths[:, None] - 1 - time, time)
    return np.take_along_axis(x, index[..., None], axis=1)
