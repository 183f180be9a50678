"""Runtimes that are irexec itself, with one wrong operator."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from irexec import Model, Node, Value
from irexec.core.types import Array, ElementType
from irexec.model.graph.copies import copied
from irexec.ops.spec.operator import Operator
from irexec.tools.compare.align import align
from irexec.tools.compare.runtimes.runtime import Aligned, Loaded, Runtime, Steps

Distort = Callable[[Array], Array]


def slightly_larger(array: Array) -> Array:
    """Return real numbers increased by somewhat more than a hundredth; of other types, change the first element. No
    normalization after them removes the change.
    """
    kind = ElementType.of(array.dtype)
    if kind.is_real:
        wide = array.astype(np.float64)
        return (wide + 0.01 * (np.abs(wide) + 1)).astype(array.dtype)
    changed = array.copy()
    if array.size:
        flat = changed.reshape(-1)
        flat[0] = not flat[0] if array.dtype.kind == "b" else f"{flat[0]}x" if array.dtype.kind in "TU" else flat[0] ^ 1
    return changed


def wrong(operator: Operator, distort: Distort = slightly_larger) -> Operator:
    """Return an operator of a separate opset whose first output is wrong."""
    made = copy.copy(operator)
    right = operator.kernel

    def kernel(*inputs: Any, out: Any = None, **attributes: Any) -> Any:
        result = right(*inputs, **attributes)
        if isinstance(result, (tuple, list)):
            return [distort(np.asarray(result[0])), *result[1:]]
        return distort(np.asarray(result))

    made.kernel, made.opset, made.specializer, made.view, made.inplace = kernel, "wrong", None, (), ()
    return made


class Wrong(Runtime):
    """irexec with wrong layers: those of one name, in any model."""

    name = "mock"
    runs_parts = True

    def __init__(self, layer: str, distort: Distort = slightly_larger) -> None:
        self.layer, self.distort = layer, distort

    def load(self, model: Model) -> Loaded:
        other = copied(model)
        self.plant(other)
        return Aligned(align(model, other))

    def plant(self, model: Model) -> None:
        for node in model.walk():
            if node.friendly_name == self.layer:
                spoil(node, self.distort)


class Silent(Wrong):
    """irexec with a wrong layer, that exposes no layers of some types; None: no layers at all."""

    def __init__(self, layer: str, types: Collection[str] | None) -> None:
        super().__init__(layer)
        self.types = types

    def load(self, model: Model) -> Loaded:
        return _Silent(super().load(model), self.types)


class _Silent(Loaded):
    def __init__(self, loaded: Loaded, types: Collection[str] | None) -> None:
        self._loaded, self._types = loaded, types

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._loaded.results(steps)

    def observe(self, steps: Steps, values: Sequence[Value]) -> Sequence[Mapping[Value, Array]]:
        shown = [v for v in values if self._types is not None and v.node.type not in self._types]
        return self._loaded.observe(steps, shown)


class WrongTogether(Wrong):
    """irexec that runs two neighbouring layers as one, with an error, unless the value between them is exposed."""

    def __init__(self, first: str, second: str, *, tells: bool) -> None:
        super().__init__(second)
        self.first, self.tells = first, tells

    def load(self, model: Model) -> Loaded:
        return _Together(self, model)


class _Together(Loaded):
    def __init__(self, mock: WrongTogether, model: Model) -> None:
        self._mock, self._model = mock, model
        names = [node.friendly_name for node in model.nodes if node.type != "Parameter"]
        self._both = mock.first in names and mock.layer in names
        leaving = [value.node.friendly_name for result in model.results for value in result.inputs if value is not None]
        self._shown = mock.first in leaving

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._run(self._both and not self._shown).results(steps)

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        shown = self._shown or any(value.node.friendly_name == self._mock.first for value in values)
        return self._run(self._both and not shown).observe(steps, values)

    def fused(self) -> list[list[str]]:
        return [[self._mock.first, self._mock.layer]] if self._mock.tells else []

    def _run(self, is_wrong: bool) -> Aligned:
        other = copied(self._model)
        if is_wrong:
            self._mock.plant(other)
        return Aligned(align(self._model, other))


def spoil(node: Node, distort: Distort) -> None:
    assert node.operator is not None
    node.operator = wrong(node.operator, distort)
