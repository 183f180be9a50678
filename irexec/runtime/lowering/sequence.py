"""LSTMSequence, GRUSequence and RNNSequence with constant weights lowered, summed in f32."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.ir.weights.file import release_pages
from irexec.ops.compute.precision import compute_dtype, narrow, widen
from irexec.ops.sequence import gru, lstm, rnn
from irexec.ops.sequence.gru import SequenceGates as GruGates
from irexec.ops.sequence.lstm import SequenceGates as LstmGates
from irexec.ops.sequence.recurrent import Direction, Gates, checked_lengths
from irexec.ops.sequence.rnn import SequenceGates as RnnGates
from irexec.ops.spec.operator import NodeTypes
from irexec.runtime.lowering.llvm.recurrence import Kind
from irexec.runtime.lowering.recurrence import CompiledRecurrence
from irexec.runtime.lowering.table import Lowered, Site, lowers


class LoweredSequence(Lowered):
    """A sequence whose W, R and B are constants."""

    def __init__(self, site: Site, compiled: Callable[..., tuple[Array, ...]]) -> None:
        super().__init__(site)
        self._compiled = compiled

    def takes(self, types: NodeTypes) -> bool:
        return True

    def shape(self, *inputs: Any) -> None:
        return None

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        x, *others = inputs
        if not x.size:
            return self.kernel(*inputs)
        *states, lengths, _, _, _ = others
        found = self._compiled(widen(x), *map(widen, states), checked_lengths(lengths, x.shape[1]))
        return tuple(narrow(array, x.dtype) for array in found)


def _sequence(site: Site, kind: Kind, direction: Direction, gates: Gates, defaults: Sequence[str]) -> Lowered | None:
    weights = tuple([array for array in site.types.constants[-3:] if array is not None and array.size])
    if len(weights) < 3 or compute_dtype(weights[1].dtype) != np.float32:
        return None
    options = direction, gates.activations or defaults, gates.clip

    def make() -> CompiledRecurrence:
        w, r, b = map(widen, weights)
        made = CompiledRecurrence(kind, w, r, b, *options)
        for array in weights:
            # Compiled code uses the weights in another layout.
            release_pages(array)
        return made

    return LoweredSequence(site, site.prepared.of(weights, (kind, options), make))


@lowers(lstm.lstm_sequence_5)
def _(site: Site, *, direction: Direction, gates: LstmGates) -> Lowered | None:
    return _sequence(site, "lstm", direction, gates, lstm.DEFAULTS)


@lowers(gru.gru_sequence_5)
def _(site: Site, *, direction: Direction, gates: GruGates, linear_before_reset: bool) -> Lowered | None:
    return _sequence(site, "gru" if linear_before_reset else "reset_gru", direction, gates, gru.DEFAULTS)


@lowers(rnn.rnn_sequence_5)
def _(site: Site, *, direction: Direction, gates: RnnGates) -> Lowered | None:
    return _sequence(site, "rnn", direction, gates, rnn.DEFAULTS)
