"""The result of inference: the types of a model's values for given inputs, stored apart from the model."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.core.diagnostics import Report
from irexec.core.types import TensorType
from irexec.model.graph.model import Node, Value

Types = Sequence[TensorType]


class Inference:
    """The types of a model's values, bodies included, for given inputs; `report` contains the findings.

    Values that inference did not reach have the type that the model gives them.
    """

    def __init__(self, report: Report | None = None) -> None:
        self.report = report if report is not None else Report()
        self._outputs: dict[Node, Types] = {}

    def outputs(self, node: Node) -> Types:
        """Return the types of the node's outputs: at least one for each of its ports."""
        found = self._outputs.get(node)
        return node.types if found is None else found

    def __getitem__(self, value: Value) -> TensorType:
        found = self._outputs.get(value.node)
        return value.type if found is None else found[value.index]

    def inputs(self, node: Node) -> list[TensorType | None]:
        """Return the types of the values connected to the node's inputs; None for inputs that are not connected."""
        found = self._outputs.get
        return [
            None if value is None else (found(value.node) or value.node.types)[value.index] for value in node.inputs
        ]

    def note(self, node: Node, outputs: Types) -> Types:
        """Set the types of a node's outputs, as inference does, or a caller with more information. Return the types of
        all output ports.
        """
        missing = len(node.outputs) - len(outputs)
        self._outputs[node] = types = (*outputs, *[TensorType()] * missing) if missing > 0 else outputs
        return types

    def take(self, other: Inference) -> None:
        """Add the types of another inference, such as the inference of a body, to this inference."""
        self._outputs.update(other._outputs)
