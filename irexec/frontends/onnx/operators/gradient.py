"""Translator of Gradient of ai.onnx.preview.training: the graph that computes a value is differentiated backwards.

Source: ONNX operator page Gradient-1. The gradients are computed by IR operators, node by node.
"""

from __future__ import annotations

from collections.abc import Callable

from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Node, Value
from irexec.model.graph.order import ordered

# A node and the derivative with respect to its output → the derivatives with respect to its inputs.
Rule = Callable[[Op, Node, Value], list[Value]]


def _binary(op: Op, type: str, a: Value, b: Value) -> Value:
    return op.make(type, a, b)


def _negative(op: Op, x: Value) -> Value:
    return op.make("Negative", x)


def _product(op: Op, node: Node, back: Value) -> list[Value]:
    a, b = _inputs(node)
    return [_binary(op, "Multiply", back, b), _binary(op, "Multiply", back, a)]


def _quotient(op: Op, node: Node, back: Value) -> list[Value]:
    _, b = _inputs(node)
    first = _binary(op, "Divide", back, b)
    return [first, _negative(op, _binary(op, "Multiply", first, node.outputs[0]))]


def _matrices(op: Op, node: Node, back: Value) -> list[Value]:
    a, b = _inputs(node)
    plain = not (node.attributes["transpose_a"] or node.attributes["transpose_b"])
    if not plain or not a.type.shape.rank == b.type.shape.rank == 2:
        op.refuse("the derivative of this matrix product is not supported")
    of_a = op.make("MatMul", back, b, transpose_b=True)
    return [of_a, op.make("MatMul", a, back, transpose_a=True)]


def _root(op: Op, node: Node, back: Value) -> list[Value]:
    return [_binary(op, "Divide", back, _binary(op, "Add", node.outputs[0], node.outputs[0]))]


def _sigmoid(op: Op, node: Node, back: Value) -> list[Value]:
    y = node.outputs[0]
    rest = _binary(op, "Subtract", op.number_of(1, y), y)
    return [_binary(op, "Multiply", back, _binary(op, "Multiply", y, rest))]


def _tanh(op: Op, node: Node, back: Value) -> list[Value]:
    y = node.outputs[0]
    return [_binary(op, "Multiply", back, _binary(op, "Subtract", op.number_of(1, y), _binary(op, "Multiply", y, y)))]


def _rectified(op: Op, node: Node, back: Value) -> list[Value]:
    above = _binary(op, "Greater", _inputs(node)[0], op.number_of(0, back))
    return [op.make("Select", above, back, op.number_of(0, back))]


_RULES: dict[str, Rule] = {
    "Add": lambda op, node, back: [back, back],
    "Subtract": lambda op, node, back: [back, _negative(op, back)],
    "Multiply": _product,
    "Divide": _quotient,
    "MatMul": _matrices,
    "Negative": lambda op, node, back: [_negative(op, back)],
    "Identity": lambda op, node, back: [back],
    "Exp": lambda op, node, back: [_binary(op, "Multiply", back, node.outputs[0])],
    "Log": lambda op, node, back: [_binary(op, "Divide", back, _inputs(node)[0])],
    "Sqrt": _root,
    "Sigmoid": _sigmoid,
    "Tanh": _tanh,
    "ReLU": _rectified,
}


@translates("Gradient", since=(1,), domain="ai.onnx.preview.training")
def _gradient(op: Op) -> list[Value]:
    """Translate a Gradient. Its inputs must be the values that `xs` and `zs` name; other values are not supported."""
    of, by, fixed = op.text("y"), op.texts("xs") or [], op.texts("zs") or []
    named = [op.named(name) for name in (*by, *fixed)]
    target = op.named(of)
    if target is None or None in named or [op.get(i) for i in range(len(named))] != named:
        op.refuse("the inputs are not the values named by xs and zs, or no earlier node produces y")
    wanted = [value for value in named[: len(by)] if value is not None]
    return [
        back if back is not None else _filled(op, 0, x)
        for x, back in zip(wanted, _walked(op, target, wanted), strict=True)
    ]


def _walked(op: Op, target: Value, wanted: list[Value]) -> list[Value | None]:
    """Return the derivatives of the sum of a value's elements; None for values that it does not depend on."""
    nodes = ordered([target.node])
    depends = set(wanted)
    for node in nodes:
        if any(value in depends for value in node.inputs):
            depends.update(node.outputs)
    found: dict[Value, Value] = {target: _filled(op, 1, target)}
    for node in reversed(nodes):
        back = found.get(node.outputs[0]) if node.outputs else None
        if back is None or node.outputs[0] in wanted or not any(value in depends for value in node.inputs):
            continue
        rule = _RULES.get(node.type)
        if rule is None:
            op.refuse(f"the derivative of {node.type} is not supported")
        for value, part in zip(_inputs(node), rule(op, node, back), strict=True):
            if value in depends:
                part = _summed(op, part, value)
                found[value] = part if value not in found else _binary(op, "Add", found[value], part)
    return [found.get(value) for value in wanted]


def _inputs(node: Node) -> list[Value]:
    return [value for value in node.inputs if value is not None]


def _filled(op: Op, number: int, like: Value) -> Value:
    """Return a tensor of the value's shape, filled with a number."""
    return op.make("Broadcast", op.number_of(number, like), op.shape_of(like), opset=3)


def _summed(op: Op, back: Value, like: Value) -> Value:
    """Return the derivative with respect to a value that was broadcast, summed along the axes that were added."""
    if back.type.shape.is_dynamic or like.type.shape.is_dynamic:
        op.refuse("the derivative requires static shapes")
    shape, wanted = back.type.shape.to_shape(), like.type.shape.to_shape()
    if list(shape) == list(wanted):
        return back
    more = len(shape) - len(wanted)
    axes = [*range(more), *(i + more for i, extent in enumerate(wanted) if extent == 1 != shape[i + more])]
    return op.reshape(op.make("ReduceSum", back, axes, keep_dims=True), list(wanted))
