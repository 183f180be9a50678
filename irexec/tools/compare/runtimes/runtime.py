"""Runtimes: other programs that run a model, with or without exposing the values of its layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar, cast

from irexec.core.diagnostics import IRError, Refusal
from irexec.core.structure import PARAMETER
from irexec.core.types import Array, PartialShape
from irexec.model.arrays.brief import shown_shape
from irexec.model.graph.cut import Cutter
from irexec.model.graph.model import Model, Node, Value
from irexec.runtime.engine import CompiledModel
from irexec.tools.compare.align import Alignment, align
from irexec.tools.compare.layer_pairs import LayerPairs, Relation
from irexec.tools.cut.extract import Extract, give_types
from irexec.tools.run.record import Reference

Steps = Sequence[Sequence[Array]]
M = TypeVar("M", bound=Model)


class CannotRun(Refusal, RuntimeError):
    """Raised if a runtime is not available or cannot run a model; the message gives the reason.

    `code`: the code of the finding that a command reports.
    """

    def __init__(self, message: str, code: str = "U010") -> None:
        super().__init__(message)
        self.code = code


class CannotWrite(CannotRun):
    """A model that IR cannot express, so that it cannot be written for another runtime."""


class Failed(CannotRun):
    """A runtime that began to run the model and ended with an error in a layer; earlier values can be observed."""

    def __init__(self, layer: str, message: str) -> None:
        super().__init__(message)
        self.layer = layer


class Died(CannotRun):
    """A runtime that ended its process (`how` is "crash") or gave no answer in time ("hang")."""

    def __init__(self, how: str, message: str) -> None:
        super().__init__(message)
        self.how = how


class Loaded:
    """A model loaded in another runtime. Every call starts from the initial state and runs `steps` in order. A runtime
    defines `results` and `observe`; the rest says by default that it cannot.

    `precision`: the type in which the runtime computes, if it reports one. `repeats`: every run computes the same
    values, whichever layers are observed, as runs by irexec do. `layer_pairs`: the relations of the layers to those of
    the first model, if irexec runs this model as well, so that its layers can be compared without noise. `has_modules`:
    it consists of modules, as networks of PyTorch do.
    """

    precision: str = ""
    repeats: bool = False
    layer_pairs: LayerPairs | None = None
    has_modules: bool = False

    @cached_property
    def about(self) -> dict[str, str]:
        """How it runs the model: devices, instruction sets, precisions and settings."""
        return {}

    def results(self, steps: Steps) -> list[list[Array]]:
        """Return the model's results, per step, without exposing any layer. Raises CannotRun."""
        raise NotImplementedError

    def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
        """Return the runtime's results for these values of the model, per step; values that it does not expose are
        omitted.

        A mapping may fetch its arrays when they are read.
        """
        raise NotImplementedError

    def several(self, step: Mapping[Value, Array], values: Sequence[Value]) -> dict[Value, Array]:
        """Return the arrays of some of the observed values of a step."""
        return {value: step[value] for value in values}

    def observe_with_results(
        self, steps: Steps, values: Sequence[Value | None]
    ) -> list[list[tuple[Array, Array | None]]] | None:
        """Return, for each step, the model's results and these values, from one run, since a run that exposes more
        values may round differently; None for unknown values. Raises CannotRun."""
        return None

    def fused(self) -> list[list[str]]:
        """Return groups of names: the layers of each group run as one."""
        return []

    def states(self, steps: Steps) -> list[dict[str, Array]]:
        """Return the variables after each step, by `variable_id`, without exposing any layer."""
        return [{} for _ in steps]

    def changed(self, steps: Steps, values: Sequence[Mapping[Value, Array]]) -> list[list[Array]] | None:
        """Return the results if layers have these values of the first model, per step; None if it cannot be run."""
        return None

    def observe_changed(
        self, steps: Steps, values: Sequence[Value], changes: Sequence[Mapping[Value, Array]]
    ) -> list[dict[Value, Array]]:
        """Return the same as `observe` if layers have these values of the first model, per step. Raises IRError."""
        return [{} for _ in steps]

    def extract(self, steps: Steps, nodes: Sequence[Node], ends: Sequence[Value], step: int) -> Extract | None:
        """Return the layers that the other model has in place of these, with their inputs in a step. None if one of
        the values `ends` has no counterpart, or if the layers cannot be run alone.
        """
        return None

    def module_of(self, node: Node) -> str:
        """Return a text that names the modules whose result a layer computes; empty if no module has this result."""
        return ""

    @property
    def unpaired(self) -> list[str]:
        """Texts that name the modules whose results the model does not contain."""
        return []


