"""Harmless changes for `verdicts.py`: other files of the same network, with the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from irexec import Model, Node
from irexec import opset15 as ops
from irexec.model.graph.copies import copied
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.order import ordered
from irexec.model.inference import infer_types

KINDS: dict[str, Callable[[Model], bool]] = {}
"""Name of a kind of change → a function that applies it to a model, and returns False if it does not apply."""


def harmless(model: Model) -> Iterator[tuple[str, Model]]:
    """Yield the model with harmless changes of each kind."""
    for name, change in KINDS.items():
        copy = copied(model)
        if change(copy):
            copy.nodes = ordered([*copy.parameters, *copy.sinks, *copy.results])
            infer_types(copy)
            yield name, copy


def kind(change: Callable[[Model], bool]) -> Callable[[Model], bool]:
    KINDS[change.__name__.replace("_", " ")] = change
    return change


def layers(model: Model) -> list[Node]:
    constant = constant_nodes(model)
    return [n for n in model.nodes if n.type not in ("Parameter", "Result", "Assign", "Const") and n not in constant]


@kind
def renamed(model: Model) -> bool:
    for number, node in enumerate(model.nodes):
        node.friendly_name = f"layer.{number}"
        for value in node.outputs:
            value.names = set()
    return True


@kind
def renumbered(model: Model) -> bool:
    """Number names as an exporter does, shifted by one layer of a type."""
    for node in model.nodes:
        for value in node.outputs:
            value.names = set()
    for type in {node.type for node in layers(model)}:
        nodes = [node for node in layers(model) if node.type == type]
        names = [node.friendly_name for node in nodes]
        for node, name in zip(nodes, [*names[1:], names[0]], strict=True):
            node.friendly_name = name
    return True


@kind
def numbered_tensors(model: Model) -> bool:
    """Replace names by numbers, each of which was the name of another layer."""
    for number, node in enumerate(reversed(model.nodes)):
        node.friendly_name = str(number)
        for value in node.outputs:
            value.names = {str(number)}
    return True


@kind
def commuted(model: Model) -> bool:
    nodes = [n for n in layers(model) if n.type in ("Add", "Multiply") and len(n.inputs) == 2]
    for node in nodes:
        node.inputs = [node.inputs[1], node.inputs[0]]
    return bool(nodes)


@kind
def no_operation_inserted(model: Model) -> bool:
    """Insert a Convert to the same type after every third layer."""
    for node in layers(model)[::3]:
        value = node.outputs[0]
        made = ops.convert(value, str(value.element_type), name=f"{node.friendly_name}/same")
        value.replace_uses(made.outputs[0], [made])
    return True


@kind
def doubled_and_halved(model: Model) -> bool:
    nodes = [n for n in layers(model) if str(n.outputs[0].element_type) == "f32" and n.type != "ReadValue"]
    nodes = [n for n in nodes if all(u.type not in ("Assign", "Loop", "TensorIterator") for u in n.outputs[0].users)]
    for node in nodes[:: max(1, len(nodes) // 4)]:
        value = node.outputs[0]
        two, half = (ops.constant(np.array(x), "f32") for x in (2.0, 0.5))
        made = ops.multiply(value, two)
        value.replace_uses(ops.multiply(made, half).outputs[0], [made])
    return bool(nodes)


@kind
def scaled_weights(model: Model) -> bool:
    """Halve weights, and double the product."""
    done = False
    for node in layers(model):
        given = node.inputs[1] if node.type in ("MatMul", "Convolution") else None
        if given is None or given.node.constant is None or str(given.element_type) != "f32":
            continue
        node.replace_input_with(1, ops.constant(given.node.constant * np.float32(0.5), "f32").outputs[0])
        made = ops.multiply(node.outputs[0], ops.constant(np.array(2.0), "f32"))
        node.outputs[0].replace_uses(made.outputs[0], [made])
        done = True
    return done


@kind
def transposed_constants(model: Model) -> bool:
    """Store weights transposed, and let the product transpose them."""
    done = False
    for node in layers(model):
        given = node.inputs[1] if node.type == "MatMul" else None
        if given is None or given.node.constant is None or given.node.constant.ndim != 2:
            continue
        flipped = np.ascontiguousarray(given.node.constant.T)
        node.replace_input_with(1, ops.constant(flipped, given.element_type).outputs[0])
        node.attributes = node.attributes | {"transpose_b": not node.attributes.get("transpose_b", False)}
        done = True
    return done


@kind
def constants_computed(model: Model) -> bool:
    """Compute weights as the sum of themselves and zeros."""
    done = False
    for node in list(layers(model)):
        for port, value in enumerate(node.inputs):
            if value is not None and value.node.type == "Const" and str(value.element_type) == "f32":
                zero = ops.constant(np.array(0.0), "f32")
                node.replace_input_with(port, ops.add(value, zero).outputs[0])
                done = True
    return done


@kind
def open_reshape_targets(model: Model) -> bool:
    """Replace one extent of each Reshape's target by -1."""
    done = False
    for node in layers(model):
        given = node.inputs[1] if node.type == "Reshape" else None
        target = None if given is None else node.inputs[1].node.constant
        if target is None or target.ndim != 1 or (target < 0).any() or not target.size:
            continue
        opened = target.copy()
        opened[int(np.argmax(target))] = -1
        node.replace_input_with(1, ops.constant(opened, given.element_type).outputs[0])
        done = True
    return done


@kind
def division_as_product(model: Model) -> bool:
    """Replace x / c by x * (1 / c), and x - c by x + (-c)."""
    done = False
    for node in layers(model):
        given = node.inputs[1] if node.type in ("Divide", "Subtract") and len(node.inputs) == 2 else None
        if given is None or given.node.constant is None or str(given.element_type) != "f32":
            continue
        array = given.node.constant
        other = ops.constant(1 / array if node.type == "Divide" else -array, "f32")
        made = (ops.multiply if node.type == "Divide" else ops.add)(node.inputs[0], other, name=node.friendly_name)
        node.outputs[0].replace_uses(made.outputs[0], [made])
        done = True
    return done


@kind
def layers_reordered(model: Model) -> bool:
    """Use another topological order: layers that later results need come first."""
    model.results[:] = model.results[:]
    model.nodes = ordered([*model.results[::-1], *model.sinks[::-1], *model.parameters])
    return True
