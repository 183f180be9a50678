"""Origins: the elements of a layer's inputs on which one element of its output depends, found by experiments.

The kernel runs on f64, with NaN in a block of an input: if the element becomes NaN, it depends on the block, which is
then halved. This works for every kernel that computes with numbers, whether it moves, combines or adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from irexec.core.diagnostics import WrongArgument
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.records import fields, record
from irexec.core.types import Array, ElementType
from irexec.frontends.pages.run import ExampleRun
from irexec.model.arrays.brief import plural, shown_shape
from irexec.model.arrays.plain import json_values
from irexec.model.graph.model import Model
from irexec.model.graph.ports import find
from irexec.ops.spec.operator import Operator
from irexec.ops.spec.signature import TypeFrom
from irexec.tools.run.record import Reference

# The number of runs of a kernel, and the number of elements that all these runs may read or write.
_MOST_RUNS, _MOST_WORK = 4096, 2_000_000_000


@record(frozen=True)
class Source:
    """An element of an input on which the result depends. `input` is the layer's name of it, `port` the operator's.

    `effect`: what is lost when the element is 0, which for a sum is its term. `overwritten`: a later update of the same
    place replaced it.
    """

    input: str
    port: str
    place: tuple[int, ...]
    value: Any
    effect: float
    overwritten: bool = False


@record(frozen=True)
class Origins:
    """The origins of one element: all `sources` in the order of the inputs, or some of them if not `is_complete`.

    `layer`: the operator and the layer.
    """

    name: str
    place: tuple[int, ...]
    layer: str
    value: Any
    is_complete: bool
    sources: list[Source]

    @property
    def kind(self) -> str:
        """How the element results from its sources, in a few words."""
        used = [source for source in self.sources if not source.overwritten]
        if not used:
            return "does not depend on the values of the inputs"
        if len(used) == 1 and used[0].value == self.value:
            return "moved"
        by_port: dict[str, list[float]] = {}
        for source in used:
            by_port.setdefault(source.port, []).append(source.effect)
        if self.is_complete and len(used) > 1:
            if self._is_total(source.effect for source in used):
                return f"a sum of {len(used)} terms"
            if len(by_port) > 1 and all(map(self._is_total, by_port.values())):
                return f"a sum of {plural(len(next(iter(by_port.values()))), 'product')}"
        return f"computed from {plural(len(used), 'value')}" + ("" if self.is_complete else " or more")

    def _is_total(self, terms: Iterable[float]) -> bool:
        return math.isclose(math.fsum(terms), float(self.value), rel_tol=1e-2, abs_tol=1e-6)

    def to_dict(self) -> dict[str, Any]:
        """Return the origins as JSON values."""
        sources = [_values_of(source) for source in self.sources]
        return _values_of(self) | {"kind": self.kind, "sources": sources}


def _values_of(part: Source | Origins) -> dict[str, Any]:
    values = {field.name: getattr(part, field.name) for field in fields(part) if field.name != "sources"}
    return {name: json_values(np.asarray(value)) for name, value in values.items()}


def place_of(text: str) -> tuple[str, tuple[int, ...]]:
    """Return the name and the indices of `y[0,3]`; no indices for the name alone. Raises WrongArgument."""
    name, bracket, indices = text.partition("[") if text.endswith("]") else (text, "", "")
    try:
        place = tuple(int(part) for part in indices.removesuffix("]").split(",")) if bracket else ()
    except ValueError:
        raise WrongArgument(f"{text!r} does not have the form NAME[0,3]") from None
    return name, place


def origins_in(model: Model, inputs: Sequence[Array], text: str) -> Origins:
    """Return the origins of an element of a model's value, such as `y[0,3]`. Raises WrongArgument."""
    name, place = place_of(text)
    number = find(model.outputs, name)
    value = model.results[number].inputs[0] if number is not None else None
    nodes = {node.friendly_name: node for node in model.nodes if node.outputs}
    if value is None and name in nodes:
        value = nodes[name].outputs[0]
    if value is None:
        hint = did_you_mean(name, [*(port.any_name for port in model.outputs), *nodes])
        raise WrongArgument(f"the model has no result or layer {name!r}{f': {hint}' if hint else ''}")
    node = value.node
    if node.operator is None or not node.inputs:
        raise WrongArgument(f"{name} ({node.type}) is not computed")
    read = [each for each in node.inputs if each is not None and each.node.held is None]
    known = Reference(model, [list(inputs)]).record({*read, value})[0]
    arrays = [
        None if each is None else known[each] if each in known else np.asarray(each.node.constant)
        for each in node.inputs
    ]
    names = ["" if each is None else each.node.friendly_name for each in node.inputs]
    found = known.get(value)
    if found is not None:
        check_place(name, place, found.shape)
    layer = f"{node.operator} {node.friendly_name}"
    return origins(node.operator, arrays, node.attributes, value.index, place, (name, layer, names))


