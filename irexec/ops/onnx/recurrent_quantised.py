"""LSTM whose weights are whole numbers; what they are multiplied with is made whole numbers by its own range.

Source: DynamicQuantizeLSTM in ONNX Runtime's list of contributed operators. Batches come first, as in IR.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.ops.declare.operator import Check, Elements, operator, rounded
from irexec.ops.onnx.recurrent import Recurrence, lstm, shapes_of
from irexec.types import F32, I8, INTEGERS, U8, Array, PartialShape, TensorType

T: TypeAlias = Annotated[Array, Elements("T", {F32})]
T1: TypeAlias = Annotated[Array, Elements("T1", INTEGERS)]
TW: TypeAlias = Annotated[Array, Elements("TW", {U8, I8})]
TR: TypeAlias = Annotated[Array, Elements("TR", {U8, I8})]


# f32 holds whole numbers up to this exactly.
_EXACT = 1 << 24


def centred(w: Array, zero: Array) -> Array:
    """`w` - `zero` as floats in which the sums of products with numbers of 8 bits are exact."""
    weights = w.astype(np.float64) - zero
    largest = 255 * np.abs(weights).max(initial=0) * len(weights)
    return weights.astype(np.float32) if largest <= _EXACT else weights


def product(x: Array, weights: Array, scale: Array) -> Array:
    """`x` as numbers of 8 bits, by its range with 0, times the centred weights and their scale; sums are exact."""
    low, high = np.float32(min(x.min(initial=0), 0)), np.float32(max(x.max(initial=0), 0))
    step = (high - low) / np.float32(255) if high > low else np.float32(1)
    middle = np.rint(np.clip(-low / step, 0, 255))
    whole = np.clip(np.rint(x / step) + middle, 0, 255) - middle
    exact = whole.astype(weights.dtype, copy=False) @ weights
    return np.asarray(exact.astype(np.float32) * (step * scale))


@operator("DynamicQuantizeLSTM", "onnx7", tolerance=rounded(64))
def dynamic_quantize_lstm_7(
    x: T,
    initial_h: T,
    initial_c: T,
    sequence_lens: T1,
    w: TW,
    r: TR,
    b: T,
    p: T,
    w_scale: T,
    w_zero: TW,
    r_scale: T,
    r_zero: TR,
    /,
    *,
    how: Recurrence,
    input_forget: bool = False,
) -> tuple[T, T, T]:
    """LSTM of ONNX with w [directions, input, 4 * hidden] and r [directions, hidden, 4 * hidden]. C1, C2 as there.

    Scales and zero points are of each direction, or of each of its columns.
    """
    # The recurrence multiplies by the same weights in each step.
    recurrent = [centred(*weights) for weights in zip(r, r_zero, strict=True)]
    return lstm(
        x,
        [initial_h, initial_c],
        sequence_lens,
        b,
        p,
        how,
        input_forget,
        project=lambda d: product(x, centred(w[d], w_zero[d]), w_scale[d]),
        recur=lambda d, h: product(h, recurrent[d], r_scale[d]),
    )


@dynamic_quantize_lstm_7.shapes
def _(
    check: Check, x: TensorType, h: TensorType, c: TensorType, *rest: TensorType, how: Recurrence
) -> list[PartialShape]:
    return shapes_of(check, 4, how, x, [h, c], rest, transposed=True)
