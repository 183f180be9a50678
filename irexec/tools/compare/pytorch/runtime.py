"""PyTorch as a runtime: a module's result is exposed as the value of the exported model with which it is paired."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from irexec.core.types import DYNAMIC, Array
from irexec.ir.io.guard import reads
from irexec.model.arrays.given import convert
from irexec.model.graph.model import Model, Node, Value
from irexec.tools.compare.pytorch.merged import merged
from irexec.tools.compare.pytorch.pairing import Made, Pairs, pair
from irexec.tools.compare.pytorch.scaled import scaled
from irexec.tools.compare.pytorch.server import NETWORK, Call, call_of
from irexec.tools.compare.runtimes.hosted import LIMIT
from irexec.tools.compare.runtimes.runtime import CannotRun, Steps
from irexec.tools.compare.runtimes.separate import Apart, Remote, Shown

_SCALED = 64
"""The maximum number of results of modules that are compared with values of another scale."""


class Torch(Apart):
    """A PyTorch network that a function of the user returns. Raises CannotRun."""

    def __init__(self, factory: str, *, limit: float | None = LIMIT) -> None:
        """`factory`: `package.module:function` or `file.py:function`; the function returns a torch.nn.Module."""
        file = Path(factory.rpartition(":")[0])
        if file.suffix == ".py":
            reads(file, "a network")
        super().__init__(
            "irexec.tools.compare.pytorch.server:Server", {"factory": factory}, title="PyTorch", runs_parts=False,
            limit=limit,
        )  # fmt: skip

    def load(self, model: Model) -> Network:
        return Network(self, model)


class Network(Remote):
    """A network loaded in the other process, for comparison with a model that was exported from it."""

    has_modules = True

    def __init__(self, runtime: Torch, model: Model) -> None:
        self._model = model
        self._calls: list[Call] = []
        self._pairs: Pairs | None = None
        self._merged: dict[int, int] = {}
        self._scaled: set[int] = set()
        self._idle: set[int] = set()
        super().__init__(runtime, Path(), {})

    @property
    def calls(self) -> Sequence[Call]:
        """The calls of PyTorch modules that the first run recorded; empty before `results` was called."""
        return self._calls

    @property
    def pairs(self) -> Mapping[Value, Made]:
        """The model's values that are results of modules, each with that result; empty before `results` was called."""
        return {} if self._pairs is None else self._pairs.shown

    @property
    def paired(self) -> Collection[Made]:
        """The results of modules that are values of the model."""
        return () if self._pairs is None else self._pairs.paired

    def results(self, steps: Steps) -> list[list[Array]]:
        found = super().results(steps)
        found = [[_fit(a, r.outputs[0]) for a, r in zip(step, self._model.results, strict=True)] for step in found]
        if self._pairs is None:
            self._calls = [call_of(found) for found in self._call("calls", steps[0])]
            self._pairs = pair(self._model, steps[0], self._calls, found[0], lambda made: self._fetch(steps[:1], made))
            self._merged = merged(self._calls, self._pairs.paired)
            self._scaled = self._with_another_scale(steps[0])
            self._idle = self._without_effect(steps[0])
        return found

    def shown(self, value: Value) -> Shown | None:
        if value in self.pairs:
            return self._shown(self.pairs[value])
        ends = [result.inputs[0] for result in self._model.results]
        return Shown(NETWORK, ends.index(value), ("0",)) if value in ends else None

    def module_of(self, node: Node) -> str:
        """Return a text that names the modules whose result a layer computes; empty if no module has this result."""
        made = next((self.pairs[value] for value in node.outputs if value in self.pairs), None)
        if made is None:
            return ""
        calls = [call for call, into in self._merged.items() if into == made.call] + [made.call]
        return " and ".join(self._calls[call].name for call in sorted(calls))

    @property
    def merged(self) -> Mapping[int, int]:
        """The calls of modules that are merged with later calls in the model, each with the call that completes it;
        empty before `results` was called.
        """
        return self._merged

    @property
    def unpaired(self) -> list[str]:
        """The modules that compute values for which no layers of the model were found."""
        return [self._calls[number].name for number in self._lost()]

    @property
    def idle(self) -> Collection[int]:
        """The calls of modules that do not affect the results, which exports leave out; empty before `results` was
        called.
        """
        return self._idle

    def _lost(self) -> list[int]:
        there = {made.call for made in self.paired} | {*self._merged} | self._scaled | self._idle
        return [number for number, call in enumerate(self._calls) if any(call.results) and number not in there]

    def _with_another_scale(self, step: Sequence[Array]) -> set[int]:
        """Return the calls whose results are values of the model, except for a scale."""
        lost = [Made(call, 0) for call in self._lost() if self._calls[call].results[0] is not None][:_SCALED]
        results = dict(zip(lost, self._fetch([step], lost), strict=True))
        return {made.call for made in scaled(self._model, step, results, {*self.pairs})} if lost else set()

    def _without_effect(self, step: Sequence[Array]) -> set[int]:
        lost = {(self._calls[number].path, self._calls[number].number): number for number in self._lost()}
        return {lost[path, number] for path, number in self._call("without_effect", step, [*lost])} if lost else set()

    def _begin(self) -> str:
        ports = [[_names(port) for port in ports] for ports in (self._model.inputs, self._model.outputs)]
        self._runtime.ask("ports", *ports)
        return super()._begin()

    def _shown(self, made: Made) -> Shown:
        call = self._calls[made.call]
        return Shown(call.path, made.result, (str(call.number),))

    def _fetch(self, steps: Steps, made: Sequence[Made]) -> list[Array]:
        if not made:
            return []
        (found,) = self._call("observe", steps, [self._shown(entry) for entry in made])
        return list(found)


def _names(port: Value) -> list[str]:
    return [*sorted(port.names), port.node.friendly_name]


def _fit(array: Array, value: Value) -> Array:
    """Return a result in the type that the model declares: exporters may narrow integers."""
    if value.element_type is DYNAMIC or array.dtype == value.element_type.dtype:
        return array
    found = convert(array, value.element_type)
    if found is None:
        raise CannotRun(f"the result {value.node.friendly_name!r} is {array.dtype}, not {value.element_type}")
    return found