def origins_of_example(run: ExampleRun, text: str) -> Origins:
    """Return the origins of an element of a snippet's result, such as `output[0,3]`. Raises WrongArgument."""
    name, place = place_of(text)
    results = run.arrays()
    if name not in results:
        raise WrongArgument(f"there is no result {name!r}; the results are {', '.join(results)}")
    check_place(name, place, np.shape(results[name]))
    every = [
        (example, index)
        for example in run.examples
        for index, out in enumerate(example.outputs)
        if out.array is not None
    ]
    example, index = every[[*results].index(name)]
    assert example.operator is not None
    arrays, read = [entry.array for entry in example.inputs], [entry.name for entry in example.inputs]
    layer = f"{example.operator} {example.layer.name}"
    return origins(example.operator, arrays, example.attributes, index, place, (name, layer, read))


def check_place(name: str, place: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise WrongArgument if an array of this shape has no such element."""
    if len(place) != len(shape) or not all(0 <= index < extent for index, extent in zip(place, shape, strict=True)):
        raise WrongArgument(f"{name} has the shape {shown_shape(shape)} and no element {shown_shape(place)}")


def origins(
    operator: Operator,
    inputs: Sequence[Array | None],
    attributes: dict[str, Any],
    output: int,
    place: tuple[int, ...],
    names: tuple[str, str, list[str]],
) -> Origins:
    """Return the origins of the element at `place` of an output. `names`: those of the value, the layer, its inputs.

    Raises WrongArgument if they cannot be found.
    """
    runs = [_Experiments(operator, inputs, attributes, output, place)]
    if attributes.get("reduction") == "none":
        # With a sum in place of the last update, the result depends on each update of its place.
        runs.append(_Experiments(operator, inputs, attributes | {"reduction": "sum"}, output, place))
    (ran, found), *more = [(each, each.dependent()) for each in runs]
    name, layer, read = names
    sources = [
        Source(
            read[number],
            operator.signature.port_name(number),
            tuple(map(int, np.unravel_index(flat, array.shape))),
            array.reshape(-1)[flat],
            ran.effect(number, flat),
            (number, flat) not in found,
        )
        for number, flat in sorted(found.union(*(also for _, also in more)))
        if (array := inputs[number]) is not None
    ]
    return Origins(name, place, layer, ran.value, all(each.is_complete for each in runs), sources)


class _Experiments:
    """Runs of one kernel on changed inputs."""

    def __init__(
        self,
        operator: Operator,
        inputs: Sequence[Array | None],
        attributes: dict[str, Any],
        output: int,
        place: tuple[int, ...],
    ) -> None:
        self._operator, self._output, self._place = operator, output, place
        self._bound = operator.bind(attributes)
        own = operator.signature.outputs[min(output, len(operator.signature.outputs) - 1)].elements
        kinds = None if isinstance(own, TypeFrom) else own.name
        # Indices, shapes and axes keep their values.
        self._numbers = {
            k: array.astype(np.float64)
            for k, array in enumerate(inputs)
            if array is not None
            and array.dtype.kind != "T"
            and (ElementType.of(array.dtype).is_real or (kinds and operator.signature.input(k).elements.name == kinds))
        }
        if operator.is_run_by_engine or not self._numbers:
            raise WrongArgument(f"the values of {operator} are not computed from numbers of its inputs")
        self._inputs = [self._numbers.get(k, array) for k, array in enumerate(inputs)]
        self.is_complete, self._runs = True, 0
        self.value = self._run(self._inputs)
        read = sum(array.size for array in inputs if array is not None)
        self._most = max(8, min(_MOST_RUNS, _MOST_WORK // max(1, 8 * read)))

    def _run(self, inputs: Sequence[Array | None]) -> float:
        try:
            with np.errstate(all="ignore"):
                made = self._operator.kernel(*inputs, **self._bound)
            array = np.asarray(made[self._output] if isinstance(made, (list, tuple)) else made)
            return float(array[self._place])
        except (TypeError, ValueError, IndexError, NotImplementedError) as error:
            raise WrongArgument(f"the kernel of {self._operator} cannot run on changed values: {error}") from None

    def _with(self, number: int, begin: int, end: int, value: float) -> float:
        """Return the element when some elements of an input have another value."""
        changed = self._numbers[number].copy()
        changed.reshape(-1)[begin:end] = value
        self._runs += 1
        return self._run([changed if k == number else other for k, other in enumerate(self._inputs)])

    def dependent(self) -> set[tuple[int, int]]:
        """Return the elements on which the result depends, as (input, position)."""
        found: set[tuple[int, int]] = set()
        blocks = [(k, 0, array.size) for k, array in self._numbers.items() if array.size]
        while blocks:
            if self._runs >= self._most:
                self.is_complete = False
                break
            number, begin, end = blocks.pop()
            if not math.isnan(self._with(number, begin, end, math.nan)):
                continue
            if end - begin == 1:
                found.add((number, begin))
            else:
                middle = (begin + end) // 2
                blocks += [(number, begin, middle), (number, middle, end)]
        return found

    def effect(self, number: int, flat: int) -> float:
        """Return what the element loses when an element of an input is 0."""
        return self.value - self._with(number, flat, flat + 1, 0.0)
