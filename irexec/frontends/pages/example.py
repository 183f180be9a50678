"""An example of an operation page: one layer with its inputs, its outputs, and the checks performed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from irexec.core.diagnostics import LayerRef
from irexec.core.types import Array, TensorType
from irexec.frontends.pages.complete import ExampleInput, Obstacle
from irexec.frontends.pages.documented import Difference
from irexec.frontends.pages.reader import SnippetLayer, SnippetPort
from irexec.ops.spec.operator import Operator


@dataclass(slots=True)
class ExampleOutput:
    """One output port: its declared and inferred types, and its computed and documented values, if any.
    `agrees` is None without documented values."""

    port: SnippetPort | None
    declared: TensorType
    type: TensorType
    array: Array | None = None
    documented: Array | None = None
    agrees: bool | None = None
    difference: Difference | None = None


@dataclass(slots=True)
class Example:
    """One evaluated layer of a snippet. `not_executed` gives the reason if there is no result.

    `verified` describes the successful checks.
    """

    layer: LayerRef
    snippet: SnippetLayer
    operator: Operator | None
    attributes: dict[str, Any] = field(default_factory=dict)
    inputs: list[ExampleInput] = field(default_factory=list)
    outputs: list[ExampleOutput] = field(default_factory=list)
    verified: list[str] = field(default_factory=list)
    not_executed: Obstacle | None = None

    @property
    def executed(self) -> bool:
        return self.not_executed is None

    @property
    def chance(self) -> bool:
        """True if an input was drawn at random: a different result then does not prove the page wrong."""
        return any(entry.is_drawn for entry in self.inputs)


def output_name(example: Example, index: int) -> str:
    """Return the name of an output in messages: with its position, if there are several."""
    return f"output {index}" if len(example.outputs) > 1 else "output"
