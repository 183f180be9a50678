"""The answer: the sizes that a model accepts, as an object with methods for questions, and as JSON."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from irexec.core.arguments import expected
from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.findings import Findings
from irexec.core.display import html_of, text_of
from irexec.core.records import record
from irexec.core.types import PartialShape
from irexec.model.graph.model import Node
from irexec.model.graph.ports import port_name
from irexec.model.inference.inference import Inference
from irexec.tools.shapes.baked import Baked, baked_sizes
from irexec.tools.shapes.conditions import Condition, Guard, OneOf
from irexec.tools.shapes.evidence import Evidence
from irexec.tools.shapes.formulas import Expression, number, size
from irexec.tools.shapes.limits import NO_BOUND, limits
from irexec.tools.shapes.moves import Moves, path_to
from irexec.tools.shapes.names import assignment, symbols
from irexec.tools.shapes.probe import Prober, Refusal, Sizes
from irexec.tools.shapes.study import Study

# The largest size in samples, and the number of combinations that the remarks list.
_LARGEST, _MOST_GAPS = 1 << 12, 3


@record(frozen=True)
class Because:
    """The reason for a restriction: the refusal of a combination of sizes that violates the restriction."""

    symbol: str
    dim: int
    sizes: Sizes
    refusal: Refusal
    path: tuple[Node, ...]


class Shapes:
    """The sizes that a model accepts (the result of `irexec.shapes`).

    `symbols`: the name of each dynamic dimension; equal names mean equal sizes.
    """

    def __init__(self, prober: Prober, found: Study) -> None:
        self._prober, self._study = expected(prober, Prober, "Shapes()"), expected(found, Study, "Shapes()")
        self.model = prober.model
        self.dims = prober.dims
        self._evidence = None if found.paths is None else Evidence(prober, found.paths)
        self.groups = list(range(len(prober.dims))) if found.paths is None else found.paths.groups
        self.alternatives: list[list[Condition]] = found.alternatives
        self._gaps = [] if self._evidence is None else self._evidence.differing(self.alternatives, self.groups)
        self.declared: list[Condition] = _declared_bounds(prober, self.groups, self.alternatives)
        self.symbols = symbols(prober, self.groups)
        self._refused = [] if self._evidence is None else self._evidence.refused(self.alternatives, self.groups)
        self.baked: list[Baked] = baked_sizes(
            prober, [each for each in self._refused if each.condition in self._around_base]
        )

    def __repr__(self) -> str:
        return f"<Shapes: {', '.join(dict.fromkeys(self.symbols)) or 'every dimension is fixed'}; {self.evidence}>"

    def __str__(self) -> str:
        return text_of("Shapes", self)

    def _repr_html_(self) -> str:
        return html_of("Shapes", self)

    @cached_property
    def outputs_expressions(self) -> list[list[Expression | None] | None]:
        """An expression for each dimension of each output; None if none fits, or the size is unknown."""
        if self._evidence is not None:
            return self._evidence.outputs()
        shapes = self._prober.outputs(self.base_sizes) if self.has_sizes else ()
        return [
            None if shape is None else [None if each is None or self.dims else number(each) for each in shape]
            for shape in shapes
        ]

    @cached_property
    def _around_base(self) -> list[Condition]:
        """The first list of conditions that hold at the base."""
        holding = (part for part in self.alternatives if all(each.holds(self.base_sizes) for each in part))
        return next(holding, [])

    @cached_property
    def _moves(self) -> Moves:
        return Moves(self._prober, self.base_sizes, self.groups, self._around_base)

    @property
    def certainty(self) -> list[list[str]]:
        """The certainty of each of `conditions`: "proved" if derived from the comparisons of all layers, or declared,
        else "checked".
        """
        found = [[False] * len(each) for each in self.alternatives]
        if self._evidence is not None:
            found = self._evidence.proved(self.alternatives, self.groups)
        declared = ["proved"] * len(self.declared)
        return [[*("proved" if yes else "checked" for yes in each), *declared] for each in found]

    @property
    def evidence(self) -> str:
        """The evidence for the description: proved, checked, or incomplete."""
        if not self.is_complete:
            return "incomplete"
        is_proved = self._evidence is not None and self._evidence.is_proved(self.alternatives, self.groups)
        return "proved" if is_proved else "checked"

    @property
    def conditions(self) -> list[list[str]]:
        """Lists of conditions: the model accepts sizes for which all conditions of one list hold. Declared bounds are
        last.
        """
        return [[each.text(self.symbols) for each in (*part, *self.declared)] for part in self.alternatives]

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each condition, with the number of its list and its certainty: `pandas.DataFrame(rows)` is a
        table.
        """
        return [
            {"alternative": number, "condition": condition, "certainty": certainty}
            for number, lists in enumerate(zip(self.conditions, self.certainty, strict=True))
            for condition, certainty in zip(*lists, strict=True)
        ]

    @property
    def is_complete(self) -> bool:
        """False if the description contradicts some combinations that were tried, or if the time ran out."""
        return self._study.is_complete and not self._gaps

    @property
    def refusal(self) -> Refusal | None:
        """The refusal at the latest layer that any attempt reached; None if accepted sizes were found."""
        return self._study.refusal

    def accepts(self, shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]]) -> bool:
        """Return whether the model accepts inputs of these shapes, by name or in order.

        The answer follows from the description if this is complete; otherwise the model is inferred at these shapes.
        """
        sizes = self._sizes(shapes)
        if sizes is None:
            return False
        if not self.is_complete:
            return self._prober.accepts(sizes)
        return all(dim.allows(size) for dim, size in zip(self.dims, sizes, strict=True)) and any(
            all(condition.holds(sizes) for condition in each) and self._equal(sizes) for each in self.alternatives
        )

    def outputs(self, shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]]) -> list[PartialShape]:
        """Return the shapes of the outputs for inputs of these shapes. Raises IRError if the model refuses them."""
        sizes = self._sizes(shapes)
        if sizes is None or not self._prober.accepts(sizes):
            findings = Findings(file=self.model.file)
            refusal = None if sizes is None else self._prober.at(sizes).refusal
            if refusal is not None:
                findings.keep(refusal.finding)
            else:
                findings.add("O008", "the shapes do not fit the inputs that the model declares")
            raise IRError(findings.report)
        return list(self._prober.at(sizes).outputs)

    def smallest(self) -> dict[str, tuple[int, ...]]:
        """Return the accepted input shapes with the fewest elements, without empty shapes."""
        return self._named(self.smallest_sizes)

    def sample(self, count: int = 10, seed: int = 0) -> list[dict[str, tuple[int, ...]]]:
        """Return up to `count` different input shapes that the model accepts, chosen at random."""
        chance = random.Random(seed)
        accepted = [sizes for sizes in self.decided_sizes if max(sizes, default=0) <= _LARGEST]
        drawn = dict.fromkeys(chance.choice(accepted) for _ in range(20 * count) if accepted)
        return [self._named(sizes) for sizes in list(drawn)[:count]]

    @property
    def has_sizes(self) -> bool:
        """Whether any sizes were found that the model accepts."""
        return self._study.base is not None

    @property
    def probes(self) -> int:
        """The number of combinations at which the model was inferred."""
        return self._prober.probes

    @property
    def input_names(self) -> list[str]:
        """The names of the inputs."""
        return [port_name(value) for value in self.model.inputs]

    def refusal_at(self, sizes: Sizes) -> Refusal | None:
        """Return the refusal of these sizes of the dynamic dimensions; None if the model accepts them."""
        return self._prober.at(sizes).refusal

    @property
    def leads(self) -> list[int]:
        """The dynamic dimensions whose sizes can be chosen; other sizes follow from these, or are fixed."""
        return self._moves.leads

    def regular_samples(self, leads: Sequence[int], count: int, multiple: int, start: int = 0) -> list[Sizes]:
        """Return accepted combinations of up to `count` sizes of each given lead, preferably multiples of `multiple`.

        Other leads have the sizes of the base. `start`: the first size to use if a lead accepts no such multiple.
        """
        return self._moves.regular(leads, count, multiple, start)

    @cached_property
    def smallest_sizes(self) -> Sizes:
        """The sizes of `smallest`."""
        least = min(self.decided_sizes, key=lambda sizes: (self._moves.elements(sizes), sizes))
        return self._moves.least(least)

    @property
    def decided_sizes(self) -> list[Sizes]:
        """The accepted combinations that traces decided, the smallest first."""
        if self._evidence is not None:
            return self._evidence.accepted
        return [] if self._study.base is None else [self._study.base]

    def broadcasts(self, sizes: Sizes) -> bool:
        """Return whether one of these sizes is 1 beside a larger one with which it is broadcast."""
        choices = [each for part in self.alternatives for each in part if isinstance(each, OneOf) and each.is_choice]
        return any(each.is_broadcast(sizes) for each in choices)

    def types_at(self, sizes: Sizes) -> Inference:
        """Return the types of all values at these sizes."""
        return self._prober.types_at(sizes)

    @property
    def base_sizes(self) -> Sizes:
        """The sizes at which the study of the model began."""
        return self._study.base or ()

    def inputs_at(self, sizes: Sizes) -> list[PartialShape]:
        """Return the shapes of the inputs at these sizes of the dynamic dimensions."""
        return self._prober.inputs_at(sizes)

    def reached(self, number: int) -> list[Node]:
        """Return the layers that depend on the input with this number."""
        return [node for node, bits in self._prober.reached.items() if bits >> number & 1]

    def because(self) -> list[Because]:
        """Return the reasons of the restrictions, one for each symbol and layer, in the order of the dimensions."""
        reasons = [
            *((min(each.condition.dims), each.sizes, each.refusal) for each in self._refused),
            *(self._moves.unequal() if self.has_sizes else ()),
        ]
        found: dict[tuple[str, Node | None], Because] = {}
        for dim, sizes, refusal in reasons:
            because = Because(self.symbols[dim], dim, sizes, refusal, path_to(self._prober, dim, refusal))
            found.setdefault((because.symbol, refusal.node), because)
        return sorted(found.values(), key=lambda each: each.dim)

    def limits(self) -> list[str]:
        """Return sentences about cases that the answer does not cover, and about side effects of accepted sizes."""
        reasons = [(each.sizes, each.refusal) for each in self.because()]
        gaps = self._gaps[:_MOST_GAPS]
        return limits(self._study, self.symbols, self.outputs_expressions, self.decided_sizes, reasons, gaps)

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values; see docs/commands/shapes.md for the keys."""
        return {
            "dims": [{"id": f"{number}.{axis}", "symbol": name} for (number, axis), name in self._places()],
            "accepts": self.conditions,
            "outputs": [
                ["?" if each is None else _plain(each.text(self.symbols)) for each in shape]
                if shape is not None
                else "?"
                for shape in self.outputs_expressions
            ],
            "inputs": [
                {"name": name, "type": str(value.element_type), "shape": self.input_text(number)}
                for number, (name, value) in enumerate(zip(self.input_names, self.model.inputs, strict=True))
            ],
            "because": [
                {
                    "symbol": each.symbol,
                    **each.refusal.to_dict(),
                    "refused": self.assignment(each.sizes),
                    "path": [node.friendly_name for node in each.path],
                }
                for each in self.because()
            ],
            "smallest": {name: list(shape) for name, shape in self.smallest().items()} if self.has_sizes else None,
            "baked": [each.to_dict(self.symbols) for each in self.baked],
            "certainty": self.certainty,
            "evidence": self.evidence,
            "limits": self.limits(),
            "probes": self._prober.probes,
        }

    def input_text(self, number: int) -> list[int | str]:
        """Return the shape of an input with symbols for its dynamic dimensions."""
        names = {axis: name for (input, axis), name in self._places() if input == number}
        return [names.get(axis, extent.min) for axis, extent in enumerate(self._prober.shapes[number])]

    def _places(self) -> list[tuple[tuple[int, int], str]]:
        """Return the input and the axis of each dynamic dimension, in order, with its symbol."""
        return sorted((place, name) for dim, name in zip(self.dims, self.symbols, strict=True) for place in dim.places)

    def assignment(self, sizes: Sizes) -> dict[str, int]:
        """Return sizes by symbol; a dimension that does not have the size of its symbol has its own entry."""
        return assignment(self._prober, self.symbols, sizes)

    def _equal(self, sizes: Sizes) -> bool:
        return all(sizes[number] == sizes[group] for number, group in enumerate(self.groups))

    def _named(self, sizes: Sizes) -> dict[str, tuple[int, ...]]:
        shapes = self._prober.inputs_at(sizes)
        named = zip(self.input_names, shapes, strict=True)
        return {name: shape.to_shape() for name, shape in named}

    def _sizes(self, shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]]) -> Sizes | None:
        """Return the sizes of the dynamic dimensions; None if a shape contradicts the declared shape."""
        given = self._given(shapes)
        for shape, declared in zip(given, self._prober.shapes, strict=True):
            if not PartialShape(list(shape)).compatible(declared):
                return None
        if any(len({given[number][axis] for number, axis in dim.places}) > 1 for dim in self.dims):
            return None
        return tuple(int(given[dim.input][dim.axis]) for dim in self.dims)

    def _given(self, shapes: Mapping[str, Sequence[int]] | Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
        """Return the shape of each input. Raises TypeError and ValueError."""
        each = shapes.values() if isinstance(shapes, Mapping) else shapes
        if not isinstance(each, Iterable) or any(isinstance(s, str) or not isinstance(s, Iterable) for s in each):
            form = ", ".join(f"{name!r}: [...]" for name in self.input_names)
            raise TypeError(f"expected the shapes as a dict, {{{form}}}, or as a list with one shape for each input")
        if isinstance(shapes, Mapping):
            names = self.input_names
            unknown = [name for name in shapes if name not in names]
            if unknown:
                raise ValueError(f"the model has no input {unknown[0]!r}; its inputs are {', '.join(names)}")
            known = [*zip(names, self._prober.shapes, strict=True)]
            if missing := [name for name, shape in known if name not in shapes and shape.is_dynamic]:
                raise ValueError(f"the shape of {missing[0]!r} is missing")
            given = [tuple(shapes[name]) if name in shapes else shape.to_shape() for name, shape in known]
        else:
            given = [tuple(shape) for shape in shapes]
        if len(given) != len(self._prober.shapes):
            raise ValueError(f"{len(given)} shapes are given, the model has {len(self._prober.shapes)} inputs")
        return given


def _plain(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text


def _declared_bounds(
    prober: Prober, groups: Sequence[int], alternatives: Sequence[Sequence[Condition]]
) -> list[Condition]:
    """Return the declared bounds as conditions, except for bounds that every alternative narrows."""
    found: list[Condition] = []
    for lead in sorted(set(groups)):
        dims = [dim for dim, group in zip(prober.dims, groups, strict=True) if group == lead]
        low = max(dim.low for dim in dims)
        high = min((dim.high for dim in dims if dim.high is not None), default=NO_BOUND)
        for operator, bound, is_bound in ((">=", low, low > 1), ("<=", high, high < NO_BOUND)):
            if is_bound and not all(any(_bounds(each, lead, operator) for each in part) for part in alternatives):
                found.append(Guard(size(lead), operator, number(bound)))
    return found


def _bounds(condition: Condition, dim: int, operator: str) -> bool:
    """Return whether a condition is a bound of a dimension in this direction, or lists its sizes."""
    if condition.subject != dim or condition.dims != {dim}:
        return False
    if isinstance(condition, Guard):
        return condition.left == size(dim) and condition.modulus == 1 and condition.operator in (operator, "==")
    return isinstance(condition, OneOf) and condition.modulus == 1
