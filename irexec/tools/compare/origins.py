"""Origins: the elements of a layer's inputs on which one element of its result depends, found by experiments.

The kernel runs on f64, with NaN in a block of an input: if the element becomes NaN, it depends on the block, which is
then halved. This works for every kernel that computes with numbers, whether it moves, combines or adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from irexec.core.diagnostics import WrongArgument
from irexec.core.diagnostics.nearest import did_you_mean
from irexec.core.types import Array, ElementType
from irexec.frontends.pages.run import ExampleRun
from irexec.model.arrays.brief import plural, shown_shape
from irexec.model.arrays.plain import json_values
from irexec.model.graph.model import Value
from irexec.ops.spec.operator import Operator
from irexec.tools.run.record import Reference
from irexec.tools.run.run import ModelRun

# The number of runs of a kernel, and the number of elements that all these runs may read or write.
_MOST_RUNS, _MOST_WORK = 4096, 2_000_000_000


class Layer(NamedTuple):
    """A layer that computes a value, its output number `output`. `read`: the layer's names of its inputs."""

    name: str
    operator: Operator
    attributes: dict[str, Any]
    inputs: list[Array | None]
    read: list[str]
    output: int = 0


class Source(NamedTuple):
    """An element of an input on which the result depends. `input` is the layer's name of it, `port` the operator's.

    `effect`: what is lost when the element is 0, which for a sum is its term. `overwritten`: a later update of the same
    place replaced it.
    """

    input: str
    port: str
    place: tuple[int, ...]
    value: Any
    effect: float
    overwritten: bool


class Origins(NamedTuple):
    """The origins of one element: all `sources` in the order of the inputs, or some of them if not `is_complete`."""

    name: str
    place: tuple[int, ...]
    layer: str
    value: float
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
        ports = {source.port for source in used}
        totals = [math.fsum(source.effect for source in used if source.port == port) for port in ports]
        if self.is_complete and len(used) > 1:
            if np.isclose(math.fsum(totals), self.value, 1e-2, 1e-6):
                return f"a sum of {len(used)} terms"
            if np.allclose(totals, self.value, 1e-2, 1e-6):
                return f"a sum of {plural(len(used) // len(ports), 'product')}"
        return f"computed from {plural(len(used), 'value')}" + ("" if self.is_complete else " or more")

    def to_dict(self) -> dict[str, Any]:
        """Return the origins as JSON values."""
        sources = [_plain(source._asdict()) for source in self.sources]
        return _plain(self._asdict() | {"kind": self.kind, "sources": []}) | {"sources": sources}


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: json_values(np.asarray(value)) for name, value in values.items()}


def origins_of(run: ExampleRun | ModelRun, text: str) -> Origins:
    """Return the origins of an element of a layer's or result's value, such as `y[0,3]`. Raises WrongArgument."""
    name, bracket, indices = text.rpartition("[") if text.endswith("]") else (text, "", "")
    try:
        place = tuple(map(int, indices[:-1].split(","))) if bracket else ()
    except ValueError:
        raise WrongArgument(f"{text!r} does not have the form NAME[0,3]") from None
    layers = _layers_of(run) if isinstance(run, ModelRun) else _layers_of_examples(run)
    if name not in layers:
        example = f"name a result and an index, such as {[*layers][-1]}[0]" if layers else "nothing was computed"
        raise WrongArgument(f"no layer computes {name!r}; {did_you_mean(name, layers) or example}")
    return origins(name, place, layers[name]())


def _layers_of(run: ModelRun) -> dict[str, Callable[[], Layer]]:
    given = [entry.array for entry in run.inputs if entry.array is not None]

    def layer(value: Value, operator: Operator) -> Layer:
        inputs = value.node.inputs
        known = Reference(run.model, [given]).record({each for each in inputs if each is not None})[0]
        arrays = [None if each is None else known[each] for each in inputs]
        read = ["" if each is None else each.node.friendly_name for each in inputs]
        return Layer(value.node.friendly_name, operator, value.node.attributes, arrays, read, value.index)

    values: dict[str, Value | None] = {node.friendly_name: node.outputs[0] for node in run.model.nodes if node.outputs}
    for end in run.model.results:
        values |= dict.fromkeys((end.friendly_name, *end.outputs[0].names), end.inputs[0])
    return {
        name: partial(layer, value, value.node.operator)
        for name, value in values.items()
        if value is not None and value.node.operator is not None and value.node.inputs
    }


