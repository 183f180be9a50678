"""The weights of two exports of one network: how far those of the other export are from irexec's, layer by layer."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from irexec.core.structure import STRUCTURAL
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Model, Node, Value
from irexec.runtime.engine.run import Run
from irexec.tools.compare.align import align


def ratios(model: Model, other: Model) -> dict[Node, float]:
    """Return the signal-to-noise ratio, in dB, of the weights of layers whose weights differ in another model.

    Weights are compared as they are computed from packed values, zero points and scales, one matrix at a time.
    """
    found: dict[Node, float] = {}
    forward, cutters = align(model, other).forward, (Cutter(model), Cutter(other))
    for node, there in forward.items():
        for ours, theirs in zip(_weights(node, cutters[0]), _weights(there, cutters[1]), strict=False):
            a, b = (_computed(cutter, value) for cutter, value in zip(cutters, (ours, theirs), strict=True))
            if a.shape == b.shape and not np.array_equal(a, b):
                found[node] = min(found.get(node, math.inf), _ratio(a, b))
    return found


def _weights(node: Node, cutter: Cutter) -> Iterator[Value]:
    """Yield the matrices of constants that a layer reads, if it also reads other values."""
    if node in cutter.constant or node.type in STRUCTURAL:
        return
    for value in node.inputs:
        is_real = value is not None and value.node in cutter.constant and value.element_type.is_real
        if value is not None and is_real and value.type.shape.rank == 2:
            yield value


def _computed(cutter: Cutter, value: Value) -> Array:
    (found,) = Run(cutter.cut((), [value]).model)([[]])[0].results
    return found.astype(np.float32)


def _ratio(signal: Array, other: Array) -> float:
    with np.errstate(all="ignore"):
        power = float(np.square(signal, dtype=np.float64).sum())
        noise = float(np.square(signal.astype(np.float64) - other).sum())
    return 10 * math.log10(power / noise) if 0 < noise < math.inf and power else -math.inf
