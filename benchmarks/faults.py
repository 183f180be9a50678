"""Faults for `verdicts.py`: models with one fault, and the layers that a verdict may name for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch

import numpy as np

import irexec
from irexec import Model, Node, Value
from irexec import opset15 as ops
from irexec.core.diagnostics import IRError
from irexec.model.graph.copies import copy_with_map
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types
from irexec.ops.spec.constraints import ConstraintError

SKIPPED = ("Parameter", "Result", "Const", "Assign")
KINDS: dict[str, Callable[[Mutation, Node], bool]] = {}
"""Name of a kind of fault → a function that applies it to a layer, and returns False if it does not apply."""
_REPLACED = {"Add": "subtract", "Subtract": "add", "Multiply": "add", "Divide": "multiply", "ReLU": "sigmoid"}
_REPLACED |= {"Sigmoid": "tanh", "Tanh": "sigmoid", "Gelu": "relu", "Swish": "relu", "Sqrt": "abs", "Exp": "abs"}


@dataclass
class Mutation:
    """A copy of a model to be changed. `names`: the layers of the correct model that a verdict may name."""

    model: Model
    constant: set[Node]
    names: set[str]
    rng: np.random.Generator

    def values(self, node: Node) -> list[int]:
        """Return the positions of inputs that are not constant."""
        return [k for k, v in enumerate(node.inputs) if v is not None and v.node not in self.constant]

    def constants(self, node: Node) -> list[int]:
        return [k for k, v in enumerate(node.inputs) if v is not None and v.node.type == "Const"]

    def replaced(self, node: Node, port: int, change: Callable[[np.ndarray], np.ndarray]) -> bool:
        """Replace a constant of a layer; return False if its values stay the same."""
        given = node.inputs[port]
        assert given is not None and given.node.constant is not None
        before = given.node.constant
        after = change(before.copy()).astype(before.dtype)
        if after.shape == before.shape and np.array_equal(after, before):
            return False
        node.replace_input_with(port, ops.constant(after, given.element_type).outputs[0])
        return True


@dataclass(frozen=True)
class Planted:
    """A model with a fault of a kind at a layer."""

    kind: str
    layer: str
    model: Model
    names: frozenset[str]


def planted(model: Model, seed: int = 0, each: int = 1, pattern: str = "*") -> Iterator[Planted]:
    """Yield models with one fault: each kind that matches the pattern `each` times, at random layers."""
    rng = np.random.default_rng(seed)
    constant = constant_nodes(model)
    layers = [k for k, node in enumerate(model.nodes) if node.type not in SKIPPED and node not in constant]
    for kind, plant in KINDS.items():
        if not fnmatch(kind, pattern):
            continue
        made = 0
        for place in rng.permutation(layers):
            if made == each:
                break
            copy, copies = copy_with_map(model)
            node = copies[model.nodes[place]]
            mutation = Mutation(copy, constant_nodes(copy), {node.friendly_name}, rng)
            try:
                # A change to a value that the operator does not accept is refused by the attribute itself.
                if not plant(mutation, node):
                    continue
                copy.nodes = ordered([*copy.parameters, *copy.sinks, *copy.results])
                infer_types(copy)
                irexec.compile_model(copy)
            except (IRError, ConstraintError):
                continue
            made += 1
            yield Planted(kind, node.friendly_name, copy, frozenset(mutation.names))


def kind(plant: Callable[[Mutation, Node], bool]) -> Callable[[Mutation, Node], bool]:
    KINDS[plant.__name__.replace("_", " ")] = plant
    return plant


def _real(value: Value | None) -> bool:
    return value is not None and bool(value.element_type.is_real)


# Constants


def _constant(mutation: Mutation, node: Node, real: bool, change: Callable[[np.ndarray], np.ndarray]) -> bool:
    ports = [k for k in mutation.constants(node) if _real(node.inputs[k]) == real]
    return bool(ports) and mutation.replaced(node, int(mutation.rng.choice(ports)), change)


@kind
def weights_3_percent_larger(mutation: Mutation, node: Node) -> bool:
    return _constant(mutation, node, True, lambda a: a * 1.03)


@kind
def one_weight(mutation: Mutation, node: Node) -> bool:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[array.size // 2 : array.size // 2 + 1] += 1
        return array

    return _constant(mutation, node, True, change)


@kind
def rounded_weights(mutation: Mutation, node: Node) -> bool:
    return _constant(mutation, node, True, lambda a: a.astype(np.float16))


@kind
def negated_constant(mutation: Mutation, node: Node) -> bool:
    return _constant(mutation, node, True, lambda a: -a)


@kind
def zeroed_channel(mutation: Mutation, node: Node) -> bool:
    def change(array: np.ndarray) -> np.ndarray:
        if array.ndim > 1:
            array[0] = 0
        return array

    return _constant(mutation, node, True, change)


@kind
def reversed_weights(mutation: Mutation, node: Node) -> bool:
    return _constant(mutation, node, True, lambda a: a[..., ::-1] if a.ndim > 1 else a)


@kind
def transposed_weights(mutation: Mutation, node: Node) -> bool:
    return _constant(
        mutation, node, True, lambda a: a.swapaxes(-1, -2) if a.ndim > 1 and a.shape[-1] == a.shape[-2] else a
    )


@kind
def whole_number(mutation: Mutation, node: Node) -> bool:
    def change(array: np.ndarray) -> np.ndarray:
        first = array.reshape(-1)[:1]
        first[...] = ~first if array.dtype == bool else first + 1
        return array

    return _constant(mutation, node, False, change)


@kind
def reversed_whole_numbers(mutation: Mutation, node: Node) -> bool:
    return _constant(mutation, node, False, lambda a: a[::-1] if a.ndim == 1 else a)


@kind
def swapped_last_two(mutation: Mutation, node: Node) -> bool:
    return _constant(mutation, node, False, lambda a: a[[*range(a.size - 2), -1, -2]] if a.ndim == 1 < a.size else a)


# Attributes


def _attribute(node: Node, types: type | tuple[type, ...], change: Callable[[object], object]) -> bool:
    for name, value in node.attributes.items():
        if isinstance(value, types) and name not in ("element_type", "destination_type", "variable_id", "shape"):
            node.attributes = node.attributes | {name: change(value)}
            return True
    return False


@kind
def number_attribute(mutation: Mutation, node: Node) -> bool:
    return _attribute(node, float, lambda v: v * 2 + 0.01 if isinstance(v, float) else v)


@kind
def flag_attribute(mutation: Mutation, node: Node) -> bool:
    return _attribute(node, bool, lambda v: not v)


@kind
def axis_attribute(mutation: Mutation, node: Node) -> bool:
    axis = node.attributes.get("axis")
    if not isinstance(axis, int) or isinstance(axis, bool):
        return False
    node.attributes = node.attributes | {"axis": axis - 1 if axis > 0 else axis - 1 if axis < 0 else 1}
    return True


@kind
def padding_attribute(mutation: Mutation, node: Node) -> bool:
    begin, end = node.attributes.get("pads_begin"), node.attributes.get("pads_end")
    if not begin or not end or not any(begin):
        return False
    moved = (tuple(b + 1 for b in begin), tuple(e - 1 for e in end))
    node.attributes = node.attributes | {"pads_begin": moved[0], "pads_end": moved[1]}
    return min(moved[1]) >= 0


@kind
def strides_attribute(mutation: Mutation, node: Node) -> bool:
    strides = node.attributes.get("strides")
    if not strides:
        return False
    node.attributes = node.attributes | {"strides": tuple(3 - s if s in (1, 2) else 1 for s in strides)}
    return True


# Wiring


@kind
def swapped_inputs(mutation: Mutation, node: Node) -> bool:
    if node.type not in ("Subtract", "Divide", "MatMul", "Concat", "Power", "Less", "Greater"):
        return False
    if len(mutation.values(node)) < 2:
        return False
    node.inputs = [node.inputs[1], node.inputs[0], *node.inputs[2:]]
    return True


@kind
def other_edge(mutation: Mutation, node: Node) -> bool:
    ports = mutation.values(node)
    port = int(mutation.rng.choice(ports)) if ports else 0
    given = node.inputs[port] if ports else None
    if given is None:
        return False
    before = mutation.model.nodes[: mutation.model.nodes.index(node)]
    others = [
        value
        for other in before
        if other not in mutation.constant and other is not given.node
        for value in other.outputs
        if str(value.type) == str(given.type)
    ]
    if not others:
        return False
    node.replace_input_with(port, others[int(mutation.rng.integers(len(others)))])
    return True


@kind
def skipped_layer(mutation: Mutation, node: Node) -> bool:
    """Let the readers of the layer read its first input instead."""
    given = node.inputs[0] if node.inputs else None
    if given is None or given.node in mutation.constant or str(given.type) != str(node.outputs[0].type):
        return False
    mutation.names |= {reader.friendly_name for reader in node.outputs[0].users}
    node.outputs[0].replace_uses(given)
    return True


@kind
def inserted_layer(mutation: Mutation, node: Node) -> bool:
    if not _real(node.outputs[0]) or node.outputs[0].element_type.bitwidth < 32:
        return False
    mutation.names |= {reader.friendly_name for reader in node.outputs[0].users}
    scale = ops.constant(np.array(1.01), node.outputs[0].element_type)
    made = ops.multiply(node.outputs[0], scale)
    node.outputs[0].replace_uses(made.outputs[0], [made])
    return True


@kind
def other_operator(mutation: Mutation, node: Node) -> bool:
    name = _REPLACED.get(node.type)
    if name is None or node.operator is None:
        return False
    count = 1 if name in ("sigmoid", "tanh", "relu", "abs") else 2
    made = getattr(ops, name)(*node.inputs[:count], name=node.friendly_name)
    node.outputs[0].replace_uses(made.outputs[0], [made])
    return True


@kind
def result_of_another(mutation: Mutation, node: Node) -> bool:
    """Let a result read another layer."""
    result = mutation.model.results[0]
    given = result.inputs[0]
    if given is None or given.node is node or str(given.type) != str(node.outputs[0].type):
        return False
    mutation.names = {result.friendly_name, given.node.friendly_name}
    result.replace_input_with(0, node.outputs[0])
    return True


@kind
def swapped_outputs(mutation: Mutation, node: Node) -> bool:
    if len(node.outputs) < 2 or str(node.outputs[0].type) != str(node.outputs[1].type):
        return False
    first, second = node.outputs[:2]
    mutation.names |= {reader.friendly_name for value in (first, second) for reader in value.users}
    ours, theirs = first.uses(), second.uses()
    for user, port, value in [*((u, p, second) for u, p in ours), *((u, p, first) for u, p in theirs)]:
        user.replace_input_with(port, value)
    return True


@kind
def swapped_assigned_values(mutation: Mutation, node: Node) -> bool:
    """Exchange the values that are assigned to two variables."""
    sinks = [sink for sink in mutation.model.sinks if sink.type == "Assign"]
    if node.type != "ReadValue" or len(sinks) < 2:
        return False
    mine = [sink for sink in sinks if sink.attributes.get("variable_id") == node.attributes.get("variable_id")]
    others = [s for s in sinks if mine and s is not mine[0] and str(s.inputs[0].type) == str(mine[0].inputs[0].type)]
    if not others:
        return False
    first, second = mine[0], others[0]
    a, b = first.inputs[0], second.inputs[0]
    first.replace_input_with(0, b)
    second.replace_input_with(0, a)
    pair = {s.attributes.get("variable_id") for s in (first, second)}
    reads = [n for n in mutation.model.nodes if n.type == "ReadValue" and n.attributes.get("variable_id") in pair]
    mutation.names |= {n.friendly_name for n in (first, second, *reads)}
    return True


@kind
def narrow_type(mutation: Mutation, node: Node) -> bool:
    """Round a value to f16 and back."""
    value = node.outputs[0]
    if str(value.element_type) != "f32":
        return False
    mutation.names |= {reader.friendly_name for reader in value.users}
    narrow = ops.convert(value, "f16")
    made = ops.convert(narrow, "f32")
    value.replace_uses(made.outputs[0], [narrow])
    return True


@kind
def dropped_addition(mutation: Mutation, node: Node) -> bool:
    """Omit an Add of a constant."""
    if node.type != "Add" or not mutation.constants(node):
        return False
    return skipped_layer(mutation, node)
