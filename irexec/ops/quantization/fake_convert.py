"""FakeConvert: floats rounded to an eight-bit float type and back.

Source: operation page FakeConvert-13.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from irexec.core.types import Array, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import limits_of, narrow, widen
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import Allowed, Undefined
from irexec.ops.spec.tensors import FloatTensorF
from irexec.ops.spec.traits import Float8Rounding, Steps


@operator("FakeConvert", "opset13", Float8Rounding, Steps, tolerance=rounded(2))
def fake_convert_13(
    data: FloatTensorF,
    scale: FloatTensorF,
    shift: FloatTensorF | None = None,
    /,
    *,
    destination_type: Literal["f8e4m3", "f8e5m2"],
    out: Array | None = None,
) -> FloatTensorF:
    """(round(data · scale - shift) + shift) / scale, rounded to the nearest number of `destination_type`.

    Numbers beyond the range become the greatest number, as in OpenVINO's core (the page does not define it); NaN stays.
    C1: scale broadcasts into the shape of data. C2: shift broadcasts into the shape of data. C3: shift has the shape of
    scale.
    """
    factor = widen(scale)
    offset = np.zeros((), factor.dtype) if shift is None else widen(shift)
    kind = ElementType.by_name[destination_type].dtype
    greatest = float(limits_of(kind).max)
    with np.errstate(all="ignore"):
        moved = np.asarray(widen(data) * factor - offset)
        # OpenVINO's core and plugin round to f16 first; the page does not define how to round.
        halves = np.clip(moved, -greatest, greatest).astype(np.float16)
        emulated = halves.astype(kind).astype(moved.dtype)
        return narrow((emulated + offset) / factor, data.dtype, out)


@fake_convert_13.shapes
def _(check: Check, data: TensorType, scale: TensorType, shift: TensorType | None) -> PartialShape:
    for constraint, port, limit in (("C1", "scale", scale), ("C2", "shift", shift)):
        if limit is None:
            continue
        common = data.shape.broadcast(limit.shape)
        message = f"{port} {limit.shape} does not broadcast into data {data.shape}"
        fits = common is not None and common.compatible(data.shape)
        check(constraint, fits, message, port=port, found=str(limit.shape), allowed=str(data.shape))
    if shift is not None:
        same = scale.shape.compatible(shift.shape)
        message = f"shift has shape {shift.shape}, expected {scale.shape} as in scale"
        check("C3", same, message, port="shift", found=str(shift.shape), allowed=str(scale.shape))
    return data.shape


@fake_convert_13.oracle.undefined_for
def _(data: Array, scale: Array, shift: Array | None = None, *, destination_type: str) -> Undefined:
    """The result is undefined for elements so close to the middle between two numbers that an earlier rounding to f16
    may change it.
    """
    kind = ElementType.by_name[destination_type].dtype
    greatest = float(limits_of(kind).max)
    with np.errstate(all="ignore"):
        moved = widen(data) * widen(scale) - (0 if shift is None else widen(shift))
        low, high = (np.clip(moved * (1 + side), -greatest, greatest).astype(kind) for side in (-_HALF, _HALF))
    return (np.asarray(low.astype(np.float32) != high.astype(np.float32)),)


_HALF = 2.0**-11
"""The relative error of a rounding to f16."""


fake_convert_13.oracle.allowed = Allowed(composes=False)
