"""Pairing the results of modules with the corresponding values of the exported model.

Names alone are not enough: exporters fold layers and renumber them. Equal values are paired, up to the first wrong
value of the model (a fault). The wrong value is replaced by the result of a module that may correspond to it, and the
two are paired if later values then equal results of modules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.structure import CONST
from irexec.core.types import BF16, F16, Array
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Model, Node, Value
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.culprit import alone
from irexec.tools.compare.numbers import DEEP, SAME
from irexec.tools.compare.pytorch.samples import NARROW, Sample, sample
from irexec.tools.compare.pytorch.server import Call
from irexec.tools.compare.windows import comparable

_ROOT = "__module"


def module_of(layer: str) -> str:
    """Return the path of a module as written in a layer's name; empty if the name contains none.

    TorchScript: `__module.layer1.0.conv1/aten::_convolution/Convolution`; ONNX: `/layer1/layer1.0/conv1/Conv`, where
    the child of a Sequential repeats the name of its parent.
    """
    scopes = [part for part in layer.split("/")[:-1] if part]
    if scopes and scopes[0].startswith(f"{_ROOT}."):
        return scopes[0][len(_ROOT) + 1 :]
    if not layer.startswith("/"):
        return ""
    parts: list[str] = []
    for scope in scopes:
        if parts and scope.startswith(f"{parts[-1]}."):
            parts[-1] = scope
        else:
            parts.append(scope)
    return ".".join(parts)


def matches(layer: str, paths: Iterable[str]) -> str | None:
    """Return the path of a module, one of `paths`, that a layer's name contains: in full or, if no other path has the
    same end, only its end, because exporters leave out containers that are not called. None without such a path.
    """
    found = module_of(layer)
    if not found:
        return None
    paths = list(paths)
    if found in paths:
        return found
    alike = [path for path in paths if path.endswith(f".{found}")]
    return alike[0] if len(alike) == 1 else None


_FAULTS = 16
"""The maximum number of faults after which pairing continues."""
_CALLS, _CANDIDATES = 8, 8
"""The number of module results that are tried after a fault, and the number of values tried for each result."""


class Made(NamedTuple):
    """A result of a module: the position of the module's call, and the number of the result."""

    call: int
    result: int


Fetch = Callable[[Sequence[Made]], Sequence[Array]]


class Pairs(NamedTuple):
    """The results of modules, each with the value of the model that equals it; `shown` has one module for each value.

    `paired` also contains results that equal a value or a constant of the model in another shape.
    """

    shown: dict[Value, Made]
    paired: set[Made]


def pair(model: Model, inputs: Sequence[Array], calls: Sequence[Call], results: Sequence[Array], fetch: Fetch) -> Pairs:
    """Pair the values of one run of a model with the results of modules. `results`: the network's. `fetch`
    returns the arrays of results of modules. Raises IRError if the model cannot be run."""
    return _Pairing(model, inputs, calls, results, fetch).found()


