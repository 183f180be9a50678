"""Evidence: the agreement of traces with a description, and conditions and expressions derived from traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from irexec.core.records import record
from irexec.core.structure import READ_VALUE
from irexec.core.types.traced import is_traced
from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.differences import disputed
from irexec.tools.shapes.formulas import Divided, Expression, Extreme, Formula, Formulas, add, divide, extreme, size
from irexec.tools.shapes.formulas import number as constant_formula
from irexec.tools.shapes.guards import guards
from irexec.tools.shapes.paths import Paths
from irexec.tools.shapes.pieces import piecewise
from irexec.tools.shapes.probe import Prober, Refusal, Sizes

# An alternative is proved only if traces decide at least this many of its combinations, or all of them.
_ENOUGH = 8
# The number of combinations at which the model is inferred as after a reset.
_MOST_RESET = 20
# The number of formulas of an output's size that are tried alone and in pairs, and the number tried in threes.
_MOST_FORMULAS, _MOST_JOINED = 24, 12

Alternatives = Sequence[Sequence[Condition]]


@record(frozen=True)
class Refused:
    """The smallest combination that breaks one condition of a list and no other, with its refusal."""

    condition: Condition
    sizes: Sizes
    refusal: Refusal


class Evidence:
    """The combinations that traces decide, with a description of the accepted combinations."""

    def __init__(self, prober: Prober, paths: Paths) -> None:
        self._prober, self._paths = prober, paths
        self._groups = paths.groups
        known = paths.accepted() >= 0
        order = np.argsort(paths.points[known].sum(1), kind="stable")
        self._rows = paths.points[known][order]
        self.points: list[Sizes] = [tuple(row) for row in self._rows.tolist()]
        self._accepted = (paths.accepted()[known] == 1)[order]
        self._pinned = paths.is_pinned()[known][order]
        # Combinations that OpenVINO refuses or may refuse do not count as proved.
        unsure = set(disputed(prober, self.accepted))
        self._pinned |= np.array([sizes in unsure for sizes in self.points], bool)
        self._number = paths.decided[known][order]
        self._known: dict[Condition, np.ndarray[Any, Any]] = {}

    @property
    def accepted(self) -> list[Sizes]:
        return [sizes for sizes, yes in zip(self.points, self._accepted, strict=True) if yes]

    def differing(self, alternatives: Alternatives, groups: Sequence[int]) -> list[Sizes]:
        """Return the decided combinations that contradict the description, the smallest first."""
        holding = np.logical_or.reduce([self._all(each) for each in alternatives] or [np.zeros(len(self.points), bool)])
        wrong = np.flatnonzero((holding & self._equal(groups)) != self._accepted)
        return [self.points[row] for row in wrong]

    def proved(self, alternatives: Alternatives, groups: Sequence[int]) -> list[list[bool]]:
        """Return for each condition whether traces without pinned numbers decide combinations that satisfy it and
        combinations that violate it.
        """
        equal = self._equal(groups)
        holding = [[self._holds(condition) for condition in each] for each in alternatives]
        whole = [np.logical_and.reduce([equal, *each]) for each in holding]
        anywhere = np.logical_or.reduce(whole or [equal])
        sure = self._accepted & ~self._pinned
        proved: list[list[bool]] = []
        for conditions, own, each in zip(alternatives, whole, holding, strict=True):
            is_sure = int(own.sum()) >= _enough([conditions], groups) and bool(sure[own].all())
            proved.append([is_sure and self._is_needed(each, place, equal, anywhere) for place in range(len(each))])
        return proved

    def is_proved(self, alternatives: Alternatives, groups: Sequence[int]) -> bool:
        """Return whether traces without pinned numbers decide every combination, as the description does."""
        is_whole = (
            not self._pinned.any()
            and (self._paths.accepted() >= 0).all()
            and len(self.accepted) >= _enough(alternatives, groups)
        )
        return bool(is_whole) and not self.differing(alternatives, groups)

    def _is_needed(self, holding: list[Any], place: int, equal: Any, anywhere: Any) -> bool:
        others = [each for number, each in enumerate(holding) if number != place]
        beyond = np.logical_and.reduce([equal, ~holding[place], ~anywhere, *others])
        return bool(beyond.any()) and not bool((self._accepted | self._pinned)[beyond].any())

    def refused(self, alternatives: Alternatives, groups: Sequence[int]) -> list[Refused]:
        """Return the smallest combination of sizes that breaks each condition, if possible without breaking another."""
        found: list[Refused] = []
        equal = self._equal(groups)
        for each in alternatives:
            holding = [self._holds(condition) for condition in each]
            for place, condition in enumerate(each):
                others = [own for number, own in enumerate(holding) if number != place]
                broken = equal & ~holding[place] & ~self._accepted
                alone = np.flatnonzero(np.logical_and.reduce([broken, *others]))
                # A condition that follows from other conditions is never broken alone.
                beyond = alone if len(alone) else np.flatnonzero(broken)
                if len(beyond):
                    # Sizes near those of the first accepted combination show the condition best.
                    changed = (self._rows[beyond] != self._paths.points[0]).sum(1)
                    sizes = self.points[beyond[changed.argmin()]]
                    refusal = self._prober.at(sizes).refusal
                    if refusal is not None:
                        found.append(Refused(condition, sizes, refusal))
        return found

    def outputs(self) -> list[list[Expression | None] | None]:
        """Return an expression for each dimension of each output; None if none fits, or the size is unknown."""
        found: list[list[Expression | None] | None] = []
        for number in range(len(self._prober.model.outputs)):
            shapes = [each.outputs[number] for each in self._paths.traces if each.outputs]
            ranks = {None if shape is None else len(shape) for shape in shapes}
            rank = ranks.pop() if len(ranks) == 1 else None
            found.append(None if rank is None else [self._output(number, axis) for axis in range(rank)])
        return found

    def _output(self, number: int, axis: int) -> Expression | None:
        """Return an expression for the size of an output's axis; None if none fits all accepted combinations."""
        found = self._sizes_of(number, axis) or self._first_sizes(number, axis)
        if found is None:
            return None
        rows, sizes = found
        columns = list(self._rows[rows].T)
        leads = sorted(set(self._groups))
        # A simple expression may have the same values at all accepted sizes as the formulas of the traces.
        formulas = [constant_formula(int(sizes[0])), *map(size, leads), *self._formulas(number, axis)]
        tried = [np.broadcast_to(formula.value(columns), len(rows)) for formula in formulas]
        for formula, values in zip(formulas, tried, strict=True):
            if np.array_equal(values, sizes):
                return formula
        for operator, choose in (("max", np.maximum), ("min", np.minimum)):
            # The result of broadcasting has the larger of two sizes, the result of a Slice may have the smaller.
            for count, most in ((2, _MOST_FORMULAS), (3, _MOST_JOINED)):
                for some in combinations(range(len(formulas)), count) if len(formulas) <= most else ():
                    if np.array_equal(choose.reduce([tried[each] for each in some]), sizes):
                        return extreme(operator, *(formulas[each] for each in some))
        below = [each for each, values in enumerate(tried) if each and (values <= np.array(sizes)).all()]
        if below and np.array_equal(np.maximum.reduce([tried[each] for each in below]), sizes):
            for part in list(below):
                rest = [each for each in below if each != part]
                below = rest if rest and (np.maximum.reduce([tried[each] for each in rest]) == sizes).all() else below
            return extreme("max", *(formulas[each] for each in below))
        conditions = dict.fromkeys(
            each for trace in self._paths.traces if trace.outputs for each in guards(trace.tape, self._groups)
        )
        return piecewise(formulas, tried, np.array(sizes), [*conditions], columns)

    def _formulas(self, number: int, axis: int) -> list[Formula]:
        """Return the different formulas of an output's axis in all traces, the simplest first."""
        found: dict[Formula, None] = {}
        for each in self._paths.traces:
            shape = each.outputs[number] if each.outputs else None
            entry: Any = shape[axis] if shape is not None and axis < len(shape) else None
            formula = Formulas(each.tape, self._groups).of(entry.entry) if is_traced(entry) else None
            if formula is None and isinstance(entry, int) and not is_traced(entry):
                formula = constant_formula(entry)
            if formula is not None:
                found.setdefault(formula)
                found.update(dict.fromkeys(_simpler(formula)))
        return sorted(found, key=lambda formula: len(formula.key))[:_MOST_FORMULAS]

    def _sizes_of(self, number: int, axis: int) -> tuple[list[int], list[int]] | None:
        """Return the size of an output's axis at the accepted combinations; None if a trace does not determine it."""
        rows: list[int] = []
        sizes: list[int] = []
        for place, each in enumerate(self._paths.traces):
            own = np.flatnonzero(self._accepted & (self._number == place))
            if not len(own):
                continue
            shape = each.outputs[number]
            if shape is None or axis >= len(shape) or shape[axis] is None:
                return None
            entry = shape[axis]
            found = each.tape.evaluate(self._rows[own])(entry.entry) if is_traced(entry) else entry
            rows += own.tolist()
            sizes += np.broadcast_to(found, len(own)).tolist()
        return (rows, sizes) if rows else None

    def _first_sizes(self, number: int, axis: int) -> tuple[list[int], list[int]] | None:
        """Return the size of an output's axis in the first run after a reset, at some accepted combinations; None if
        the model has no variables, or if the size depends on other values.
        """
        if not any(node.type == READ_VALUE for node in self._prober.changing):
            return None
        rows = np.flatnonzero(self._accepted)[: _MOST_RESET**2 : _MOST_RESET].tolist()
        value = self._prober.model.outputs[number]
        shapes = [self._prober.after_reset(self.points[row])[value].shape for row in rows]
        if any(shape.rank is None or not shape[axis].is_static for shape in shapes):
            return None
        return rows, [shape[axis].value for shape in shapes]

    def _holds(self, condition: Condition) -> np.ndarray[Any, Any]:
        found = self._known.get(condition)
        if found is None:
            holding = np.asarray(condition.holds(list(self._rows.T)), bool)
            found = self._known[condition] = np.broadcast_to(holding, len(self.points))
        return found

    def _all(self, conditions: Sequence[Condition]) -> np.ndarray[Any, Any]:
        return np.asarray(np.logical_and.reduce([np.ones(len(self.points), bool), *map(self._holds, conditions)]))

    def _equal(self, groups: Sequence[int]) -> np.ndarray[Any, Any]:
        return np.asarray((self._rows == self._rows[:, list(groups)]).all(1))


def _simpler(formula: Formula) -> Iterable[Formula]:
    """Return simpler formulas that may have the same value at all accepted sizes."""
    alone = formula.only
    if isinstance(alone, Extreme):
        return alone.parts
    if isinstance(alone, Divided) and alone.operator == "//" and alone.part.constant:
        return [divide(add(alone.part, constant_formula(alone.part.constant), -1), alone.divisor)]
    return ()


def _enough(alternatives: Alternatives, groups: Sequence[int]) -> int:
    """Return the number of accepted combinations that traces must decide: all, if the conditions allow only a few."""
    leads = {group for number, group in enumerate(groups) if group == number}
    count = 0
    for conditions in alternatives:
        choices = dict.fromkeys(leads, _ENOUGH)
        for each in conditions:
            if isinstance(each, OneOf) and each.modulus == 1 and not each.is_choice:
                some = len(each.values)
            elif isinstance(each, Guard) and each.is_single:
                some = 1
            else:
                continue
            if (dim := each.subject) is not None:
                choices[groups[dim]] = min(choices[groups[dim]], some)
        count += prod(choices.values())
    return min(count, _ENOUGH)
