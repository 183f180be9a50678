"""Looking into a run and changing it: the one way to see values of layers, and to put others in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from irexec.core.diagnostics import IRError
from irexec.core.records import record
from irexec.core.structure import ASSIGN, READ_VALUE
from irexec.core.threads.parallel import computing
from irexec.core.types import Array
from irexec.model.graph.cut import Cutter, Part, needed_by
from irexec.model.graph.model import Model, Node, Value
from irexec.model.inference import infer_types
from irexec.ops.spec.traits import Random
from irexec.runtime.engine.arguments import arrange
from irexec.runtime.engine.plan import Plan
from irexec.runtime.engine.plans import Plans
from irexec.runtime.engine.runner import Moves, Runner, moved
from irexec.runtime.engine.spilled import Spill, Spilled
from irexec.runtime.engine.state import Variables

HELD_BYTES = 1 << 24
"""The size in bytes of the values that a run holds in memory at a time."""
_SPILLED_BYTES = 1 << 32
"""The size in bytes of further values, which a run writes to a temporary file."""

Steps = Sequence[Sequence[Array]]
"""The inputs of inferences that follow one another; variables keep their values between them."""
_Values = dict[Value, Array | Spilled]


@record(eq=False)
class Outcome:
    """The results of an inference. `calls`: the values that were to be seen, for each call of the layers that compute
    or read them; layers of a body are called in every iteration. `counts`: how often each layer ran. `error`: the
    inference failed after these values.
    """

    results: list[Array]
    calls: list[dict[Value, Array]]
    counts: dict[Node, int]
    error: IRError | None = None

    @property
    def seen(self) -> dict[Value, Array]:
        """The values of the first of the calls."""
        return self.calls[0]


class Run:
    """Runs of a model. If the values of steps are held, only the layers run again that a change reaches."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._whole: Cutter | None = None
        self._plans: Plans | None = None
        self._held: tuple[Steps, list[_Values]] | None = None
        self._opened: dict[frozenset[Value], tuple[Part, Run]] = {}

    def __call__(
        self,
        steps: Steps,
        *,
        see: Collection[Value] = (),
        change: Moves | Sequence[Moves] | None = None,
        calls: range = range(1),
        up_to_error: bool = False,
    ) -> list[Outcome]:
        """Return the outcome of each step. `change`: for every step, or for each. A changed constant is changed for all
        layers that read it, directly or through other constants. `calls`: those in which values are seen.

        Values that no layer computes or reads are not seen. Raises IRError, unless outcomes `up_to_error` are wanted.
        """
        changes = [change or {}] * len(steps) if change is None or isinstance(change, Mapping) else change
        if any(changes) and (folded := self._folded({value for some in changes for value in some})):
            return self._opened_at(folded, steps, see, changes)
        outcomes = []
        held = self._held_of(steps, see) if calls == range(1) else None
        for outcome, _ in self._inferred(steps, changes, _Recorder(see, calls), held):
            if outcome.error is not None and not up_to_error:
                raise outcome.error
            outcomes.append(outcome)
        return outcomes

    def hold(self, steps: Steps) -> list[list[Array]]:
        """Return the results of these steps, and hold all values for later calls with them: HELD_BYTES in memory,
        further ones in a file. Values of bodies are not held, nor any if some are random. Raises IRError.
        """
        wanted = set[Value]()
        if not any(Random in n.traits for n in self.model.walk()):
            skipped = {*self._cutter.constant, *self.model.parameters}
            wanted = {value for node in self.model.nodes if node not in skipped for value in node.outputs}
        holder, held, results = _Holder(wanted), list[_Values](), list[list[Array]]()
        for outcome, kept in self._inferred(steps, [{}] * len(steps), holder, None):
            if outcome.error is not None:
                raise outcome.error
            results.append(outcome.results)
            held.append(kept)
        self._held = (steps, held) if wanted and holder.is_complete else None
        return results

    @property
    def _cutter(self) -> Cutter:
        if self._whole is None:
            self._whole = Cutter(self.model)
        return self._whole

    @property
    def _plan(self) -> Plan:
        if self._plans is None:
            self._plans = Plans(self.model)
        return self._plans.of((), observed=True)

    def _folded(self, values: Collection[Value]) -> frozenset[Value]:
        """Return those of the values that are computed when the model is planned."""
        running = {step.node for step in self._plan.steps} | {*self.model.parameters}
        return frozenset(v for v in values if v.node not in running and v.node in self._cutter.order)

    def _held_of(self, steps: Steps, see: Collection[Value]) -> list[_Values] | None:
        """Return the values that are held of these steps; None if they do not include the values to be seen."""
        if self._held is None or self._held[0] is not steps:
            return None
        inputs, held = {*self.model.inputs}, self._held[1]
        return held if all(value in inputs or all(value in step for step in held) for value in see) else None

    def _inferred(
        self, steps: Steps, changes: Sequence[Moves], recorder: _Recorder, held: Sequence[_Values] | None
    ) -> Iterator[tuple[Outcome, _Values]]:
        """Yield the outcome of each step, and the recorded values of the first call, up to the first error. `held`: the
        values without changes.
        """
        moves = dict(changes[0]) if changes else {}
        variables = Variables(self.model)
        runner = Runner(self._plan, variables, [recorder], moves=moves)
        reached = self._reached({value for some in changes for value in some}) if held is not None else set()
        for number, (step, change) in enumerate(zip(steps, changes, strict=True)):
            moves.clear()
            moves.update(change)
            given = arrange(list(step), self.model.inputs)
            given = [moved(change, value, array) for value, array in zip(self.model.inputs, given, strict=True)]
            results, error = list[Array](), None
            known = None if held is None else _Known(held[number], change)
            try:
                with computing():
                    results = runner.run(given) if known is None else runner.resume(given, known, reached)
                variables.commit()
            except IRError as failed:
                error = failed
            kept, counts = recorder.take()
            kept[0] |= {v: a for v, a in zip(self.model.inputs, given, strict=True) if v in recorder.wanted}
            if known is not None:
                kept[0] |= {value: known[value] for value in recorder.wanted - kept[0].keys() if value in known}
            calls = [{v: _read(array) for v, array in some.items()} for some in kept] if recorder.is_shown else []
            yield Outcome(results, calls, counts, error), kept[0]
            if error is not None:
                return

    def _reached(self, values: Collection[Value]) -> set[Node]:
        """Return the layers that these changes reach, those of later steps included."""
        outer = {inner: node for node in self.model.nodes for body in node.bodies for inner in body.model.walk()}
        written: dict[object, list[Node]] = {}
        for node in self.model.walk():
            if node.type == READ_VALUE:
                written.setdefault(node.attributes.get("variable_id"), []).append(outer.get(node, node))
        found, stack = set[Node](), [value.node for value in values if value.node in outer]
        stack = [outer[node] for node in stack]
        stack += [user for value in values if value.node not in outer for user in value.users]
        while stack:
            node = stack.pop()
            if node in found:
                continue
            found.add(node)
            stack += [user for value in node.outputs for user in value.users]
            for inner in [node, *(inner for body in node.bodies for inner in body.model.walk())]:
                if inner.type == ASSIGN:
                    stack += written.get(inner.attributes.get("variable_id"), [])
        return found

    def _opened_at(
        self, values: frozenset[Value], steps: Steps, see: Collection[Value], changes: Sequence[Moves]
    ) -> list[Outcome]:
        """Return the outcomes of a copy of the model in which these values, computed when it is planned, are inputs."""
        if values not in self._opened:
            cutter, nodes = Cutter(self.model), {value.node for value in values}
            cutter.constant -= nodes
            part = cutter.cut({*self.model.nodes} - nodes, [*self.model.results])
            infer_types(part.model)
            self._opened[values] = part, Run(part.model)
        part, run = self._opened[values]
        folded = self._folded(part.begins)  # values that no step computes: of constants, or of known shapes alone
        wanted = [value for value in part.begins if value in folded]
        source, first = (
            self._cutter.cut(needed_by(v.node for v in wanted), wanted),
            dict(zip(self.model.inputs, steps[0], strict=True)),
        )
        constants = Run(source.model)([[first[value] for value in source.begins]])[0].results
        fixed = dict(zip(wanted, constants, strict=True))
        others = {*part.begins} - {*wanted, *self.model.inputs}
        given = [dict(zip(self.model.inputs, step, strict=True)) | fixed for step in steps]
        for known, outcome in zip(given, self(steps, see=others) if others else (), strict=False):
            known |= outcome.seen
        begins = dict(zip(part.begins, part.model.parameters, strict=True))
        copies = {value: begins.get(value) or part.places.get(value.node) for some in (see, *changes) for value in some}
        places = {v: made.outputs[0 if v in begins else v.index] for v, made in copies.items() if made is not None}
        moves = [{places[value]: move for value, move in some.items() if value in places} for some in changes]
        inputs = [[known[value] for value in part.begins] for known in given]
        outcomes = run(inputs, see=[places[value] for value in see if value in places], change=moves)
        for outcome in outcomes:
            outcome.calls = [{v: seen[places[v]] for v in see if places.get(v) in seen} for seen in outcome.calls]
        return outcomes


