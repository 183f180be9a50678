"""Further kinds of faults for `faults.py`: errors that keep every shape, and faults in bodies and states."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import numpy as np
from faults import KINDS, Mutation, _constant, _real, kind

from irexec import Node, Value
from irexec import opset15 as ops
from irexec.core.records import replace
from irexec.model.graph.cut import constant_nodes
from irexec.model.graph.order import ordered

# Constants


@kind
def one_sign(mutation: Mutation, node: Node) -> bool:
    """Change the sign of the largest element of a constant."""

    def change(array: np.ndarray) -> np.ndarray:
        if array.size:
            at = int(np.argmax(np.abs(array.astype(np.float64))))
            array.reshape(-1)[at] = -array.reshape(-1)[at]
        return array

    return _constant(mutation, node, True, change)


@kind
def infinite_weight(mutation: Mutation, node: Node) -> bool:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[-1:] = np.inf
        return array

    return _constant(mutation, node, True, change)


@kind
def nan_weight(mutation: Mutation, node: Node) -> bool:
    def change(array: np.ndarray) -> np.ndarray:
        array.reshape(-1)[:1] = np.nan
        return array

    return _constant(mutation, node, True, change)


@kind
def averaged_constant(mutation: Mutation, node: Node) -> bool:
    """Replace a constant by one number for all channels."""
    return _constant(mutation, node, True, lambda a: np.full_like(a, a.astype(np.float64).mean()) if a.size > 1 else a)


@kind
def shifted_constant(mutation: Mutation, node: Node) -> bool:
    """Shift a mask, a table or weights by one position."""
    ports = [k for k in mutation.constants(node) if node.inputs[k].node.constant.size > 1]
    return bool(ports) and mutation.replaced(node, int(mutation.rng.choice(ports)), lambda a: np.roll(a, 1, -1))


@kind
def constant_behind_others(mutation: Mutation, node: Node) -> bool:
    """Change a constant from which another constant is computed: quantized weights, a scale, a zero point."""
    computed = [v for v in node.inputs if v is not None and v.node in mutation.constant and v.node.type != "Const"]
    stack, sources = [value.node for value in computed], list[tuple[Node, int]]()
    while stack:
        reader = stack.pop()
        for port, value in enumerate(reader.inputs):
            if value is not None and value.node.type == "Const":
                sources.append((reader, port))
            elif value is not None:
                stack.append(value.node)
    if not sources:
        return False
    reader, port = sources[int(mutation.rng.integers(len(sources)))]

    def change(array: np.ndarray) -> np.ndarray:
        if array.dtype.kind in "iu":
            array.reshape(-1)[:1] ^= 1
            return array
        return (array.astype(np.float32) * 1.05).astype(array.dtype)

    mutation.names |= {user.friendly_name for value in computed for user in value.users}
    return mutation.replaced(reader, port, change)


# Attributes


def _choices(annotation: Any) -> tuple[Any, ...]:
    """Return the texts that an attribute may have."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    return next((found for part in get_args(annotation) if (found := _choices(part))), ())


@kind
def other_choice(mutation: Mutation, node: Node) -> bool:
    """Choose another mode of rounding, interpolation or padding, Gelu's approximation, or the order of TopK."""
    declared = node.operator.attributes if node.operator is not None else ()
    found = []
    for attribute in declared:
        now = node.all_attributes.get(attribute.name)
        found += [(attribute.name, c) for c in _choices(attribute.annotation) if str(c).lower() != str(now).lower()]
    found = [(name, choice) for name, choice in found if "type" not in name or name == "rounding_type"]
    if not found:
        return False
    name, choice = found[int(mutation.rng.integers(len(found)))]
    node.attributes = node.attributes | {name: choice}
    return True