def _layers_of_examples(run: ExampleRun) -> dict[str, Callable[[], Layer]]:
    layers = []
    for each in run.examples:
        arrays, read = [entry.array for entry in each.inputs], [entry.name for entry in each.inputs]
        for index, out in enumerate(each.outputs):
            if each.operator is not None and out.array is not None:
                layers.append(partial(Layer, each.layer.name, each.operator, each.attributes, arrays, read, index))
    return dict(zip(run.arrays(), layers, strict=True))


def origins(name: str, place: tuple[int, ...], layer: Layer) -> Origins:
    """Return the origins of the element at `place` of a layer's value. Raises WrongArgument if they cannot be found."""
    operator, signature = layer.operator, layer.operator.signature
    arrays = {k: array for k, array in enumerate(layer.inputs) if array is not None and array.size}
    kind = getattr(signature.outputs[min(layer.output, len(signature.outputs) - 1)].elements, "name", None)
    # Indices, shapes and axes keep their values.
    numbers = {
        k: array.astype(np.float64)
        for k, array in arrays.items()
        if ElementType.of(array.dtype).is_real
        or (kind and signature.input(k).elements.name == kind and array.dtype.kind != "T")
    }
    if operator.is_run_by_engine or not numbers:
        raise WrongArgument(f"the values of {operator} are not computed from numbers of its inputs")
    left = min(_MOST_RUNS, _MOST_WORK // (8 * sum(array.size for array in arrays.values())))

    def after(number: int = -1, block: range = range(0), value: float = 0.0, **attributes: Any) -> float:
        """Return the element if a block of an input has another value."""
        changed = {k: array.copy() if k == number else array for k, array in numbers.items()}
        if block:
            changed[number].flat[block.start : block.stop] = value
        inputs = [changed.get(k, array) for k, array in enumerate(layer.inputs)]
        try:
            with np.errstate(all="ignore"):
                made = operator.compute(*inputs, **layer.attributes | attributes)
        except (TypeError, ValueError, IndexError, NotImplementedError) as error:
            raise WrongArgument(f"the kernel of {operator} cannot run on changed values: {error}") from None
        array = np.asarray(made[layer.output] if isinstance(made, (list, tuple)) else made)
        if len(place) != array.ndim or not all(0 <= k < extent for k, extent in zip(place, array.shape, strict=True)):
            raise WrongArgument(f"{name} has the shape {shown_shape(array.shape)} and no element {shown_shape(place)}")
        return float(array[place])

    def dependent(**attributes: Any) -> Iterator[tuple[int, int]]:
        """Yield the elements of the inputs on which the element depends, as (input, position)."""
        nonlocal left
        blocks = [(k, range(array.size)) for k, array in numbers.items()]
        while blocks and left > 0:
            number, block = blocks.pop()
            left -= 1
            if not math.isnan(after(number, block, math.nan, **attributes)):
                continue
            if middle := len(block) // 2:
                blocks += [(number, block[:middle]), (number, block[middle:])]
            else:
                yield number, block.start

    value, last = after(), {*dependent()}
    # With a sum in place of the last update, the element depends on each update of its place.
    every = last | {*dependent(reduction="sum")} if layer.attributes.get("reduction") == "none" else last
    sources = [
        Source(
            layer.read[k],
            signature.port_name(k),
            tuple(map(int, np.unravel_index(position, arrays[k].shape))),
            arrays[k].flat[position],
            value - after(k, range(position, position + 1)),
            (k, position) not in last,
        )
        for k, position in sorted(every)
    ]
    return Origins(name, place, f"{operator} {layer.name}", value, left > 0, sources)
