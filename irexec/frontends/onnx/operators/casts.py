"""ONNX's conversions between element types.

Source: ONNX operator pages Cast, CastLike.
"""

from __future__ import annotations

from irexec.core.types import BF16, BOOLEAN, F16, F32, F64, INTEGERS, ElementType
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.kinds import element_type, named
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

# Between these types IR's Convert is equivalent to ONNX's Cast.
_SAME = INTEGERS | {F16, BF16, F32, F64, BOOLEAN}


@translates("BitCast", since=(26,))
def _bit_cast(op: Op) -> Value:
    return op.make("BitCast", op[0], opset="onnx26", to=_target(op))


@translates("Cast", since=(6, 9, 13, 19, 21, 23, 24, 25, 28))
def _cast(op: Op) -> Value:
    return _cast_to(op, _target(op))


@translates("Cast", since=(1,))
def _cast_1(op: Op) -> Value:
    kind = named(op.text("to"))
    if kind is None:
        raise Refused("F004", f"to is {op.text('to')!r}, which is not a data type", attribute="to")
    return _cast_to(op, kind)


def _target(op: Op) -> ElementType:
    kind = element_type(op.integer("to"))
    if kind is None:
        raise Refused("F004", f"to is {op.integer('to')}, which is not a data type", attribute="to")
    return kind


@translates("CastLike", since=(15, 19, 21, 23, 24, 25))
def _cast_like(op: Op) -> Value:
    return _cast_to(op, op.kind(1))


def _cast_to(op: Op, kind: ElementType) -> Value:
    if op.kind() is kind:
        return op.same(op[0])
    if op.kind() in _SAME and kind in _SAME:
        return op.convert(op[0], kind)
    options = {"saturate": op.flag("saturate", True), "round_mode": op.text("round_mode", "up")}
    return op.make("Cast", op[0], opset="onnx25", to=kind, **options)
