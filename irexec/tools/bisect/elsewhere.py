"""A runtime in another Python environment, or with variables of its own, as a runtime for comparisons.

The process needs NumPy and the runtime alone, so that any release of it can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from irexec.api.opsets.nodes import make_node
from irexec.core.diagnostics import IRError
from irexec.core.structure import RESULT
from irexec.core.types import Array
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.model import Model, Value
from irexec.ops.spec.contents import find
from irexec.tools.bisect.environments import PACKAGES
from irexec.tools.compare.runtimes.runtime import CannotRun, CannotWrite, Died, Steps
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.defendant import Answer, Defendant, Unusable


def package_of(text: str) -> str:
    """Return the package of a runtime, as `--with` names it. Raises CannotRun."""
    kind = text.partition(":")[0]
    if kind not in PACKAGES or (kind == "onnxruntime" and text != kind):
        raise CannotRun(f"{text!r} has no releases to search: give openvino, openvino:DEVICE or onnxruntime", "U005")
    return kind


class Elsewhere:
    """A runtime in the environment of a Python interpreter. `text`: openvino[:DEVICE] or onnxruntime.

    `python`: the interpreter, by default the one that runs irexec. `environment`: variables of the process. `original`
    is the model that the runtime reads from its own file. `cached`: OpenVINO loads the model from a cache. Raises
    CannotRun.
    """

    def __init__(
        self,
        text: str,
        python: str = "",
        config: Mapping[str, str] | None = None,
        original: Model | None = None,
        *,
        environment: Mapping[str, str] | None = None,
        cached: bool = False,
        limit: float | None = 600.0,
    ) -> None:
        kind, device = package_of(text), text.partition(":")[2]
        self.runs_parts = kind == "openvino"
        own = {"device": device or "CPU", "overwriting": "ignored"} if kind == "openvino" else {}
        given = {**own, **(config or {})}
        self._flags = ("cache",) if cached else ()
        self._original = original
        try:
            self._defendant = Defendant(
                kind, given, python=python, limit=limit, environment=environment, about=True
            )  # fmt: skip
            self.name = self._defendant.name
        except Unusable as error:
            raise CannotRun(str(error), error.code) from None

    @property
    def printed(self) -> str:
        """All that the process has printed."""
        return self._defendant.printed

    def load(self, model: Model) -> Loaded:
        return Loaded(self, model)

    def run(self, model: Model, steps: Steps) -> Answer:
        """Run a model. Raises CannotRun."""
        is_own = model is self._original and model.has_own_weights
        file = Path(model.file) if is_own and model.file is not None else None
        if not self.runs_parts and (file is None or file.suffix.lower() != ".onnx"):
            raise CannotRun("ONNX Runtime can run .onnx files only", "U012")
        case = Case("", model, [list(step) for step in steps] or [[]], tuple(range(len(steps))), self._flags)
        try:
            answer = self._defendant.run(case, file)
        except IRError as error:
            raise CannotWrite(f"the model cannot be written for {self.name}: {error.report.errors[0]}") from None
        except Unusable as error:
            raise CannotRun(str(error), error.code) from None
        if answer.how in ("crash", "hang"):
            raise Died(answer.how, f"{self.name}: {answer.message}")
        if answer.how != "results":
            raise CannotRun(f"{self.name} rejects the model: {answer.message}")
        return answer

    def close(self) -> None:
        """End the process."""
        self._defendant.close()


class Loaded:
    """A model loaded in a runtime in another environment; values are observed by adding them to its results."""

    def __init__(self, runtime: Elsewhere, model: Model) -> None:
        self._runtime, self._model = runtime, model
        about: Mapping[str, Any] = runtime.run(model, []).about
        self.precision: str = about.get("precision", "")
        self._fused: list[list[str]] = [names for names in about.get("fused", []) if len(names) > 1]

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._runtime.run(self._model, steps).results

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        if not self._runtime.runs_parts:
            return [{} for _ in steps]
        nodes = {*self._model.nodes}
        shown, copies = copy_with_map(self._model)
        places = {value: place for place, value in enumerate(self._model.outputs)}
        read = {result.inputs[0]: place for place, result in enumerate(self._model.results)}
        kind = find(RESULT, "opset1")
        assert kind is not None
        for value in dict.fromkeys(values):
            if value.node in nodes and value not in places:
                places[value] = read.get(value, len(shown.results))
                if places[value] == len(shown.results):
                    made = make_node(type(value.node), kind, [copies[value.node].outputs[value.index]], {})
                    shown.results.append(made)
                    shown.nodes.append(made)
        found = self._runtime.run(shown, steps).results
        return [{value: step[places[value]] for value in values if value in places} for step in found]

    def fused(self) -> list[list[str]]:
        return self._fused