class Runtime:
    """A runtime for models, which defines `load`. `name` is for display; `runs_parts`: it can also run parts of a
    model; `is_recording`: it has the results of a run in the past, which cannot be repeated with other inputs.
    """

    name: str
    runs_parts: bool = False
    is_recording: bool = False

    def load(self, model: Model) -> Loaded:
        """Make a model ready to run. Raises CannotRun."""
        raise NotImplementedError

    def body(self, node: Node, number: int, step: int) -> tuple[Runtime, Steps | None] | None:
        """Return the runtime for a body of a layer of the loaded model, and its iterations' inputs in a step if it has
        their results; None if it knows no bodies.
        """
        return None

    def given(self, model: Model) -> Steps | None:
        """Return the inputs of the steps, if they were recorded. Raises CannotRun."""
        return None


class OtherModel(Runtime):
    """Another model, run by irexec: its layers are aligned with the layers of the first model."""

    def __init__(self, path: str, model: Model | None = None) -> None:
        """`model`: the model read from the path, or a part of it."""
        self.name = path
        self.model = read_model(path) if model is None else model
        self._alignment: Alignment | None = None

    def load(self, model: Model) -> Aligned:
        ours, theirs = (f"{len(m.inputs)} inputs and {len(m.outputs)} outputs" for m in (model, self.model))
        if ours != theirs:
            raise CannotRun(f"{self.name} has {theirs}, but the model has {ours}")
        self._alignment = align(model, self.model)
        return Aligned(self._alignment)

    def body(self, node: Node, number: int, step: int) -> tuple[Runtime, Steps | None] | None:
        other = self._alignment.forward.get(node) if self._alignment is not None else None
        if other is None or number >= len(other.bodies):
            return None
        return OtherModel(self.name, other.bodies[number].model), None


def read_model(path: str, model_class: type[M] = Model) -> M:  # type: ignore[assignment]
    """Return the model of a file, of this class. Raises CannotRun."""
    from irexec.frontends.reading import read

    reading = read(path, model_class=model_class)
    if reading.model is None or not reading.report.ok:
        error = reading.report.errors[0]
        message = f"{path} cannot be read: {error.message if error.code == 'U001' else error}{error.advice}"
        raise CannotRun(message, error.code)
    return cast(M, reading.model)


