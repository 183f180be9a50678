"""The rule that blames: the fewest layers whose errors make the difference, and without whose errors the sides agree.

Both are experiments. The error of a layer is the difference between the other side's result and irexec's for the same
inputs; it is added to the layer's result in a run of irexec. Rounding is what all other errors can produce at random.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import Array, ElementType
from irexec.model.arrays.units import widened
from irexec.model.graph.model import Node, Value
from irexec.tools.compare.delta import fewest
from irexec.tools.compare.errors import Error, measure, worst
from irexec.tools.compare.rounding import Allowance, Results, pairs
from irexec.tools.run.record import Reference

Delta = Mapping[Value, tuple[Array, Array]]
"""The error of a layer: irexec's results for the other side's inputs, and the other side's results."""


class Experiments:
    """irexec's results with the errors of some of the suspects. `suspects`: their errors in each step, in topological
    order. `repaired`: the other side's results with irexec's values of a layer, if that side can be run with them.
    """

    def __init__(
        self,
        reference: Reference,
        suspects: Mapping[Node, Sequence[Delta]],
        repaired: Callable[[Node], Results | None] = lambda _: None,
    ) -> None:
        self._reference, self.suspects, self.repaired = reference, suspects, repaired
        self._known: dict[frozenset[Node], Results | None] = {frozenset(): reference.results()}

    def of(self, some: Iterable[Node]) -> Results | None:
        """Return the results with the errors of these layers; None if the model cannot be run with them."""
        key = frozenset(some)
        if key not in self._known:
            changes = [
                {value: _Added(*pair) for node in key for value, pair in _at(self.suspects[node], step).items()}
                for step in range(len(self._reference.steps))
            ]
            try:
                self._known[key] = self._reference.changed(changes)
            except IRError:  # A value has another shape, for example.
                self._known[key] = None
        return self._known[key]

    def error(self, some: Iterable[Node]) -> Error | None:
        """Return the largest error of the results with the errors of these layers."""
        found = self.of(some)
        return None if found is None else largest(self._reference.results(), found)

    def reproduce(self, some: Iterable[Node], other: Results) -> bool:
        """Return whether the errors of these layers make most of the difference from the other side's results."""
        found = self.of(some)
        return found is not None and 2 * largest(found, other).ulp <= largest(self._reference.results(), other).ulp


def _at(deltas: Sequence[Delta], step: int) -> Delta:
    return deltas[step] if step < len(deltas) else {}


def largest(ours: Results, theirs: Results) -> Error:
    """Return the largest error of results."""
    return worst(measure(a, b) for a, b in pairs(ours, theirs))


class _Added:
    """Adds the error of a layer to its value. A value that is right becomes that of the other side, to the bit."""

    def __init__(self, right: Array, found: Array) -> None:
        self._right, self._found = right, found

    def __call__(self, value: Array) -> Array:
        right, found = self._right, self._found
        if not value.shape == right.shape == found.shape:
            return found
        if not ElementType.of(value.dtype).is_real:
            return np.where(right != found, found, value)
        one, two, wide = widened(right), widened(found), widened(value)
        with np.errstate(all="ignore"):
            moved = np.where((one == two) | ~np.isfinite(two - one), wide, wide + (two - one)).astype(value.dtype)
            is_right = (value == right) | (np.isnan(wide) & np.isnan(one)) | ~np.isfinite(two - one)
        return np.where(is_right, found, moved)


@dataclass(frozen=True, slots=True)
class Blame:
    """Whether the sides agree, and otherwise the layers that are blamed; none if no layers explain the difference."""

    agrees: bool
    nodes: Sequence[Node] = field(default=())


def blame(experiments: Experiments, other: Results, strict: Allowance, loose: Allowance) -> Blame:
    """Return which layers make the other side's results differ.

    `strict`: the rounding of all layers but the suspects; `loose`: that of all layers, since suspects round as well. A
    single layer without whose error only strict rounding remains is blamed however small its error is. Several layers
    are not blamed if the results are within rounding: their errors undo each other, as when weights are halved and
    doubled again.
    """
    if strict.explains(other):
        return Blame(True)
    suspects = [*experiments.suspects]
    every = experiments.reproduce(suspects, other)
    for node in suspects:
        made = every or experiments.reproduce([node], other)
        if made and (_repaired_by(experiments, [node], strict) or _explains(strict, experiments.repaired(node))):
            return Blame(False, [node])
    if loose.explains(other):
        return Blame(True)
    found = fewest(suspects, lambda some: _repaired_by(experiments, some, strict))
    if len(found) == len(suspects):
        found = fewest(suspects, lambda some: _repaired_by(experiments, some, loose))
    return Blame(False, found)


def _repaired_by(experiments: Experiments, some: Collection[Node], allowance: Allowance) -> bool:
    """Return whether the results are within rounding if these layers are right and all other suspects are wrong."""
    return _explains(allowance, experiments.of(node for node in experiments.suspects if node not in some))


def _explains(allowance: Allowance, found: Results | None) -> bool:
    return found is not None and allowance.explains(found)
