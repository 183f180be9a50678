"""Convolutions in bf16 by instructions for pairs of bf16: products are exact, and sums are in f32."""

from __future__ import annotations

from math import prod

from irexec.lowering.convolver import CompiledConvolver
from irexec.lowering.levels import Levels, folded
from irexec.lowering.llvm import compiler
from irexec.lowering.llvm.after import After
from irexec.lowering.llvm.memory import Records
from irexec.lowering.work import Work
from irexec.ops.declare.prepared import Prepared
from irexec.ops.rules.windows import Windows
from irexec.types import BF16, Array


def takes(weights: Array) -> bool:
    """Return whether the machine has instructions for weights `[G, O, I, *K]`. Depthwise convolutions gain nothing."""
    return weights.dtype == BF16.dtype and weights.shape[1:3] != (1, 1) and compiler().has_pairs


class PairConvolver:
    """A convolution with weights in bf16 of data in f32 that are bf16."""

    def __init__(self, batch: int, weights: Array, windows: Windows, prepared: Prepared) -> None:
        groups, _, inputs = weights.shape[:3]
        self._levels = Levels(None, batch * groups, inputs, prod(windows.extents))
        elements = prepared.of((weights,), "folded", lambda: folded(weights))
        self._convolve = CompiledConvolver(batch, elements, windows, prepared, "pairs")

    def tasks(
        self, work: Work, data: Array, out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        self._convolve.tasks(work, self._levels.of(work, data), out, after, operands)
