"""Select: elements of one of two tensors, chosen by a condition.

Source: operation page Select-1.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import BOOLEAN, Array, PartialShape, TensorType
from irexec.ops.compute.elementwise import aligned
from irexec.ops.rules.axes import into
from irexec.ops.rules.shapes import Broadcasting, broadcast_shapes
from irexec.ops.spec.operator import Check, Elements, operator
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import ComputesSizes

T_COND: TypeAlias = Annotated[Array, Elements("T_COND", {BOOLEAN})]


@operator("Select", "opset1", ComputesSizes)
def select_1(
    cond: T_COND, then: AnyTensor, else_: AnyTensor, /, *, how: Broadcasting, out: Array | None = None
) -> AnyTensor:
    """`then` where `cond` is true, `else` elsewhere, the three broadcast according to `auto_broadcast`.

    "numpy": all three are broadcast to each other. (By the page, `cond` is broadcast to the common shape of `then` and
    `else`; OpenVINO, ONNX's Where and irexec also broadcast these to `cond`.) "pdpd": `cond` and `else` are broadcast
    into the shape of `then`.
    """
    cond = cond.astype(np.bool_, copy=False)
    else_, cond = aligned(then, else_, how), aligned(then, cond, how)
    result = _blend(cond, then, else_) if cond.size >= _MANY else np.where(cond, then, else_)
    return into(result, out)


_MANY = 1 << 12  # the number of elements from which bit masks are faster than np.where


def _blend(cond: Array, then: Array, else_: Array) -> Array:
    """Return np.where(cond, then, else_), computed by bit masks, which NumPy vectorizes."""
    bits = {2: np.uint16, 4: np.uint32, 8: np.uint64}.get(then.dtype.itemsize)
    if bits is None or then.dtype.kind == "T":
        return np.where(cond, then, else_)
    mask = np.negative(cond.astype(bits))
    other = else_.view(bits)
    return np.asarray((((then.view(bits) ^ other) & mask) ^ other).view(then.dtype))


@select_1.shapes
def _(check: Check, cond: TensorType, then: TensorType, else_: TensorType, *, how: Broadcasting) -> PartialShape:
    chosen = broadcast_shapes(check, then.shape, else_.shape, how, port="else_")
    return broadcast_shapes(check, chosen, cond.shape, how, port="cond")
