"""`run` and `show` as functions: the layers of a model, with what they compute, as rows of a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from irexec.core.diagnostics import IRError
from irexec.core.types import Array
from irexec.model.arrays.brief import plural
from irexec.model.inference import infer
from irexec.tools.functions.given import Inputs, ModelLike, given_of, model_of, name_of
from irexec.tools.functions.result import Result
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.summary import summarize
from irexec.tools.render import summary as rendered
from irexec.tools.render.model import show_model
from irexec.tools.render.printing import Printout
from irexec.tools.run.run import ModelRun, run_model
from irexec.tools.run.trace import Trace


@dataclass(frozen=True, slots=True, repr=False)
class Run(Result):
    """A run of a model. `results`: the results by name; `rows`: the statistics of every output of every layer."""

    found: ModelRun
    trace: Trace

    @property
    def results(self) -> dict[str, Array]:
        """The results by name."""
        return self.found.arrays()

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each output of each layer, in the order of the run: `pandas.DataFrame(rows)` is a table."""
        return [
            {
                "layer": row.node.friendly_name,
                "type": row.node.type,
                "output": index,
                "element_type": output.element_type,
                "shape": list(output.shape),
                "seconds": row.seconds,
                "calls": row.calls,
                **output.statistics.to_dict(),
            }
            for row in self.trace.rows
            for index, output in enumerate(row.outputs)
        ]

    @property
    def verdict(self) -> str:
        """The number of layers and results, in one line."""
        return f"{plural(len(self.trace.rows), 'layer')}, {plural(len(self.found.outputs), 'result')}"

    def show(self, page: Printout) -> None:
        show_model(self.found, page, self.trace)


def run(
    model: ModelLike,
    inputs: Inputs | None = None,
    *,
    weights: str | os.PathLike[str] | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    seed: int = 0,
) -> Run:
    """Run a model once and keep the statistics of every layer, as `irexec run --trace` does.

    `inputs`: arrays by name or in order; inputs that are not given get random values, in the given `shapes` and from
    `seed`. Raises IRError for a model that cannot be run.
    """
    trace = Trace()
    found = run_model(model_of(model, weights), given_of(inputs, shapes, seed), [trace])
    if not found.report.ok:
        raise IRError(found.report)
    return Run(found, trace)


@dataclass(frozen=True, slots=True, repr=False)
class Overview(Result):
    """What a model consists of. `summary`: all facts; `rows`: its layers."""

    name: str
    summary: Summary

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each layer, those of bodies after their layer: `pandas.DataFrame(rows)` is a table."""
        return [
            {
                "layer": layer.name,
                "type": layer.type,
                "version": layer.version,
                "element_type": layer.outputs[0].element_type if layer.outputs else None,
                "shape": layer.outputs[0].shape if layer.outputs else None,
                "bytes": layer.outputs[0].bytes if layer.outputs else None,
                "multiply_adds": layer.multiply_adds,
            }
            for layer in self.summary.layers
        ]

    @property
    def verdict(self) -> str:
        """The name of the model and the number of its layers, in one line."""
        return f"{self.name}, {plural(len(self.summary.layers), 'layer')}"

    def show(self, page: Printout) -> None:
        rendered.show(self.summary, page)


def show(model: ModelLike, *, weights: str | os.PathLike[str] | None = None) -> Overview:
    """Summarize a model without running it, as `irexec show` does. Raises IRError for a model with errors."""
    own = model_of(model, weights)
    return Overview(name_of(model), summarize(own, infer(own).report))
