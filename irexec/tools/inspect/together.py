"""One model, or two models to compare, as one sequence of layers, so that callers need not distinguish them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from irexec.tools.inspect.facts import Layer, Summary


@dataclass(slots=True)
class Together:
    """Models whose layers and findings are numbered consecutively. `starts` are the indices of their first layers."""

    models: list[Summary]
    starts: list[int]
    layers: list[Layer]
    findings: list[dict[str, Any]]

    def layers_of(self, number: int) -> list[Layer]:
        """Return the layers of one of the models."""
        return self.layers[self.starts[number] : self.starts[number] + len(self.models[number].layers)]


def together(models: Sequence[Summary]) -> Together:
    """Return the models in this order. References to layers and findings become indices in the common sequences."""
    found = Together(list(models), [], [], [])
    for model in models:
        first, before = len(found.layers), len(found.findings)
        found.starts.append(first)
        found.layers += [_moved(layer, first, before) for layer in model.layers]
        found.findings += model.findings
    return found


def _moved(layer: Layer, by: int, findings: int) -> Layer:
    if not by and not findings:
        return layer
    return replace(
        layer,
        index=layer.index + by,
        parent=None if layer.parent is None else layer.parent + by,
        inputs=[e if e.layer is None else replace(e, layer=e.layer + by) for e in layer.inputs],
        findings=[number + findings for number in layer.findings],
    )
