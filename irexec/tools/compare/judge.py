"""The judge: whether a result may stand for another, because errors within the tolerances of the layers explain it.

Every value of real numbers, inputs included, is moved by as much as its layer's tolerance allows: all in one direction,
in turn, and at random. What these runs change is rounding; nothing else is.
"""

from __future__ import annotations

import math
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
from irexec.tools.compare.errors import Bounds, Error, measure, within, worst
from irexec.tools.compare.numbers import DRAWS, FUSED
from irexec.tools.compare.tolerances import tolerance_of
from irexec.tools.compare.variants import fitting, narrowed, variants

Computed = Mapping[ElementType, ElementType]
"""The types in which a device computes values of other types."""
DECLARED: Computed = MappingProxyType({})
_HALF_BITS = 16


def judged(
    model: Model,
    steps: Sequence[Sequence[Array]],
    other: Sequence[Array | None],
    tolerance: Tolerance,
    bounds: Bounds | None = None,
) -> tuple[Error, bool]:
    """Return the largest error of the results `other` of the last of these steps, and whether they are within the
    bounds, or within the tolerance of the model and what rounding explains. `other`: None for an output that was not
    observed. Raises IRError.
    """
    error, agrees = measured(Run(model)(steps)[-1].results, other, tolerance, bounds)
    if agrees or bounds is not None:
        return error, agrees
    return error, explains(model, steps, other, most=max(tolerance.ulp, FUSED))


def measured(
    right: Sequence[Array], other: Sequence[Array | None], tolerance: Tolerance, bounds: Bounds | None = None
) -> tuple[Error, bool]:
    """Return the largest error of the results `other`, and whether every element is within the bounds or the tolerance.

    The unit of an element is its own unit in the last place or that of a typical element around it.
    """
    pairs = [(ours, found) for ours, found in zip(right, other, strict=True) if found is not None]
    errors = [measure(ours, found, floor=tolerance.least if bounds is None else 0.0) for ours, found in pairs]
    if bounds is not None:
        return worst(errors), all(within(ours, found, bounds) for ours, found in pairs)
    wrong = [error for error in errors if not error.is_rounding(max(tolerance.ulp, FUSED))]
    return worst(wrong or errors), not wrong


def explains(
    model: Model,
    steps: Sequence[Sequence[Array]],
    found: Sequence[Array | None],
    computed: Computed = DECLARED,
    levels: float = 0.0,
    most: float = math.inf,
) -> bool:
    """Return whether rounding explains the results `found` of the last of these steps, compared with those of the
    model or of a variant that is equally right. `levels`: by how many levels a FakeQuantize may be off. `most`: the
    largest tolerance of a layer. Raises IRError.
    """
    return any(_Draws(variant, steps, computed, levels, most).explain(found) for variant in variants(model))


class _Draws:
    """Runs of a model on steps in which every value is moved by its tolerance."""

    def __init__(
        self, model: Model, steps: Sequence[Sequence[Array]], computed: Computed, levels: float, most: float
    ) -> None:
        self._run, self._steps = Run(model), [fitting(model, step) for step in steps]
        self._computed, self._levels, self._most = computed, levels, most

    def explain(self, found: Sequence[Array | None]) -> bool:
        """Return whether every element of these results of the last step is as close to the model's as a draw's."""
        right, draws = self._run(self._steps)[-1].results, list[list[Array]]()
        pairs = [(index, other) for index, other in enumerate(found) if other is not None]
        if any(right[index].shape != other.shape for index, other in pairs):
            return False
        for moves in self._moves():
            try:
                draws.append(self._run(self._steps, change=moves)[-1].results)
            except IRError:  # A value that was valid, an index for instance, may be invalid if it is moved.
                continue
        return all(
            _is_explained(other, [narrowed(each[index], other.dtype) for each in (right, *draws)], self._computed)
            for index, other in pairs
        )

    def _moves(self) -> Iterator[Moves]:
        """Yield changes of all values: in one direction, in turn, and at random."""
        moved = [*self._moved()]
        for sign, turn in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            yield {value: partial(move, signs=sign * turn**place) for place, (value, move) in enumerate(moved)}
        for seed in range(DRAWS):
            rng = np.random.default_rng(seed)
            yield {value: partial(move, signs=rng) for value, move in moved}

    def _moved(self) -> Iterator[tuple[Value, Callable[..., Array]]]:
        """Yield the values that rounding changes, each with a function of its array and of signs."""
        for value, (tolerance, level) in self._tolerances().items():
            kind = value.element_type
            if kind.is_real:
                lower = self._computed.get(kind, kind)
                # In 16 bits, sums are accumulated in more bits, and rounded once.
                units = min(max(tolerance.ulp, FUSED), self._most) if lower.bitwidth > _HALF_BITS else 1.0
                yield value, partial(_move, kind=lower, units=units, least=tolerance.least, level=level)

    def _tolerances(self) -> dict[Value, tuple[Tolerance, float]]:
        """Return the tolerance of each value, and by how much it may be off besides: a part of a level.

        An input has the tolerance of the layer that reads it: a layer that is exact by itself reads exact inputs.
        """
        model = self._run.model
        constant = constant_nodes(model)
        computing = [node for node in model.nodes if node.inputs and node.type != RESULT]
        nodes = [node for node in computing if node not in constant] or computing
        held = {v: a for node in nodes for v in node.inputs if v is not None and (a := v.node.constant) is not None}
        wanted = {v for node in nodes for v in (*node.inputs, *node.outputs) if v is not None} - held.keys()
        seen = held | self._run(self._steps, see=wanted)[-1].seen
        found: dict[Value, tuple[Tolerance, float]] = {}
        for node in nodes:
            inner = [n for body in node.bodies for n in body.model.walk() if n.inputs and not n.bodies]
            for layer in (n for n in inner or [node] if n.type != RESULT):
                tolerance = tolerance_of(layer, seen)
                is_exact = tolerance.kind == "exact"
                if tolerance.kind == "random" or (is_exact and len(nodes) == 1):
                    continue
                given = [value for value in node.inputs if value in model.inputs and not is_exact]
                found |= dict.fromkeys(given, (tolerance._replace(least=0.0), 0.0))
                found |= dict.fromkeys(layer.outputs, (tolerance, self._levels * _level(layer)))
        return found


def _is_explained(found: Array, results: Sequence[Array], computed: Computed) -> bool:
    """Return whether each element is as close to the first of these results as the others, which are draws; integers
    must be those of a draw.
    """
    ours, *draws = (result for result in results if result.shape == found.shape)
    error, kind = apart(ours, found), ElementType.of(ours.dtype)
    if not kind.is_real:
        return not np.all([error, *(apart(found, draw) for draw in draws)], axis=0).any()
    flat = squeezed(ours)
    scale = np.maximum(np.abs(widened(flat)), Typical(flat)[:]).reshape(ours.shape) if ours.size else 0.0
    spread = np.max([apart(ours, draw) for draw in draws], axis=0, initial=0.0)
    return bool(np.all(error <= FUSED * unit(scale, computed.get(kind, kind)) + spread))


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


def _level(node: Node) -> float:
    """Return the distance of the levels of a FakeQuantize; 0 for other layers, and if it is not known."""
    limits = [given.node.constant for given in node.inputs[3:] if given is not None]
    if Quantization not in node.traits or any(limit is None for limit in limits):
        return 0.0
    most = max(float(np.abs(limit.astype(np.float64)).max(initial=0.0)) for limit in limits if limit is not None)
    return 2 * most / (int(node.attributes["levels"]) - 1)