class _Known:
    """The held values of a step, with the changes that apply to them."""

    def __init__(self, held: _Values, change: Moves) -> None:
        self._held, self._change = held, change

    def __contains__(self, value: Value) -> bool:
        return value in self._held

    def __getitem__(self, value: Value) -> Array:
        return moved(self._change, value, _read(self._held[value]))


class _Recorder:
    """A listener that keeps copies of the wanted values, in some of the calls of each layer."""

    is_shown = True

    def __init__(self, wanted: Collection[Value], calls: range) -> None:
        self.wanted, self._calls = frozenset(wanted), calls
        self._values: list[_Values] = [{} for _ in calls]
        self._counts: dict[Node, int] = {}

    def before(self, node: Node, inputs: Sequence[Array | None]) -> None:
        self._counts[node] = self._counts.get(node, 0) + 1
        self._record(node, node.inputs, inputs)

    def after(self, node: Node, inputs: Sequence[Array | None], outputs: Sequence[Array], seconds: float) -> None:
        self._record(node, node.outputs, outputs)

    def take(self) -> tuple[list[_Values], dict[Node, int]]:
        """Return the values and counts since the last call."""
        taken = self._values, self._counts
        self._values, self._counts = [{} for _ in self._calls], {}
        return taken

    def _record(self, node: Node, values: Sequence[Value | None], arrays: Sequence[Array | None]) -> None:
        call = self._counts[node] - 1
        if call not in self._calls:
            return
        found = self._values[call - self._calls.start]
        for value, array in zip(values, arrays, strict=False):
            if value is not None and array is not None and value in self.wanted and value not in found:
                self._keep(found, value, array)

    def _keep(self, found: _Values, value: Value, array: Array) -> None:
        found[value] = array.copy()


class _Holder(_Recorder):
    """A listener that keeps copies of the wanted values: HELD_BYTES of them in memory, further ones in a file."""

    is_shown = False

    def __init__(self, wanted: Collection[Value]) -> None:
        super().__init__(wanted, range(1))
        self._left, self._spill = HELD_BYTES, Spill()
        self.is_complete = True
        """False if the file became too large, or could not be written."""

    def _keep(self, found: _Values, value: Value, array: Array) -> None:
        self._left -= array.nbytes
        if self._left >= 0:
            found[value] = array.copy()
        elif self.is_complete:
            try:
                found[value] = self._spill.write(array)
            except OSError:
                self.is_complete = False
            self.is_complete &= self._spill.size <= _SPILLED_BYTES


def _read(array: Array | Spilled) -> Array:
    return array.read() if isinstance(array, Spilled) else array
