"""DynamicQuantizeLSTM with constant weights lowered: states and inputs are quantized, and sums of bytes are exact."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ops.onnx.recurrent import Recurrence, checked_lengths
from irexec.ops.onnx.recurrent_quantized import dynamic_quantize_lstm_7, quantized
from irexec.runtime.lowering.levels import ELEMENT_BYTES
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.llvm.recurrence import VECTORS
from irexec.runtime.lowering.products import CompiledProduct
from irexec.runtime.lowering.recurrence import CompiledSequence
from irexec.runtime.lowering.sequence import LoweredSequence
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import F32, Work

_ACTIVATIONS = frozenset({"sigmoid", "tanh", "relu"})
# The maximum number of products of unsigned and signed bytes whose sum certainly has at most 31 bits.
_MOST_PRODUCTS = (1 << 31) // (255 * 128) - 1


class _Weights:
    """The differences of 8-bit weights `[D, K, N]` and their zero points, as signed bytes; None if they exceed signed
    bytes.
    """

    def __init__(self, stored: Array, zero: Array, scale: Array) -> None:
        directions, depth, columns = stored.shape
        whole = stored.astype(np.int64) - zero.reshape(directions, 1, -1)
        is_signed = whole.min(initial=0) >= -128 and whole.max(initial=0) <= 127
        self.numbers = whole.astype(np.int8) if is_signed and 0 < depth <= _MOST_PRODUCTS else None
        self.sums = whole.sum(1, dtype=np.int64).astype(np.int32)
        self.scales = np.broadcast_to(scale.reshape(directions, -1).astype(F32), (directions, columns))


class CompiledQuantizedLstm(CompiledSequence):
    def __init__(self, w: _Weights, r: _Weights, b: Array, direction: str, how: Recurrence) -> None:
        assert w.numbers is not None and r.numbers is not None
        directions, units, columns = r.numbers.shape
        super().__init__("quantized_lstm", directions, units, direction, how.activations[:3], how.clip)
        # The contributions of inputs: columns of all directions.
        inputs = np.zeros((-(-w.numbers.shape[1] // ELEMENT_BYTES) * ELEMENT_BYTES, directions * columns), np.int8)
        inputs[: w.numbers.shape[1]] = w.numbers.swapaxes(0, 1).reshape(-1, directions * columns)
        self._depth = len(inputs)
        elements = np.ascontiguousarray(inputs.T).view(F32).T
        none = np.zeros(directions * columns, np.int32)
        self._multiply = CompiledProduct(elements, CompiledProduct.MANY_ROWS, none)
        self._sums, self._scales = w.sums.reshape(-1), w.scales.reshape(-1)
        self._bias = np.ascontiguousarray(b.reshape(directions, 2, -1).sum(1).reshape(-1), F32)
        # The weights of states, packed four to an element, in panels of some units of each gate.
        states = np.zeros((directions, self.padded, columns), np.int8)
        states[:, :units] = r.numbers
        quads = states.reshape(directions, -1, ELEMENT_BYTES, columns).swapaxes(2, 3)
        panels = self._in_panels(np.ascontiguousarray(quads).view(F32)[..., 0])
        columns_of = [self._in_panels(array[:, None]) for array in (r.sums.view(F32), np.ascontiguousarray(r.scales))]
        zeros = np.zeros(self.gates * VECTORS * self.lanes, np.int32)
        self.layer = self.record(panels, 0, 0, columns_of[0], columns_of[1], zeros)

    def _in_panels(self, rows: Array) -> Array:
        """Return `[D, states, gates * units]` as `[D, blocks, states, gates, block]`, with 0 after the last unit."""
        directions, states, _ = rows.shape
        padded = np.zeros((directions, states, self.gates, self.padded), F32)
        padded[..., : self.units] = rows.reshape(directions, states, self.gates, self.units)
        return np.ascontiguousarray(
            padded.reshape(directions, states, self.gates, self.blocks, -1).transpose(0, 3, 1, 2, 4)
        )

    def _project(self, work: Work, rows: Array, out: Array) -> None:
        levels, zero, step = quantized(rows)
        data = np.zeros((len(rows), self._depth), np.uint8)
        np.add(levels, zero, out=data[:, : rows.shape[1]], casting="unsafe")
        starts = self._sums * np.int32(-zero)
        operands = Records.of([[step * self._scales, 1, 1, 1], [self._bias, 1, 1, 1]])
        after = After(np.multiply, "column"), After(np.add, "column")
        self._multiply.tasks(work, data.view(F32), out, after, operands, starts)

    def _more_scratch(self, batch: int) -> int:
        return batch * self.padded // ELEMENT_BYTES

    def _ended(self, lengths: Array, end: Array, initial: Array) -> Array:
        return np.where(lengths[:, None, None] > 0, end, initial)


class LoweredQuantizedLstm(LoweredSequence):
    """A DynamicQuantizeLSTM whose weights are constants."""

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        x, hidden, cell, lengths, *_ = inputs
        if not x.size:
            return self.kernel(*inputs)
        return self._compiled(x, hidden, cell, checked_lengths(lengths, x.shape[1]))


@lowers(dynamic_quantize_lstm_7)
def _(site: Site, *, how: Recurrence, input_forget: bool) -> Lowered | None:
    weights = site.types.constants[4:12]
    if any(array is None or not array.size for array in weights) or input_forget or not compiler().has_bytes:
        return None
    w, r, b, p, w_scale, w_zero, r_scale, r_zero = (array for array in weights if array is not None)
    names = how.activations
    if p.any() or how.alphas or how.betas or not _ACTIVATIONS.issuperset(names) or names[:3] * how.directions != names:
        return None
    inputs, states = _Weights(w, w_zero, w_scale), _Weights(r, r_zero, r_scale)
    if inputs.numbers is None or states.numbers is None:
        return None
    form = "quantized lstm", how.direction, names, how.clip
    constants = w, r, b, w_scale, w_zero, r_scale, r_zero
    made = site.prepared.of(constants, form, lambda: CompiledQuantizedLstm(inputs, states, b, how.direction, how))
    return LoweredQuantizedLstm(site, made)
