"""Select: elements of one tensor or another, as a condition says.

Source: operation page Select-1.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.ops.elementwise import aligned
from irexec.ops.operator import Array, Check, ConstraintError, Elements, operator
from irexec.ops.rules import broadcast_shapes
from irexec.types import ANY, BOOLEAN, PartialShape, TensorType

T_COND: TypeAlias = Annotated[Array, Elements("T_COND", {BOOLEAN})]
T: TypeAlias = Annotated[Array, Elements("T", ANY)]


@operator("Select", "opset1")
def select_1(
    cond: T_COND,
    then: T,
    else_: T,
    /,
    *,
    auto_broadcast: Literal["numpy", "none", "pdpd", "explicit"] = "numpy",
    out: Array | None = None,
) -> T:
    """`then` where `cond` is true, `else` elsewhere, the three broadcast as `auto_broadcast` says.

    "numpy": all three to each other. (By the page `cond` goes one way only, into the shape of the other two;
    OpenVINO and ONNX's Where let it widen them, so it may here.) "pdpd": `cond` and `else` into `then`.
    """
    else_ = aligned(then, else_, auto_broadcast, port="else_")
    cond = aligned(then, cond, auto_broadcast, port="cond")
    try:
        result = np.where(cond, then, else_)
    except ValueError:
        shapes = f"{list(cond.shape)}, {list(then.shape)} and {list(else_.shape)}"
        raise ConstraintError("broadcast", f"shapes {shapes} do not broadcast", port="cond") from None
    if out is None:
        return result
    np.copyto(out, result)
    return out


@select_1.shapes
def _(check: Check, cond: TensorType, then: TensorType, else_: TensorType, *, auto_broadcast: str) -> PartialShape:
    if auto_broadcast == "pdpd":
        broadcast_shapes(check, then.shape, else_.shape, "pdpd", port="else_")
        return broadcast_shapes(check, then.shape, cond.shape, "pdpd", port="cond")
    chosen = broadcast_shapes(check, then.shape, else_.shape, auto_broadcast, port="else_")
    return broadcast_shapes(check, chosen, cond.shape, auto_broadcast, port="cond")
