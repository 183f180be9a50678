"""Translators of ONNX's training domain: one optimizer step for each tensor, in IR operators.

Source: ONNX operator pages of ai.onnx.preview.training.
"""

from __future__ import annotations

from irexec.core.types import F32
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_DOMAIN = "ai.onnx.preview.training"


def _parts(op: Op, count: int) -> list[list[Value]]:
    """Return the inputs after rate and step in `count` groups: tensors, gradients, and accumulated states."""
    size, rest = divmod(len(op) - 2, count)
    if rest or not size:
        op.refuse(f"there are {len(op) - 2} inputs after the first two, expected a multiple of {count}")
    return [[op[2 + group * size + i] for i in range(size)] for group in range(count)]


def _do(op: Op, type: str, a: Value, b: Value | float) -> Value:
    return op.make(type, a, b if isinstance(b, Value) else op.number_of(b, a))


def _regularised(op: Op, x: Value, gradient: Value) -> Value:
    return _do(op, "Add", _do(op, "Multiply", x, op.number("norm_coefficient", 0.0)), gradient)


def _blend(op: Op, a: Value, weight: float, b: Value, other: float) -> Value:
    return _do(op, "Add", _do(op, "Multiply", a, weight), _do(op, "Multiply", b, other))


@translates("Adagrad", since=(1,), domain=_DOMAIN)
def _adagrad(op: Op) -> list[Value]:
    steps = op.convert(op[1], op.kind())
    decay = _do(op, "Add", _do(op, "Multiply", steps, op.number("decay_factor", 0.0)), 1.0)
    rate = _do(op, "Divide", op[0], decay)
    made = []
    for x, gradient, squares in zip(*_parts(op, 3), strict=True):
        gradient = _regularised(op, x, gradient)
        squares = _do(op, "Add", squares, _do(op, "Multiply", gradient, gradient))
        root = _do(op, "Add", op.make("Sqrt", squares), op.number("epsilon", 1e-6))
        change = _do(op, "Divide", _do(op, "Multiply", rate, gradient), root)
        made.append((_do(op, "Subtract", x, change), squares))
    return [value for group in zip(*made, strict=True) for value in group]


@translates("Adam", since=(1,), domain=_DOMAIN)
def _adam(op: Op) -> list[Value]:
    alpha, beta = op.number("alpha", 0.9), op.number("beta", 0.999)
    steps = op.convert(op[1], F32)
    powers = [op.make("Power", op.number_of(base, steps), steps) for base in (alpha, beta)]
    below = [op.make("Subtract", op.number_of(1.0, steps), power) for power in powers]
    adjusted = _do(op, "Divide", op.make("Sqrt", below[1]), below[0])
    begun = op.make("Greater", steps, op.number_of(0.0, steps))
    factor = op.make("Select", begun, adjusted, op.number_of(1.0, steps))
    rate = _do(op, "Multiply", op[0], op.convert(factor, op.kind()))
    made = []
    for x, gradient, mean, squares in zip(*_parts(op, 4), strict=True):
        gradient = _regularised(op, x, gradient)
        mean = _blend(op, mean, alpha, gradient, 1 - alpha)
        squares = _blend(op, squares, beta, _do(op, "Multiply", gradient, gradient), 1 - beta)
        root = _do(op, "Add", op.make("Sqrt", squares), op.number("epsilon", 1e-6))
        moved = _do(op, "Subtract", x, _do(op, "Divide", _do(op, "Multiply", rate, mean), root))
        made.append((_do(op, "Multiply", moved, 1 - op.number("norm_coefficient_post", 0.0)), mean, squares))
    return [value for group in zip(*made, strict=True) for value in group]


@translates("Momentum", since=(1,), domain=_DOMAIN)
def _momentum(op: Op) -> list[Value]:
    alpha = op.number("alpha")
    nesterov = op.text("mode", allowed=("standard", "nesterov")) == "nesterov"
    steps = op.convert(op[1], op.kind())
    begun = op.make("Greater", steps, op.number_of(0.0, steps))
    beta = op.make("Select", begun, op.like(op.number("beta")), op.like(1.0))
    made = []
    for x, gradient, speed in zip(*_parts(op, 3), strict=True):
        gradient = _regularised(op, x, gradient)
        speed = _do(op, "Add", _do(op, "Multiply", speed, alpha), _do(op, "Multiply", beta, gradient))
        change = _do(op, "Add", gradient, _do(op, "Multiply", speed, alpha)) if nesterov else speed
        made.append((_do(op, "Subtract", x, _do(op, "Multiply", op[0], change)), speed))
    return [value for group in zip(*made, strict=True) for value in group]
