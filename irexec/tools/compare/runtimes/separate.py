"""Runtimes in separate processes: models are passed as files, arrays through a pipe."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.graph.model import Model, Node, Value
from irexec.model.graph.write import write_model, written_names
from irexec.runtime.processes.worker import Ended, Refused, Worker
from irexec.tools.compare.runtimes.hosted import LIMIT, Unusable, described, reason
from irexec.tools.compare.runtimes.runtime import CannotRun, CannotWrite, Died, Loaded, Runtime, Steps


class Shown(NamedTuple):
    """A value as the other process identifies it: the output of the layer, or a tensor with one of these names."""

    layer: str
    output: int
    names: tuple[str, ...]


class Apart(Runtime):
    """A runtime that a Worker hosts: see `irexec.tools.compare.adapters`.

    `original` is the model that it reads from its own file; every other model is written to a file for it. `title` is
    the runtime's name until it reports a more specific name.
    """

    @property
    def remote(self) -> type[Remote]:
        """The class of loaded models."""
        return Remote

    def __init__(
        self,
        host: str,
        config: Mapping[str, Any],
        *,
        title: str = "the runtime",
        original: Model | None = None,
        runs_parts: bool = True,
        limit: float | None = LIMIT,
        python: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.original, self.runs_parts, self.limit = original, runs_parts, limit or None
        self.worker = Worker(host, config, python=python, environment=environment)
        # The model in the other process, the number of the process start after which it was loaded, and its precision.
        self.holds: tuple[int, Path, str] | None = None
        # The model whose observed values the other process keeps.
        self.looking: object = None
        self.name = self.title = title
        try:
            self.name = described(self.worker, python, self.limit)["name"]
        except Unusable as error:
            raise CannotRun(str(error), error.code) from None
        except Ended as error:
            raise Died(error.how, f"{title} {error}") from None

    def ask(self, method: str, *arguments: Any) -> Any:
        """Call a method in the other process and return its result. Raises CannotRun and Died."""
        try:
            return self.worker.call(method, *arguments, limit=self.limit)
        except Ended as error:
            self.worker.kill()
            raise Died(error.how, f"{self.name} {error}") from None
        except Refused as error:
            if error.code:
                raise CannotRun(str(error), error.code) from None
            does = "load" if method == "load" else "run"
            raise CannotRun(f"{self.title} cannot {does} the model: {reason(str(error))}") from None

    def close(self) -> None:
        """End the process."""
        self.worker.kill()

    def load(self, model: Model) -> Loaded:
        # Other runtimes do not read the text form.
        is_readable = model.has_own_weights and (model.source is None or model.source.is_xml)
        if model is self.original and is_readable and model.file is not None and Path(model.file).is_file():
            return self.reads(Path(model.file).absolute())
        folder = tempfile.TemporaryDirectory(prefix="irexec-")
        file = Path(folder.name) / "model.xml"
        try:
            write_model(model, file)
        except IRError as error:
            raise CannotWrite(f"the model cannot be written for {self.name}: {error.report.errors[0]}") from None
        return self.remote(self, file, written_names(model), folder)

    def reads(self, file: Path) -> Loaded:
        """Return the model of a file that the other process reads as it is."""
        return self.remote(self, file, {})


class _Observed(Mapping[Value, Array]):
    """The values of one step in the other process; arrays are fetched when they are requested."""

    def __init__(self, take: Callable[[int, Sequence[int]], list[Array]], step: int, places: dict[Value, int]) -> None:
        self._take, self._step, self._places = take, step, places

    def __getitem__(self, value: Value) -> Array:
        return self.several([value])[value]

    def several(self, values: Sequence[Value]) -> dict[Value, Array]:
        """Return the arrays of some of the values, all in one message."""
        return dict(zip(values, self._take(self._step, [self._places[value] for value in values]), strict=True))

    def __contains__(self, value: object) -> bool:
        return value in self._places

    def __iter__(self) -> Iterator[Value]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Remote(Loaded):
    """A model loaded from a file in the other process. It is loaded again after a crash or after another model."""

    def __init__(self, runtime: Apart, file: Path, names: dict[Node, str], folder: Any = None) -> None:
        self._runtime, self._file, self._names, self._folder = runtime, file, names, folder
        self.precision = ""
        self._call("describe")

    def results(self, steps: Steps) -> list[list[Array]]:
        found: list[list[Array]] = self._call("results", steps)
        return found

    def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
        """Return the values; their arrays stay in the other process until they are requested."""
        known = [(value, shown) for value in values if (shown := self.shown(value)) is not None]
        mine = object()

        def look() -> list[list[int]]:
            self._runtime.looking = mine
            there: list[list[int]] = self._call("keep", steps, [shown for _, shown in known])
            return there

        def take(step: int, indices: Sequence[int]) -> list[Array]:
            if self._runtime.looking is not mine:
                look()
            arrays: list[Array] = self._call("kept", step, indices)
            return arrays

        return [_Observed(take, step, {known[i][0]: i for i in there}) for step, there in enumerate(look())]

    def several(self, step: Mapping[Value, Array], values: Sequence[Value]) -> dict[Value, Array]:
        return step.several(values) if isinstance(step, _Observed) else super().several(step, values)

    def shown(self, value: Value) -> Shown | None:
        """Return how the other process identifies a value; None if the other process cannot expose the value."""
        name = self._names.get(value.node, value.node.friendly_name)
        return Shown(name, value.index, tuple(sorted(value.names)))

    def states(self, steps: Steps) -> list[dict[str, Array]]:
        found: list[dict[str, Array]] = self._call("states", steps) if self._can("states") else [{} for _ in steps]
        return found

    @cached_property
    def about(self) -> dict[str, str]:
        # The other process answers once, because it looks at every layer.
        found: dict[str, str] = self._call("about")
        return found

    def fused(self) -> list[list[str]]:
        groups: list[list[str]] = self._call("fused") if self._can("fused") else []
        return groups

    def _can(self, method: str) -> bool:
        return method in self._runtime.worker.methods

    def _begin(self) -> str:
        """Send the model; return the precision in which it will run, or an empty text."""
        precision: str = self._runtime.ask("load", str(self._file), False)
        return precision

    def _call(self, method: str, *arguments: Any) -> Any:
        runtime = self._runtime
        if runtime.holds is None or runtime.holds[:2] != (runtime.worker.life, self._file):
            runtime.holds = runtime.looking = None
            precision = self._begin()
            runtime.holds = (runtime.worker.life, self._file, precision)
        self.precision = runtime.holds[2]
        return runtime.ask(method, *arguments)
