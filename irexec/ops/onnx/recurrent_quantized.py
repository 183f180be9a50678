"""LSTM with integer weights; the inputs and states multiplied by them are quantized by their range.

Source: DynamicQuantizeLSTM in ONNX Runtime's list of contributed operators. Batches come first, as in IR.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import F32, I8, U8, Array, PartialShape, TensorType
from irexec.ops.onnx.recurrent import Recurrence, lstm, shapes_of
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.tensors import IntegerTensor1

T: TypeAlias = Annotated[Array, Elements("T", {F32})]
TW: TypeAlias = Annotated[Array, Elements("TW", {U8, I8})]
TR: TypeAlias = Annotated[Array, Elements("TR", {U8, I8})]


# f32 represents all integers up to this number.
_EXACT = 1 << 24


def centred(w: Array, zero: Array) -> Array:
    """Return `w` - `zero` in a float type in which sums of products with 8-bit numbers are exact."""
    weights = w.astype(np.float64) - zero
    largest = 255 * np.abs(weights).max(initial=0) * len(weights)
    return weights.astype(np.float32) if largest <= _EXACT else weights


def quantized(x: Array) -> tuple[Array, np.float32, np.float32]:
    """Quantize `x` to 8 bits by its range including 0; return levels relative to the level of 0, this level, and the
    step.

    The product of a relative level and the step is close to the element of `x`.
    """
    low, high = np.float32(min(x.min(initial=0), 0)), np.float32(max(x.max(initial=0), 0))
    step = (high - low) / np.float32(255) if high > low else np.float32(1)
    middle = np.rint(np.clip(-low / step, 0, 255))
    return np.clip(np.rint(x / step) + middle, 0, 255) - middle, middle, step


def product(x: Array, weights: Array, scale: Array) -> Array:
    """Quantize `x` and multiply it by centred weights and the scale; sums are exact."""
    whole, _, step = quantized(x)
    exact = whole.astype(weights.dtype, copy=False) @ weights
    return np.asarray(exact.astype(np.float32) * (step * scale))


@operator("DynamicQuantizeLSTM", "onnx7", tolerance=rounded(64))
def dynamic_quantize_lstm_7(
    x: T,
    initial_h: T,
    initial_c: T,
    sequence_lens: IntegerTensor1,
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
    """LSTM of ONNX with w [directions, input, 4 * hidden] and r [directions, hidden, 4 * hidden]. C1, C2 as in LSTM.

    Scales and zero points are per direction or per column of a direction.
    """
    # The recurrence weights are the same in each step, so they are centred only once.
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
