"""Constants, bodies, reductions and products as dumps of the compiler write them.

Source: OpenVINO's classes of ov::snippets::op and ov::intel_cpu.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from irexec.core.types import Array, Dimension, ElementType, PartialShape, TensorType
from irexec.ops.matrix.matmul import matmul_1
from irexec.ops.spec.operator import Check, TypeFrom, operator, rounded
from irexec.ops.spec.tensors import EachOrDynamicTensor, NumericTensor
from irexec.ops.spec.traits import HasBodies, Homogeneous, MayOverflow


@operator("Absent", "ie_internal_opset")
def absent(
    *, shape: tuple[int, ...] = (0,), element_type: ElementType, offset: int = 0, size: int = 0
) -> EachOrDynamicTensor:
    """A Const of type dynamic without elements: an optional input that a layer does not have."""
    return np.zeros(0, np.float32)


@absent.shapes
def _(check: Check, **attributes: object) -> TensorType:
    return TensorType(ElementType.f32, PartialShape([0]))


@operator("Subgraph", "SnippetsOpset", HasBodies)
def subgraph(*inputs: EachOrDynamicTensor) -> list[EachOrDynamicTensor]:
    """Run the body once."""
    raise TypeError("only the engine can run an operator with bodies")


@operator("Scalar", "SnippetsOpset")
def scalar(
    *, element_type: ElementType, shape: tuple[int, ...], value: float
) -> Annotated[Array, TypeFrom("element_type")]:
    """One number."""
    return np.full(shape, value).astype(element_type.dtype)


@scalar.shapes
def _(check: Check, *, shape: tuple[int, ...]) -> PartialShape:
    return PartialShape(shape)


@operator("Brgemm", "SnippetsOpset", tolerance=rounded(32))
def brgemm(
    a: NumericTensor,
    b: NumericTensor,
    /,
    *,
    count_in_0: int = 0,
    offset_in_0: int = 0,
    stride_in_0: int = 0,
    count_in_1: int = 0,
    offset_in_1: int = 0,
    stride_in_1: int = 0,
    count_out_0: int = 0,
    offset_out_0: int = 0,
    stride_out_0: int = 0,
    dynamic_status: str = "",
) -> NumericTensor:
    """The product of matrices; the other attributes describe the memory."""
    return matmul_1.kernel(a, b)  # type: ignore[no-any-return]


@brgemm.shapes
def _(check: Check, a: TensorType, b: TensorType, **attributes: object) -> PartialShape:
    if a.rank is None or b.rank is None:
        return PartialShape.dynamic()
    batch: list[Dimension] = [*(a if a.rank >= b.rank else b).shape][:-2]
    return PartialShape([*batch, a.shape[-2], b.shape[-1]])


@operator("ReduceMax", "SnippetsOpset", Homogeneous)
def reduce_max(data: NumericTensor, /, *, axis: int) -> NumericTensor:
    """The largest element along `axis`, which stays with extent 1."""
    return data.max(axis, keepdims=True)  # type: ignore[no-any-return]


@operator("ReduceSum", "SnippetsOpset", Homogeneous, MayOverflow, tolerance=rounded(32))
def reduce_sum(data: NumericTensor, /, *, axis: int) -> NumericTensor:
    """The sum along `axis`, which stays with extent 1."""
    return data.sum(axis, keepdims=True, dtype=data.dtype)  # type: ignore[no-any-return]


@reduce_max.shapes
@reduce_sum.shapes
def _(check: Check, data: TensorType, *, axis: int) -> PartialShape:
    if data.rank is None:
        return PartialShape.dynamic()
    return PartialShape([Dimension(1) if number == axis else extent for number, extent in enumerate(data.shape)])
