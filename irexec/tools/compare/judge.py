"""The judge: whether a result may stand for another, because errors within the tolerances of the layers explain it.

Every value of real numbers, inputs included, is moved by as much as its layer's tolerance allows: all in one direction,
in turn, and at random. What these runs change is rounding; nothing else is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import RESULT
from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import Typical, apart, squeezed, unit, widened
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.model import Model, Node, Value
from irexec.ops.spec.operator import Tolerance
from irexec.ops.spec.traits import Quantization
from irexec.runtime.engine.run import Run
from irexec.runtime.engine.runner import Moves
from irexec.tools.compare.tolerances import FUSED, tolerance_of
from irexec.tools.compare.variants import fitting, narrowed, variants

Computed = Mapping[ElementType, ElementType]
"""The types in which a device computes values of other types."""
DECLARED: Computed = MappingProxyType({})
_RANDOM = 4
"""The number of random draws."""
_TIMES = 1.0
"""The multiple of the largest change in the draws that rounding explains."""


def explains(
    model: Model, steps: Sequence[Sequence[Array]], found: Sequence[Array], computed: Computed = DECLARED
) -> bool:
    """Return whether rounding explains the results `found` of the last of these steps, compared with those of the
    model or of a variant that is equally right. Raises IRError.
    """
    return any(_explains(variant, steps, found, computed) for variant in variants(model))


def _explains(model: Model, steps: Sequence[Sequence[Array]], found: Sequence[Array], computed: Computed) -> bool:
    run, draws, kinds = Run(model), list[list[Array]](), [array.dtype for array in found]
    steps = [fitting(model, step) for step in steps]
    right = narrowed(run(steps)[-1].results, kinds)
    if any(a.shape != b.shape for a, b in zip(right, found, strict=True)):
        return False
    for moves in _moves(run, steps, computed):
        try:
            draws.append(narrowed(run(steps, change=moves)[-1].results, kinds))
        except IRError:  # A value that was valid, an index for instance, may be invalid if it is moved.
            continue
    return all(
        _is_explained(ours, other, [draw[index] for draw in draws], computed)
        for index, (ours, other) in enumerate(zip(right, found, strict=True))
    )


def _is_explained(ours: Array, found: Array, draws: Sequence[Array], computed: Computed) -> bool:
    """Return whether each element is as close as the draws; integers must be those of a draw."""
    error, draws = apart(ours, found), [draw for draw in draws if draw.shape == ours.shape]
    kind = ElementType.of(ours.dtype)
    if not kind.is_real:
        return not np.all([error, *(apart(found, draw) for draw in draws)], axis=0).any()
    flat = squeezed(ours)
    scale = np.maximum(np.abs(widened(flat)), Typical(flat)[:]).reshape(ours.shape) if ours.size else 0.0
    spread = np.max([apart(ours, draw) for draw in draws], axis=0, initial=0.0)
    return bool(np.all(error <= FUSED * unit(scale, computed.get(kind, kind)) + _TIMES * spread))


def _moves(run: Run, steps: Sequence[Sequence[Array]], computed: Computed) -> Iterator[Moves]:
    """Yield changes of all values: in one direction, in turn, and at random."""
    values = _values(run, steps)
    signs = [(sign, turn) for turn in (1, -1) for sign in (1, -1)]
    for sign, turn in signs:
        yield {v: partial(move, signs=sign * turn**place) for place, (v, move) in enumerate(_moved(values, computed))}
    for seed in range(_RANDOM):
        rng = np.random.default_rng(seed)
        yield {v: partial(move, signs=rng) for v, move in _moved(values, computed)}


def _values(run: Run, steps: Sequence[Sequence[Array]]) -> dict[Value, tuple[Tolerance, float]]:
    """Return the tolerance of each value, and half the distance of the levels to which it is rounded, if any. An input
    has the tolerance of the layer that reads it: a layer that is exact by itself reads exact inputs.
    """
    model, constant = run.model, constant_nodes(run.model)
    computing = [node for node in model.nodes if node.inputs and node.type != RESULT]
    nodes = [node for node in computing if node not in constant] or computing
    held = {v: a for node in nodes for v in node.inputs if v is not None and (a := v.node.constant) is not None}
    seen = held | run(steps, see={v for node in nodes for v in (*node.inputs, *node.outputs) if v is not None})[-1].seen
    found: dict[Value, tuple[Tolerance, float]] = {}
    for node in nodes:
        for inner in [n for body in node.bodies for n in body.model.walk() if n.inputs and not n.bodies] or [node]:
            tolerance = tolerance_of(inner, seen)
            if tolerance.kind == "random" or inner.type == RESULT or (tolerance.kind == "exact" and len(nodes) == 1):
                continue
            given = [value for value in node.inputs if value in model.inputs and tolerance.kind != "exact"]
            found |= dict.fromkeys(given, (tolerance._replace(least=0.0), 0.0))
            found |= dict.fromkeys(inner.outputs, (tolerance, _half_a_level(inner) if len(nodes) > 1 else 0.0))
    return found


def _moved(
    values: Mapping[Value, tuple[Tolerance, float]], computed: Computed
) -> Iterator[tuple[Value, Callable[..., Array]]]:
    for value, (tolerance, level) in values.items():
        kind = value.element_type
        if kind.is_real:
            lower = computed.get(kind, kind)
            units = max(tolerance.ulp, FUSED) if lower is kind else FUSED  # Sums are accumulated in more bits.
            yield value, partial(_move, kind=lower, units=units, least=tolerance.least, level=level)


def _move(
    array: Array, signs: int | np.random.Generator, kind: ElementType, units: float, least: float, level: float
) -> Array:
    wide = widened(array)
    chosen = signs if isinstance(signs, int) else signs.choice((-1.0, 1.0), wide.shape)
    with np.errstate(all="ignore"):
        step = units * unit(np.maximum(np.abs(wide), least), kind) + level
        moved = (wide + chosen * step).astype(array.dtype)
        # Exact zeros, such as masks and padding, infinities, and the limits of a type are intended.
        is_intended = ((wide == 0) & (least + level == 0)) | ~np.isfinite(widened(moved))
    return np.where(is_intended, array, moved)


def _half_a_level(node: Node) -> float:
    """Return by how much a FakeQuantize may be off among other layers: OpenVINO rounds zero points."""
    limits = [given.node.constant for given in node.inputs[3:] if given is not None]
    if Quantization not in node.traits or any(limit is None for limit in limits):
        return 0.0
    most = max(float(np.abs(limit.astype(np.float64)).max(initial=0.0)) for limit in limits if limit is not None)
    return most / (int(node.attributes["levels"]) - 1)