class _Pairing:
    def __init__(
        self, model: Model, inputs: Sequence[Array], calls: Sequence[Call], results: Sequence[Array], fetch: Fetch
    ) -> None:
        self.model, self.calls, self._fetch = model, calls, fetch
        self._known: dict[Value, Array] = dict(zip(model.inputs, inputs, strict=True))
        self._results = results
        self._whole = Cutter(model)
        self._nodes = comparable(model)
        self._order = {value: place for place, value in enumerate(v for n in self._nodes for v in n.outputs)}
        paths = {call.path for call in calls}
        self._path = {node: matches(node.friendly_name, paths) for node in self._nodes}
        self._made: dict[Made, Sample] = {
            Made(number, index): made
            for number, call in enumerate(calls)
            for index, made in enumerate(call.results)
            if made is not None
        }
        self.pairs: dict[Value, Made] = {}
        self._paired: set[Made] = set()
        narrow = has_narrow_weights(model)
        self._allowed, self._near = (NARROW, NARROW) if narrow else (DEEP, SAME)

    def found(self) -> Pairs:
        samples = self._samples(self.model, list(self._known.values()), self._order)
        self._take(self._equal(samples))
        for _ in range(_FAULTS):
            wrong = self._wrong_results()
            if not wrong or not self._bridge(wrong):
                break
        self._paired |= self._reshaped([*samples.values(), *self._constants()])
        return Pairs(self.pairs, self._paired)

    # Values that are equal

    def _samples(self, model: Model, inputs: Sequence[Array], wanted: Mapping[Value, object]) -> dict[Value, Sample]:
        """Return samples of the values of a run."""
        found: dict[Value, Sample] = {}
        allowed = self._allowed

        class Sampling:
            def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
                """Do nothing: only results are recorded."""

            def after(self, node: Node, inputs: object, outputs: Sequence[Array], seconds: float) -> None:
                for value, array in zip(node.outputs, outputs, strict=False):
                    if value in wanted and (made := sample(array, allowed)) is not None:
                        found[value] = made

        CompiledModel(model).create_infer_request([Sampling()]).infer(list(inputs))
        return found

    def _equal(self, samples: Mapping[Value, Sample]) -> list[tuple[Value, Made]]:
        """Return values that are equal to results of modules which have no pair yet."""
        by_shape: dict[tuple[int, ...], list[Value]] = {}
        for value in samples:
            by_shape.setdefault(samples[value].shape, []).append(value)
        nearest: dict[Value, tuple[float, Made]] = {}
        found: list[tuple[Value, Made]] = []
        for made, theirs in self._made.items():
            if made in self._paired:
                continue
            alike = [value for value in by_shape.get(theirs.shape, ()) if samples[value].is_close(theirs)]
            if alike:
                value = self._best(alike, made)
                found.append((value, made))
                distance = samples[value].distance(theirs) or 0.0
                nearest[value] = min(nearest.get(value, (distance, made)), (distance, made))
        # If a folded normalization changes values little, two results are close to a value: the nearer one is paired.
        # A container has the same result as its last module, which returns first and is paired.
        first = {value: made for value, (_, made) in nearest.items()}
        found = [(v, made) for v, made in found if self._made[made].is_equal(self._made[first[v]])]
        return sorted(found, key=lambda entry: (entry[1] != first[entry[0]], entry[1]))

    def _reshaped(self, samples: Iterable[Sample]) -> set[Made]:
        """Return results with the elements of a value in the same order, but in another shape or as a constant."""
        of_size: dict[int, list[Made]] = {}
        for made, theirs in self._made.items():
            of_size.setdefault(theirs.size, []).append(made)
        of_size = {size: found for size, found in of_size.items() if not self._paired.issuperset(found)}
        found: set[Made] = set()
        for entry in samples:
            flat = [(self._made[made].flat, made) for made in of_size.get(entry.size, ())]
            near = [
                (distance, theirs, made)
                for theirs, made in flat
                if (distance := entry.flat.distance(theirs)) is not None
            ]
            if near:
                nearest = min(near, key=lambda each: each[0])[1]
                found |= {made for _, theirs, made in near if theirs.is_equal(nearest)}
        return found - self._paired

    def _constants(self) -> Iterator[Sample]:
        """Yield samples of the model's constants: exporters store values that depend on no input as constants."""
        for node in self.model.nodes:
            if node.type == CONST and (made := sample(np.asarray(node.constant))) is not None:
                yield made

    def _best(self, values: Sequence[Value], made: Made) -> Value:
        """Return, of several equal values, the value whose name contains the module's name, otherwise the first one."""
        path = self.calls[made.call].path
        named = [value for value in values if self._path[value.node] == path]
        # The last layer of a module computes the module's result.
        return max(named, key=self._order.__getitem__) if named else min(values, key=self._order.__getitem__)

    def _take(self, pairs: Sequence[tuple[Value, Made]]) -> None:
        for value, made in pairs:
            self.pairs.setdefault(value, made)
            self._paired.add(made)

    # Faults

    def _wrong_results(self) -> list[Node]:
        """Return the Results of the model that differ from the network's results if computed from the paired values."""
        ends = [(result, theirs) for result, theirs in zip(self.model.results, self._results, strict=True)]
        wanted = [(r, v, sample(theirs)) for r, theirs in ends for v in r.inputs if v is not None]
        wanted = [entry for entry in wanted if entry[1] in self._order]
        if not wanted:
            return []
        found = self._follow([value for _, value, _ in wanted], {})
        return [
            result
            for result, value, theirs in wanted
            if theirs is not None and not self._is_near(found.get(value), theirs)
        ]

    def _follow(self, ends: Sequence[Value], more: Mapping[Value, Array]) -> dict[Value, Sample]:
        """Return samples of values that can be computed from results of modules and from the values `more`."""
        nodes, begins = self._back(ends, more)
        have = {value: array for value, array in self._known.items() if value in begins} | {
            value: more[value] for value in begins if value in more
        }
        missing = [value for value in begins if value not in have]
        have |= dict(zip(missing, self._fetch([self.pairs[value] for value in missing]), strict=True))
        try:
            order, part = alone(self._whole, sorted(nodes, key=self._whole.order.__getitem__), ends, have)
            results = CompiledModel(part).infer_new_request([have[value] for value in order]).to_tuple()
        except IRError:
            return {}
        made = {value: sample(array, self._allowed) for value, array in zip(ends, results, strict=True)}
        return {value: entry for value, entry in made.items() if entry is not None}

    def _back(self, ends: Sequence[Value], more: Mapping[Value, Array]) -> tuple[set[Node], set[Value]]:
        """Return the layers that compute some values from known values, and these known values."""
        nodes, begins = set[Node](), set[Value]()
        stack = [value.node for value in ends]
        while stack:
            node = stack.pop()
            if node in nodes:
                continue
            nodes.add(node)
            for value in node.inputs:
                if value is None or value.node in self._whole.constant:
                    continue
                if value in self.pairs or value in more or value in self._known:
                    begins.add(value)
                else:
                    stack.append(value.node)
        return nodes, begins

    def _bridge(self, wrong: Sequence[Node]) -> bool:
        """Pair one value so that values after it are equal again; return whether such a value was found."""
        ends = [value for result in wrong for value in result.inputs if value is not None]
        nodes, begins = self._back(ends, {})
        region = sorted((v for node in nodes for v in node.outputs if v in self._order), key=self._order.__getitem__)
        reached = [self.pairs[value].call for value in begins if value in self.pairs]
        first = min(reached, default=-1)
        waiting = [made for made in self._made if made not in self._paired and made.call > first]
        best: tuple[tuple[int, float], list[tuple[Value, Made]]] = (0, 0.0), []
        for made in waiting[:_CALLS]:
            for value in self._candidates(region, made):
                score, pairs = self._tried(value, made, region, wrong)
                if score > best[0]:
                    best = score, pairs
        pairs = best[1] or self._at_the_end(waiting, wrong)
        self._take(pairs)
        return bool(pairs)

    def _at_the_end(self, waiting: Sequence[Made], wrong: Sequence[Node]) -> list[tuple[Value, Made]]:
        """Return a wrong result of the model, paired with the module's result that the network returns. It is needed
        for a wrong last module, which no later value helps to pair. The list is empty if there is no such pair.
        """
        for result, theirs in zip(self.model.results, self._results, strict=True):
            value, expected = result.inputs[0], sample(theirs)
            if result not in wrong or value is None or value in self.pairs or expected is None:
                continue
            found = (made for made in waiting if value in self._candidates([value], made))
            for made in found:
                if self._made[made].is_equal(expected):
                    return [(value, made)]
        return []

    def _candidates(self, region: Sequence[Value], made: Made) -> list[Value]:
        """Return the values that may equal a result of a module; those named after the module first."""
        shape = self._made[made].shape
        path = self.calls[made.call].path
        fitting = [v for v in region if v not in self.pairs and v.type.shape.accepts(shape)]
        return sorted(fitting, key=lambda v: self._path[v.node] != path)[:_CANDIDATES]

    def _tried(
        self, value: Value, made: Made, region: Sequence[Value], wrong: Sequence[Node]
    ) -> tuple[tuple[int, float], list[tuple[Value, Made]]]:
        """Replace a value by a module's result; return how many later values then agree, how closely, and the pairs."""
        given = {value: self._fetch([made])[0]}
        if given[value].dtype != value.element_type.dtype:
            return (0, 0.0), []
        shapes = {self._made[m].shape for m in self._made if m not in self._paired}
        after = self._after(value)
        ends = [v for v in region if v in after and any(v.type.shape.accepts(shape) for shape in shapes)]
        last = [v for result in wrong for v in result.inputs if v is not None and v in after]
        ends = list(dict.fromkeys([*ends, *last]))
        if not ends:
            return (0, 0.0), []
        samples = self._follow(ends, given)
        theirs = dict(zip(self.model.results, self._results, strict=True))
        pairs = [(v, m) for v, m in self._equal(samples) if m != made and m.call > made.call]
        compared = [(v, self._made[m]) for v, m in pairs]
        for result in wrong:
            end, expected = result.inputs[0], sample(theirs[result])
            if end in last and end is not None and expected is not None and self._is_near(samples.get(end), expected):
                compared.append((end, expected))
        distances = [d for v, expected in compared if (d := samples[v].distance(expected)) is not None]
        return (len(distances), -sum(distances)), [(value, made), *pairs]

    def _after(self, value: Value) -> set[Value]:
        """Return the values that depend on a value, excluding the value itself."""
        found, stack = set[Value](), list(value.users)
        seen = set[Node]()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            for output in node.outputs:
                found.add(output)
                stack += output.users
        return found

    def _is_near(self, ours: Sample | None, theirs: Sample) -> bool:
        distance = None if ours is None else ours.distance(theirs)
        return distance is not None and distance <= self._near


def has_narrow_weights(model: Model) -> bool:
    """Return whether the model has real constants in f16 or bf16, to which an exporter may have rounded them."""
    return any(node.type == CONST and node.outputs[0].element_type in (F16, BF16) for node in model.nodes)
