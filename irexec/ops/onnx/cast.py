"""Cast and BitCast of ONNX: elements in another type, by value or bit by bit.

Source: ONNX operator pages Cast-25, BitCast-26; for the text of numbers ONNX's reference implementation.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import (
    BOOLEAN,
    DYNAMIC,
    F4E2M1,
    F8E4M3,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0,
    FLOATS,
    FOREIGN,
    I2,
    I4,
    INTEGERS,
    STRING,
    U2,
    U4,
    Array,
    ElementType,
    PartialShape,
    TensorType,
)
from irexec.ops.compute.casting import cast, to_f8e8m0
from irexec.ops.compute.precision import is_float, limits_of, widen
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.tensors import TensorOfTargetType

_FLOAT8 = frozenset({F8E4M3, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ})
_NUMBERS = FLOATS | INTEGERS | _FLOAT8 | {F8E8M0, F4E2M1, I2, I4, U2, U4, BOOLEAN}
T1: TypeAlias = Annotated[Array, Elements("T1", _NUMBERS | {STRING})]
T_BITS: TypeAlias = Annotated[Array, Elements("T1", _NUMBERS | FOREIGN)]


@operator("Cast", "onnx25")
def cast_25(
    input: T1, /, *, to: ElementType, saturate: bool = True, round_mode: Literal["up", "down", "nearest"] = "up"
) -> TensorOfTargetType:
    """Convert each element to the type `to`.

    Numbers beyond an 8-bit float type become its greatest number, or without `saturate` infinity (f8e5m2) or NaN;
    `round_mode` applies to f8e8m0 only, whose numbers are powers of two. Integers wrap; real numbers become integers as
    in IR's Convert. Strings are read as decimal numbers, INF or NaN in any letter case, and written in the shortest
    form that is read as the same number. NaN becomes -0 in f4e2m1, which has no NaN, as in ONNX's tests. C1: `to` is
    not a complex type. C2: strings contain numbers, if `to` is a type of numbers.
    """
    source = ElementType.of(input.dtype)
    if source is to:
        return input
    if to is STRING:
        return _written(input)
    if source is STRING:
        return cast_25.kernel(_read(input), to=to, saturate=saturate, round_mode=round_mode)  # type: ignore[no-any-return]
    if source in FOREIGN or source in _FLOAT8:
        input = input.astype(np.int8 if source is I2 else np.float32)
    with np.errstate(all="ignore"):
        if to in _FLOAT8:
            return _to_float8(input, to, saturate)
        if to is F4E2M1:
            return (widen(input) if is_float(input.dtype) else input.astype(np.float32)).astype(to.dtype)
        if to is F8E8M0:
            return to_f8e8m0(np.abs(input.astype(np.float32)), round_mode, saturate=saturate)
        if to is I2:
            whole = cast(input, ElementType.of(input.dtype), ElementType.by_name["i8"])
            return (((whole & 3) ^ 2) - np.int8(2)).astype(to.dtype)
        return cast(input, ElementType.of(input.dtype), to)


def _to_float8(x: Array, to: ElementType, saturate: bool) -> Array:
    x = widen(x) if is_float(x.dtype) else x.astype(np.float64)
    if saturate:
        greatest = float(limits_of(to.dtype).max)
        x = np.clip(x, -greatest, greatest)
    return x.astype(to.dtype)


def _written(x: Array) -> Array:
    if is_float(x.dtype):
        values: Any = [str(v) for v in (x.astype(np.float32) if x.dtype.isbuiltin == 2 else x).ravel()]
        values = [{"nan": "NaN", "inf": "INF", "-inf": "-INF"}.get(v, v) for v in values]
    else:
        values = [str(int(v)) for v in x.ravel().tolist()]
    return np.array(values, STRING.dtype).reshape(x.shape)


def _read(texts: Array) -> Array:
    """Return strings as numbers: i64 if all are integers, else f64."""
    items = [str(text).strip() for text in texts.ravel().tolist()]
    for convert, dtype in ((int, np.int64), (float, np.float64)):
        try:
            return np.array([convert(item) for item in items], dtype).reshape(texts.shape)
        except (ValueError, OverflowError):
            continue
    wrong = next(item for item in items if not _is_number(item))
    require("C2", False, f"input contains the string {wrong[:40]!r}, which is not a number", port="input")
    raise AssertionError


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@cast_25.shapes
def _(check: Check, input: TensorType, *, to: ElementType) -> PartialShape:
    check(
        "C1", to in _NUMBERS | {STRING}, f"to is {to}, expected a number type or string", attribute="to", found=str(to)
    )
    return input.shape


@operator("BitCast", "onnx26", view="input")
def bit_cast_26(input: T_BITS, /, *, to: ElementType) -> TensorOfTargetType:
    """The bits of each element, read as the type `to`. C1: both types have the same number of bits, and `to` is not a
    string.
    """
    if to is BOOLEAN:
        return np.asarray(input.view(np.uint8) != 0)
    bits = np.ascontiguousarray(input).reshape(input.shape)
    if not to.is_packed:
        return bits.view(to.dtype)
    codes = bits.view(np.uint8) & ((1 << to.bitwidth) - 1)
    if to.is_real:
        return codes.view(to.dtype)
    sign = 1 << (to.bitwidth - 1)
    return ((codes ^ sign).astype(np.int8) - np.int8(sign) if to.is_signed else codes).astype(to.dtype)


def _fits(source: ElementType, to: ElementType) -> bool:
    return source.bitwidth == to.bitwidth and to in _NUMBERS | FOREIGN


@bit_cast_26.shapes
def _(check: Check, input: TensorType, *, to: ElementType) -> PartialShape:
    source = input.element_type
    message = f"{to} has {to.bitwidth} bits, expected {source.bitwidth} as in {source}"
    check("C1", source is DYNAMIC or _fits(source, to), message, attribute="to", found=str(to))
    return input.shape
