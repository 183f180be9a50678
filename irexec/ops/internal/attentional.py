"""AUGRUCell and AUGRUSequence: GRU whose update gate is multiplied by an attention score.

Source: operation pages AUGRUCell and AUGRUSequence. Gates are ordered z, r, h.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import FLOATS, INDICES, Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.sequence.recurrent import checked_lengths
from irexec.ops.spec.groups import AttributesOf
from irexec.ops.spec.operator import Check, Elements, operator, rounded

T: TypeAlias = Annotated[Array, Elements("T", FLOATS)]
_OPSET = "ie_internal_opset"
Functions: TypeAlias = tuple[Literal["sigmoid", "tanh"], ...]


def _step(x: Array, hidden: Array, w: Array, r: Array, b: Array, score: Array) -> Array:
    size = hidden.shape[-1]
    with np.errstate(over="ignore"):
        gates = x @ w[: 2 * size].T + hidden @ r[: 2 * size].T + b[: 2 * size]
        gates = 1 / (1 + np.exp(-gates))
        update, reset = gates[:, :size], gates[:, size:]
        candidate = np.tanh(x @ w[2 * size :].T + (reset * hidden) @ r[2 * size :].T + b[2 * size :])
    update = (1 - score) * update
    return np.asarray((1 - update) * candidate + update * hidden)


@operator("AUGRUCell", _OPSET, tolerance=rounded(64))
def augru_cell(
    X: T,
    H_t: T,
    W: T,
    R: T,
    B: T,
    A: T,
    /,
    *,
    hidden_size: int,
    activations: Functions = ("sigmoid", "tanh"),
    activations_alpha: tuple[float, ...] = (),
    activations_beta: tuple[float, ...] = (),
    clip: float = 0.0,
    linear_before_reset: bool = False,
) -> T:
    """The next state `[batch, hidden_size]` of a GRU whose update gate is multiplied by 1 - `A` `[batch, 1]`.

    `X` `[batch, input]`, `H_t` `[batch, hidden_size]`, `W` `[3 hidden_size, input]`, `R` `[3 hidden_size,
    hidden_size]`, `B` `[3 hidden_size]`. C1: the gates have these sizes. C2: the settings are those that the page
    allows: no clipping, sigmoid and tanh, and `linear_before_reset` is false.
    """
    return narrow(_step(*map(widen, (X, H_t, W, R, B, A))), X.dtype)


@operator("AUGRUSequence", _OPSET, tolerance=rounded(64))
def augru_sequence(
    X: T,
    H_t: T,
    sequence_lengths: Annotated[Array, Elements("T2", INDICES)],
    W: T,
    R: T,
    B: T,
    A: T,
    /,
    *,
    direction: Literal["forward"] = "forward",
    **rest: Annotated[Any, AttributesOf(augru_cell)],
) -> tuple[T, T]:
    """All states `[batch, 1, time, hidden_size]` and the last ones `[batch, 1, hidden_size]`.

    `X` `[batch, time, input]`, `H_t` `[batch, 1, hidden_size]`, `A` `[batch, time, 1]`; `W`, `R` and `B` as of
    AUGRUCell after an axis of extent 1. C1 and C2 as AUGRUCell. Steps beyond a sequence are 0, and keep the state.
    """
    x, state, w, r, b, score = map(widen, (X, H_t[:, 0], W[0], R[0], B[0], A))
    lengths = checked_lengths(sequence_lengths, x.shape[1])
    steps = np.zeros((x.shape[0], 1, x.shape[1], state.shape[-1]), state.dtype)
    for number in range(x.shape[1]):
        active = (number < lengths)[:, None]
        made = _step(x[:, number], state, w, r, b, score[:, number])
        state = np.where(active, made, state)
        steps[:, 0, number] = np.where(active, made, 0)
    return narrow(steps, X.dtype), narrow(state[:, None], X.dtype)


def _check_gates(check: Check, gates: dict[str, TensorType], clip: float, linear_before_reset: bool, size: int) -> None:
    for name, given in gates.items():
        # The last axis of the biases are the gates, and the last but one of the weights.
        rows = given.shape[-1 if name == "B" else -2] if given.rank else None
        fits = rows is None or rows.compatible(3 * size)
        check("C1", fits, f"{name} has {rows} rows, expected {3 * size}", port=name)
    check("C2", clip in (0.0, float("inf")), f"clip is {clip:g}, expected 0", attribute="clip")
    check("C2", not linear_before_reset, "linear_before_reset is not supported", attribute="linear_before_reset")


@augru_cell.shapes
def _(
    check: Check,
    X: TensorType,
    H_t: TensorType,
    W: TensorType,
    R: TensorType,
    B: TensorType,
    A: TensorType,
    *,
    hidden_size: int,
    clip: float,
    linear_before_reset: bool,
) -> PartialShape:
    _check_gates(check, {"W": W, "R": R, "B": B}, clip, linear_before_reset, hidden_size)
    batch = X.shape[0] if X.rank else -1
    return PartialShape([batch, hidden_size])


@augru_sequence.shapes
def _(
    check: Check,
    X: TensorType,
    H_t: TensorType,
    sequence_lengths: TensorType,
    W: TensorType,
    R: TensorType,
    B: TensorType,
    A: TensorType,
    *,
    hidden_size: int,
    clip: float,
    linear_before_reset: bool,
) -> list[PartialShape]:
    _check_gates(check, {"W": W, "R": R, "B": B}, clip, linear_before_reset, hidden_size)
    batch, length = (X.shape[0], X.shape[1]) if X.rank else (-1, -1)
    return [PartialShape([batch, 1, length, hidden_size]), PartialShape([batch, 1, hidden_size])]
