"""Planted faults: runtimes that are irexec, except for models that contain a certain pattern of layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from irexec import Model, Node, Value
from irexec.core.types import Array
from irexec.model.graph.copies import copy_with_map
from irexec.tools.compare.align import align
from irexec.tools.compare.runtimes.runtime import Aligned, CannotRun, Died, Loaded, Runtime, Steps
from support.mocks import Distort, slightly_larger, spoil

Pattern = Callable[[Model], list[Node]]
"""A function that returns the wrong layers of a model."""


@dataclass(frozen=True)
class Planted(Runtime):
    """A fault: in models with the pattern its layers are wrong ("differs"), or the model cannot be run."""

    pattern: Pattern
    effect: str = "differs"
    distort: Distort = slightly_larger
    name: str = "planted"
    runs_parts: bool = True

    def load(self, model: Model) -> Loaded:
        found = self.pattern(model)
        if found and self.effect == "refuses":
            raise CannotRun(f"Check 'is_known()' failed at {found[0].friendly_name}: no primitive for {found[0].type}")
        if found and self.effect in ("crash", "hang"):
            raise Died(self.effect, f"{self.name} crashed (SIGSEGV): in {found[0].friendly_name}")
        return _Spoiled(model, found, self.distort)


class _Spoiled(Loaded):
    def __init__(self, model: Model, found: Sequence[Node], distort: Distort) -> None:
        self._model = model
        other, copies = copy_with_map(model)
        for node in found:
            spoil(copies[node], distort)
        self._other = Aligned(align(model, other))

    def results(self, steps: Steps) -> list[list[Array]]:
        return self._other.results(steps)

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        return self._other.observe(steps, values)


@dataclass(frozen=True)
class Forgetful(Planted):
    """A fault: variables keep their initial values."""

    def load(self, model: Model) -> Loaded:
        return _Forgetting(model, (), self.distort)


class _Forgetting(_Spoiled):
    def results(self, steps: Steps) -> list[list[Array]]:
        return [super(_Forgetting, self).results([step])[0] for step in steps]

    def observe(self, steps: Steps, values: Sequence[Value]) -> list[dict[Value, Array]]:
        return [super(_Forgetting, self).observe([step], values)[0] for step in steps]


@dataclass(frozen=True)
class Exchanging(Planted):
    """A fault: layers read their inputs in reverse order."""

    def load(self, model: Model) -> Loaded:
        other, copies = copy_with_map(model)
        for node in self.pattern(model):
            copies[node].inputs = [*reversed(copies[node].inputs)]
        return Aligned(align(model, other))


# Patterns


def of_type(type: str) -> Pattern:
    return lambda model: [node for node in model.walk() if node.type == type]


def chain(*types: str) -> Pattern:
    """Return the pattern of layers of these types, each reading the one before; the last is wrong."""

    def ends(node: Node, types: Sequence[str]) -> bool:
        if node.type != types[-1]:
            return False
        return len(types) == 1 or any(v is not None and ends(v.node, types[:-1]) for v in node.inputs)

    return lambda model: [node for node in model.walk() if ends(node, types)]


def fork(*types: str) -> Pattern:
    """Return the pattern of a layer of the first type that layers of all other types read; the last of these is
    wrong.
    """

    def find(model: Model) -> list[Node]:
        readers: dict[Node, list[Node]] = {}
        for node in model.walk():
            for value in node.inputs:
                if value is not None:
                    readers.setdefault(value.node, []).append(node)
        wrong = []
        for node, reading in readers.items():
            if node.type == types[0] and {*types[1:]} <= {reader.type for reader in reading}:
                wrong += [reader for reader in reading if reader.type == types[-1]]
        return wrong

    return find


def together(*types: str) -> Pattern:
    """Return the pattern of layers of all these types anywhere in the model; those of the first type are wrong."""

    def find(model: Model) -> list[Node]:
        nodes = list(model.walk())
        return [n for n in nodes if n.type == types[0]] if {*types} <= {n.type for n in nodes} else []

    return find


def where(type: str, holds: Callable[[Node], bool]) -> Pattern:
    return lambda model: [node for node in model.walk() if node.type == type and holds(node)]


def attribute(type: str, name: str, value: Any) -> Pattern:
    return where(type, lambda node: node.attributes.get(name) == value)


def wide(type: str, axis: int, least: int) -> Pattern:
    """Return the pattern of layers whose output has at least this extent."""

    def holds(node: Node) -> bool:
        shape = node.outputs[0].type.shape
        return shape.rank is not None and shape[axis].min >= least

    return where(type, holds)


def large_values(array: Array) -> Array:
    """Return the array with wrong values in place of the largest tenth."""
    return np.where(array >= np.quantile(array.astype(np.float64), 0.9), slightly_larger(array), array)


def not_a_number(array: Array) -> Array:
    changed = array.copy()
    changed.reshape(-1)[:1] = np.nan
    return changed


# The faults


@dataclass(frozen=True)
class Fault:
    """A planted fault in one of the models, and the smallest number of layers that show it."""

    model: str
    name: str
    planted: Planted
    minimum: int


def faults() -> Iterator[Fault]:
    """Yield faults of different kinds in the models `classifier`, `transformer` and `loop`."""
    for type in ("Convolution", "GroupConvolution", "BatchNormInference", "ReLU", "MaxPool", "SoftMax", "Add"):
        yield Fault("classifier", f"wrong {type}", Planted(of_type(type)), 1)
    # The mask gets a wrong shape, which the attention rejects: all layers on the path between them are needed.
    yield Fault("transformer", "wrong Gather of a length", Planted(of_type("Gather")), 4)
    yield Fault("transformer", "ShapeOf and Gather run as one", Planted(chain("ShapeOf", "Gather")), 7)
    for type in ("MatMul", "MVN", "Gelu", "ScaledDotProductAttention", "Transpose", "Concat"):
        yield Fault("transformer", f"wrong {type}", Planted(of_type(type)), 1)
    pairs = [
        ("Convolution", "BatchNormInference"),
        ("BatchNormInference", "ReLU"),
        ("ReLU", "MaxPool"),
        ("MatMul", "Add"),
    ]
    for pair in pairs:
        yield Fault("classifier", f"{' and '.join(pair)} run as one", Planted(chain(*pair)), 2)
    pairs = [("Multiply", "Add"), ("Add", "Gelu"), ("Gelu", "MatMul"), ("Reshape", "Transpose"), ("MatMul", "Add")]
    for pair in pairs:
        yield Fault("transformer", f"{' and '.join(pair)} run as one", Planted(chain(*pair)), 2)
    for effect in ("refuses", "crash", "hang"):
        yield Fault("classifier", f"{effect} at GroupConvolution", Planted(of_type("GroupConvolution"), effect), 1)
        three = chain("Convolution", "BatchNormInference", "ReLU")
        yield Fault("classifier", f"{effect} at three in a row", Planted(three, effect), 3)
        yield Fault("transformer", f"{effect} at Gelu", Planted(of_type("Gelu"), effect), 1)
        yield Fault("transformer", f"{effect} at MatMul, Add, Gelu", Planted(chain("MatMul", "Add", "Gelu"), effect), 3)
    yield Fault("classifier", "three in a row", Planted(chain("Convolution", "BatchNormInference", "ReLU")), 3)
    yield Fault("classifier", "four in a row", Planted(chain("MaxPool", "ReduceMean", "MatMul", "Add")), 4)
    yield Fault("transformer", "three in a row", Planted(chain("MVN", "Multiply", "Add")), 3)
    yield Fault("transformer", "a value read twice", Planted(fork("Concat", "ShapeOf", "ScaledDotProductAttention")), 3)
    yield Fault("transformer", "crash at a value read twice", Planted(fork("Add", "MVN", "Add"), "crash"), 3)
    yield Fault("classifier", "far apart", Planted(together("SoftMax", "MaxPool")), 2)
    yield Fault("transformer", "far apart", Planted(together("MatMul", "Range", "Gelu")), 3)
    yield Fault("classifier", "crash far apart", Planted(together("Convolution", "ReduceMean"), "crash"), 2)
    strides = attribute("GroupConvolution", "strides", (2, 2))
    yield Fault("classifier", "strides of two", Planted(strides), 1)
    yield Fault("classifier", "crash with strides of two", Planted(strides, "crash"), 1)
    yield Fault("transformer", "a gelu that is not exact", Planted(attribute("Gelu", "approximation_mode", "ERF")), 1)
    yield Fault("classifier", "many channels", Planted(wide("Convolution", 1, 64)), 1)
    yield Fault("transformer", "a wide product", Planted(wide("MatMul", 2, 256)), 1)
    for model, type in (("classifier", "ReLU"), ("classifier", "MatMul"), ("transformer", "MVN")):
        yield Fault(model, f"large values of {type}", Planted(of_type(type), distort=large_values), 1)
        yield Fault(model, f"NaN from {type}", Planted(of_type(type), distort=not_a_number), 1)
    yield Fault("transformer", "a variable", Forgetful(of_type("ReadValue")), 2)
    yield Fault("loop", "wrong Tanh in a body", Planted(of_type("Tanh")), 1)
    yield Fault("loop", "crash at Tanh in a body", Planted(of_type("Tanh"), "crash"), 1)
    yield Fault("loop", "two in a body", Planted(chain("Multiply", "Tanh")), 2)
    yield Fault("loop", "refuses two in a body", Planted(chain("Multiply", "Tanh"), "refuses"), 2)
    yield Fault("loop", "refuses loops", Planted(of_type("TensorIterator"), "refuses"), 2)
