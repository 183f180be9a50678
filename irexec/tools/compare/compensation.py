"""Compensation: whether the error of a wrong layer reaches the results, or later layers compensate for it.

Weights that are halved and doubled again, or permuted along an axis over which the next product sums, lead to wrong
layers between them, but to the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import ASSIGN, READ_VALUE, RESULT
from irexec.core.types import F32, Array, ElementType
from irexec.model.arrays.units import unit, widened
from irexec.model.graph.cut import readers
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.errors import Error, measure
from irexec.tools.compare.result import Row
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded
from irexec.tools.run.record import Reference

ROUNDING = 256.0
"""The units in the last place of f32 that accumulated rounding of other layers may reach in the results."""
_BITS = 32
# A layer that compensates for its inputs has an own error that exceeds the error of its values by this factor.
_VANISHING = 1024.0
# The same limits if the other side computes in fewer bits, the first in units in the last place of its type.
_NARROW_ROUNDING = _NARROW_VANISHING = 16.0
# The multiple of a difference that still has no effect if a normalization removes it; a small effect would be visible.
_FAR = 1024.0
# The largest number of wrong layers that may have no effect together.
_MOST = 64


class Compensation:
    """The paths from layers to the results of a model, which end at layers whose values agree on both sides.

    `results`: the errors of the model's results, if the other side may have further layers before them. `kind`: the
    element type in which the other side computes.
    """

    def __init__(
        self, model: Model, rows: Sequence[Row], results: Mapping[Node, Error], kind: ElementType = F32
    ) -> None:
        self._rows, self._results = {row.node: row for row in rows}, results
        self._rounding, self._vanishing = ROUNDING, _VANISHING
        if kind is not F32:
            self._rounding, self._vanishing = (
                _NARROW_ROUNDING * float(unit(1.0, kind) / unit(1.0, F32)),
                _NARROW_VANISHING,
            )
        self._variables = {node.attributes.get("variable_id"): node for node in model.nodes if node.type == READ_VALUE}

    def is_compensated(self, row: Row, *, rounded: bool) -> bool:
        """Return whether every path from a layer to a result contains a layer whose values agree. `rounded`: layers on
        the path may round differently, so that small differences remain.
        """
        return self._is_stopped(row.node, lambda known: _is_clean(known, rounded))

    def is_made_up_for(self, row: Row) -> bool:
        """Return whether every path from a layer to a result contains a layer whose own error compensates for the
        errors of its inputs, so that its values agree except for rounding.
        """
        return self._is_stopped(row.node, lambda known: _is_equal(known) or self._makes_up(known))

    def _is_stopped(self, first: Node, stops: Callable[[Row], bool]) -> bool:
        stack, seen = [first], {first}
        while stack:
            node = stack.pop()
            known = self._rows.get(node)
            if known is not None and known.can_differ and stops(known):
                continue
            if node.type == RESULT:
                if not self._is_restored(node):
                    return False
                continue
            for reader in self._readers(node):
                if reader not in seen:
                    seen.add(reader)
                    stack.append(reader)
        return True

    def _is_restored(self, result: Node) -> bool:
        """Return whether a result agrees except for rounding, although the value that it reads does not."""
        known = [self._rows[value.node] for value in result.inputs if value is not None and value.node in self._rows]
        error = self._results.get(result)
        return error is not None and any(self._exceeds(row, row.total, error) for row in known)

    def _makes_up(self, row: Row) -> bool:
        return not row.agrees and row.total is not None and self._exceeds(row, row.own, row.total)

    def _exceeds(self, row: Row, error: Error | None, remaining: Error) -> bool:
        """Return whether an error of a layer is large, but only rounding remains of it after later layers."""
        if error is None or not remaining.is_rounding(self._rounding):
            return False
        kind = row.node.outputs[0].element_type
        return kind.bitwidth >= _BITS and error.ulp >= self._vanishing * max(remaining.ulp, 1.0)

    def _readers(self, node: Node) -> list[Node]:
        if node.type == ASSIGN:
            there = self._variables.get(node.attributes.get("variable_id"))
            return [] if there is None else [there]
        return [user for value in node.outputs for user in value.users]


def _is_clean(row: Row, rounded: bool) -> bool:
    """Return whether the values of a layer, as they are in both runs, differ by no more than rounding."""
    if row.total is None:
        return False
    kind = row.node.outputs[0].element_type
    return row.total.is_rounding(max(row.limit, ROUNDING) if rounded and kind.bitwidth >= _BITS else row.limit)


def _is_equal(row: Row) -> bool:
    return row.total is not None and not row.total


# Differences that unchanged layers, such as normalizations, remove


def removed(reference: Reference, loaded: Loaded, rows: Sequence[Row], results: Sequence[Error]) -> set[Node]:
    """Return the first wrong layers if their errors do not affect the results, apart from rounding: not even errors in
    the same direction that are much larger. `results`: the errors of the results.
    """
    known, ends = {row.node: row for row in rows}, dict(zip(reference.model.results, results, strict=False))
    wrong = {row.node: row for row in rows if not row.agrees}
    found = set[Node]()
    for node in wrong if len(wrong) <= _MOST else ():
        if node in found:
            continue
        affected = _affected(node, known, ends)
        group = {other for other in affected or () if other in wrong}
        if not group or not _has_no_effect(reference, loaded, group, known):
            break
        found |= group
    return found


def _affected(first: Node, rows: Mapping[Node, Row], ends: Mapping[Node, Error]) -> set[Node] | None:
    """Return a layer and those after it whose values differ by more than rounding; None if they reach a result."""
    stack, seen = [first], {first}
    while stack:
        for reader in readers(stack.pop()):
            row = rows.get(reader)
            total = ends.get(reader) if row is None else row.total
            if total is not None and total.is_rounding(ROUNDING):
                continue
            if row is None:
                return None
            if reader not in seen:
                seen.add(reader)
                stack.append(reader)
    return seen


def _has_no_effect(reference: Reference, loaded: Loaded, group: set[Node], rows: Mapping[Node, Row]) -> bool:
    """Return whether the results stay the same, apart from rounding, with the other side's values of a group of wrong
    layers, and with much larger differences in one direction.
    """
    last = [node for node in group if _reaches_the_end(node, group)]
    ends = [result.outputs[0] for result in reference.model.results]
    values = [value for node in last for value in node.outputs]
    if any(not v.element_type.is_real or v.element_type.bitwidth < _BITS for v in (*values, *ends)):
        return False
    try:
        ours, theirs = reference.record(values), loaded.observe(reference.steps, values)
        pairs = [{v: (a[v], b[v]) for v in values} for a, b in zip(ours, theirs, strict=True)]
        remaining = _effect(reference, last, pairs, 1.0)
        owns = [rows[node].own for node in last]
        if any(own is None or own.ulp < _VANISHING * max(remaining, 1.0) for own in owns):
            return False
        far = (_effect(reference, last, pairs, times) for times in (_FAR, -_FAR))
        return remaining <= ROUNDING and any(error <= ROUNDING for error in far)
    except (KeyError, ValueError, CannotRun, IRError):  # A value is not exposed, or has another shape.
        return False


def _reaches_the_end(first: Node, group: set[Node]) -> bool:
    """Return whether a path from a layer to the end of the model contains no other layer of its group."""
    stack, seen = [first], {first}
    while stack:
        node = stack.pop()
        if node.type in (RESULT, ASSIGN):
            return True
        after = {reader for reader in readers(node) if reader not in seen and reader not in group}
        seen |= after
        stack += after
    return False


def _effect(
    reference: Reference, last: Sequence[Node], pairs: Sequence[Mapping[Value, tuple[Array, Array]]], times: float
) -> float:
    """Return the largest error of the results, in units in the last place, if some layers have values that differ from
    irexec's by a multiple of their difference from those of the other side. `pairs`: both values, per step.
    """
    found = reference.changed([{v: _moved(*pair, times) for v, pair in step.items()} for step in pairs])
    both = zip(reference.results(), found, strict=True)
    return max((measure(a, b).ulp for x, y in both for a, b in zip(x, y, strict=True)), default=0.0)


def _moved(ours: Array, theirs: Array, times: float) -> Array:
    if ours.shape != theirs.shape:
        raise ValueError("another shape")
    one, two = widened(ours), widened(theirs)
    with np.errstate(all="ignore"):
        moved: Array = np.where(one == two, one, one + times * (two - one)).astype(ours.dtype)
    return moved