@kind
def whole_attribute(mutation: Mutation, node: Node) -> bool:
    """Change a number of groups, levels, or parts."""
    for name, value in node.attributes.items():
        if isinstance(value, int) and not isinstance(value, bool) and name not in ("axis", "offset", "size"):
            node.attributes = node.attributes | {name: value // 2 if value > 2 else value + 1}
            return True
    return False


@kind
def swapped_pads(mutation: Mutation, node: Node) -> bool:
    begin, end = node.attributes.get("pads_begin"), node.attributes.get("pads_end")
    if not begin or not end:
        return False
    if begin == end:
        begin, end = begin[::-1], end[::-1]
    node.attributes = node.attributes | {"pads_begin": end, "pads_end": begin}
    return True


@kind
def other_epsilon(mutation: Mutation, node: Node) -> bool:
    name = next((n for n in node.attributes if n in ("eps", "epsilon")), None)
    if name is not None:
        node.attributes = node.attributes | {name: node.attributes[name] * 10}
        return True
    return _constant(
        mutation, node, True, lambda a: a * 10 if a.size == 1 and 0 < abs(float(a.reshape(-1)[0])) < 1e-4 else a
    )


# Wiring


@kind
def dropped_residual(mutation: Mutation, node: Node) -> bool:
    """Replace the sum of two values by one of them."""
    ports = mutation.values(node)
    if node.type not in ("Add", "Multiply", "Subtract") or len(ports) < 2:
        return False
    given = node.inputs[int(mutation.rng.integers(2))]
    if given is None or str(given.type) != str(node.outputs[0].type):
        return False
    mutation.names |= {reader.friendly_name for reader in node.outputs[0].users}
    node.outputs[0].replace_uses(given)
    return True


@kind
def layer_twice(mutation: Mutation, node: Node) -> bool:
    """Apply a layer to its own result."""
    given = node.inputs[0] if node.inputs else None
    if given is None or given.node in mutation.constant or node.has_state or node.bodies:
        return False
    value = node.outputs[0]
    if str(given.type) != str(value.type):
        return False
    mutation.names |= {reader.friendly_name for reader in value.users}
    made = node.again([value, *node.inputs[1:]])
    made.friendly_name = f"{node.friendly_name}/again"
    made.set_outputs([output.type for output in node.outputs])
    value.replace_uses(made.outputs[0], [made])
    return True


@kind
def same_input_twice(mutation: Mutation, node: Node) -> bool:
    """Connect both inputs with the first one."""
    ports = mutation.values(node)
    if len(ports) < 2 or node.inputs[ports[0]] is node.inputs[ports[1]]:
        return False
    one, two = (node.inputs[port] for port in ports[:2])
    if one is None or two is None or str(one.type) != str(two.type):
        return False
    node.replace_input_with(ports[1], one)
    return True


@kind
def truncated_values(mutation: Mutation, node: Node) -> bool:
    """Convert a value to integers of 8 bits and back."""
    return _through(mutation, node.outputs[0], "i8" if _real(node.outputs[0]) else "u8")


@kind
def through_bf16(mutation: Mutation, node: Node) -> bool:
    return str(node.outputs[0].element_type) == "f32" and _through(mutation, node.outputs[0], "bf16")


def _through(mutation: Mutation, value: Value, kind: str) -> bool:
    before = str(value.element_type)
    if before == "boolean" or not value.users:
        return False
    mutation.names |= {reader.friendly_name for reader in value.users}
    narrow = ops.convert(value, kind)
    made = ops.convert(narrow, before)
    value.replace_uses(made.outputs[0], [narrow])
    return True


@kind
def clamped_values(mutation: Mutation, node: Node) -> bool:
    """Limit values, as a narrow type that saturates does."""
    value = node.outputs[0]
    if str(value.element_type) != "f32" or not value.users:
        return False
    mutation.names |= {reader.friendly_name for reader in value.users}
    made = ops.clamp(value, -0.5, 0.5)
    value.replace_uses(made.outputs[0], [made])
    return True


@kind
def swapped_halves(mutation: Mutation, node: Node) -> bool:
    """Rotate the last axis of a value by half, as in a rotary embedding of the other kind."""
    value = node.outputs[0]
    shape = value.type.shape
    if not _real(value) or shape.rank is None or not shape.rank or not value.users:
        return False
    extent = shape[-1]
    if not extent.is_static or extent.value < 2:
        return False
    mutation.names |= {reader.friendly_name for reader in value.users}
    made = ops.roll(value, np.int64([extent.value // 2]), np.int64([-1]))
    value.replace_uses(made.outputs[0], [made])
    return True


# States and bodies


@kind
def stale_state(mutation: Mutation, node: Node) -> bool:
    """Assign a variable its own old value."""
    if node.type != "ReadValue":
        return False
    name = node.attributes.get("variable_id")
    for sink in mutation.model.sinks:
        given = sink.inputs[0] if sink.type == "Assign" and sink.attributes.get("variable_id") == name else None
        if given is not None and given is not node.outputs[0]:
            sink.replace_input_with(0, node.outputs[0])
            mutation.names.add(sink.friendly_name)
            return True
    return False


@kind
def other_back_edge(mutation: Mutation, node: Node) -> bool:
    """Exchange the values that two back edges pass to the next iteration."""
    for body in node.bodies:
        fed = [entry for entry in body.inputs if entry.back is not None]
        types = [str(body.model.parameters[entry.parameter].outputs[0].type) for entry in fed]
        for i, one in enumerate(fed):
            for j in range(i + 1, len(fed)):
                if types[i] == types[j]:
                    one.back, fed[j].back = fed[j].back, one.back
                    return True
    return False


@kind
def reversed_slices(mutation: Mutation, node: Node) -> bool:
    """Let the iterations read an input from the end."""
    for body in node.bodies:
        for entry in body.inputs:
            if entry.slicing is not None:
                was = entry.slicing
                entry.slicing = replace(was, start=was.end, end=was.start, stride=-was.stride)
                return True
    return False


def _in_a_body(mutation: Mutation, node: Node) -> bool:
    if not node.bodies:
        return False
    body = node.bodies[int(mutation.rng.integers(len(node.bodies)))].model
    skipped = ("Parameter", "Result", "Const")
    constant = constant_nodes(body)
    layers = [inner for inner in body.nodes if inner.type not in skipped and inner not in constant]
    kinds = [plant for name, plant in KINDS.items() if not name.startswith("in a body")]
    for _ in range(50 if layers else 0):
        inner = layers[int(mutation.rng.integers(len(layers)))]
        inside = Mutation(body, constant, {inner.friendly_name}, mutation.rng)
        if kinds[int(mutation.rng.integers(len(kinds)))](inside, inner):
            body.nodes = ordered([*body.parameters, *body.sinks, *body.results])
            mutation.names = inside.names
            return True
    return False


for number in range(4):
    KINDS[f"in a body {number}"] = _in_a_body


@kind
def flipped_flag_of_two(mutation: Mutation, node: Node) -> bool:
    """Invert the second flag of a layer: its other transposition, `exclude-pad`, or `do_softmax`."""
    flags = [name for name, value in node.all_attributes.items() if isinstance(value, bool)]
    if len(flags) < 2:
        return False
    node.attributes = node.attributes | {flags[-1]: not node.all_attributes[flags[-1]]}
    return True