class Aligned(Loaded):
    """The other model, run by irexec in place of the first; inputs and results are in the order of the first model."""

    layer_pairs: LayerPairs
    repeats = True

    def __init__(self, alignment: Alignment) -> None:
        self._alignment = alignment
        self.layer_pairs = LayerPairs(alignment)
        a, b = alignment.a, alignment.b
        self._inputs = _order(alignment, a.parameters, b.parameters)
        self._outputs = _order(alignment, a.results, b.results)
        self._run: tuple[Steps, Reference] | None = None

    def results(self, steps: Steps) -> list[list[Array]]:
        self._check(steps)
        try:
            found = self.reference(steps).results()
        except IRError as error:
            first = error.report.errors[0]
            layer = first.layer.name if first.layer is not None else ""
            where = f"{layer} ({first.layer.type}): " if first.layer is not None else ""
            raise Failed(layer, f"{where}{first.message}") from None
        return self._arranged(found)

    def _arranged(self, found: list[list[Array]]) -> list[list[Array]]:
        """Return results in the order of the first model."""
        return [[step[self._outputs[i]] for i in range(len(step))] for step in found]

    def _check(self, steps: Steps) -> None:
        """Raise CannotRun, with the accepted shapes, if the other model does not accept arrays of these shapes."""
        mine, others = self._alignment.a.inputs, self._alignment.b.inputs
        for step in steps:
            for ours, theirs in self._inputs.items():
                shape, taken = step[ours].shape, others[theirs].type.shape
                if not taken.accepts(shape):
                    name = mine[ours].node.friendly_name
                    closed = f"--shape {name}={','.join(map(str, taken.to_shape()))}" if taken.is_static else ""
                    hint = ""
                    if closed and mine[ours].type.shape.compatible(taken):
                        hint = f": {closed} gives both the same shape"
                    elif (layouts := _layouts(taken, shape)) is not None:
                        hint = f": if only the preprocessing differs, --map '{name}={layouts}' gives it to both models"
                    raise CannotRun(
                        f"it expects {taken} for {name!r}, but the model was given {shown_shape(shape)}{hint}"
                    )

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        pairs = ((value, self._alignment.value(value)) for value in values)
        wanted = {a: b for a, b in pairs if b is not None and self._is_comparable(a, b)}
        recorded = self.reference(steps).record(set(wanted.values()), up_to_error=True)
        return [{value: step[other] for value, other in wanted.items() if other in step} for step in recorded]

    def changed(self, steps: Steps, values: Sequence[Mapping[Value, Array]]) -> list[list[Array]] | None:
        moves = self._moves(values)
        try:
            return None if moves is None else self._arranged(self.reference(steps).changed(moves))
        except IRError:
            return None

    def observe_changed(
        self, steps: Steps, values: Sequence[Value], changes: Sequence[Mapping[Value, Array]]
    ) -> list[dict[Value, Array]]:
        wanted = {value: other for value in values if (other := self._alignment.value(value)) is not None}
        made = self.reference(steps)
        outcomes = made.run(made.steps, see={*wanted.values()}, change=self._moves(changes))
        return [{value: step.seen[v] for value, v in wanted.items() if v in step.seen} for step in outcomes]

    def _moves(self, values: Sequence[Mapping[Value, Array]]) -> list[dict[Value, Array]] | None:
        """Return values of the first model as those of the other model; None if one has no counterpart."""
        pairs = [[(self._alignment.value(value), array) for value, array in step.items()] for step in values]
        moves = [{value: array for value, array in step if value is not None} for step in pairs]
        return moves if [*map(len, moves)] == [*map(len, pairs)] else None

    def extract(self, steps: Steps, nodes: Sequence[Node], ends: Sequence[Value], step: int) -> Extract | None:
        whole, pairs = Cutter(self._alignment.b), self.layer_pairs
        others = {other for node in nodes if (other := self._alignment.forward.get(node)) is not None}
        others |= {other for node in nodes for other in pairs.inserted(node)}
        results = [value for end in ends if (value := self._alignment.value(end)) is not None]
        if not others or len(results) < len(ends):
            return None
        part = whole.cut(others, results)
        known = self.reference(steps).record({*part.begins}, up_to_error=True)[step]
        try:
            inputs = [known[value] for value in part.begins]
            give_types(part, inputs)
            return Extract(part.model, inputs, list(CompiledModel(part.model)(inputs).to_tuple()), True)
        except (IRError, KeyError):  # KeyError: the model fails before it computes an input.
            return None

    def _is_comparable(self, ours: Value, theirs: Value) -> bool:
        """Return whether values correspond. They do not if a layer was only paired by its position and has another
        shape, or if the readers of a changed layer have no counterparts: its value may have another layout.
        """
        if self.layer_pairs.leads_elsewhere(ours.node):
            return False
        if ours.type.shape.compatible(theirs.type.shape):
            return True
        return ours.node.type == PARAMETER or self.layer_pairs.relation([ours.node]) is not Relation.RESTRUCTURED

    def reference(self, steps: Steps) -> Reference:
        """Return a run of the other model with these inputs, arranged in the order of that model."""
        if self._run is not None and self._run[0] is steps:
            return self._run[1]
        # The position of an input of the other model → the position of the input of the first model paired with it.
        places = {theirs: ours for ours, theirs in self._inputs.items()}
        made = Reference(self._alignment.b, [[step[places[i]] for i in range(len(step))] for step in steps])
        made.hold()
        self._run = steps, made
        return made


def _layouts(taken: PartialShape, shape: Sequence[int]) -> str | None:
    """Return the layouts of an array and of the shape that a model takes, if only the place of channels may differ."""
    if taken.rank != len(shape) or not 3 <= len(shape) <= 5:
        return None
    first, last = "NC" + "DHW"[5 - len(shape) :], "N" + "DHW"[5 - len(shape) :] + "C"
    for source, target in ((last, first), (first, last)):
        if taken.accepts([shape[source.index(axis)] for axis in target]):
            return f"{source}->{target}"
    return None


def _order(alignment: Alignment, ours: Sequence[object], theirs: Sequence[object]) -> dict[int, int]:
    """Return the position in the second model of each port of the first; unchanged unless all can be paired."""
    forward: dict[object, object] = dict(alignment.forward.items())
    positions = {node: index for index, node in enumerate(theirs)}
    found = {index: positions.get(forward.get(node)) for index, node in enumerate(ours)}
    if sorted(found.values(), key=lambda p: -1 if p is None else p) != list(range(len(theirs))):
        return {index: index for index in range(len(ours))}
    return {index: place for index, place in found.items() if place is not None}
