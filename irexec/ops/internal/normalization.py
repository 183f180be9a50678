"""RMS: division by the root of the mean square along the last axis.

Source: OpenVINO's class ov::op::internal::RMS.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import DYNAMIC, ElementType, TensorType
from irexec.ops.compute.casting import cast
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.tensors import EachFloatTensor


@operator("RMS", "ie_internal_opset", tolerance=rounded(32))
def rms(
    data: EachFloatTensor,
    gamma: EachFloatTensor | None = None,
    /,
    *,
    epsilon: float,
    output_type: ElementType = DYNAMIC,
    elementwise_affine: bool = True,
) -> EachFloatTensor:
    """`data` / sqrt(mean of its squares along the last axis + `epsilon`) * `gamma`."""
    kind = compute_dtype(data.dtype)
    wide = data.astype(kind, copy=False)
    with np.errstate(all="ignore"):
        mean = np.square(wide).mean(axis=-1, keepdims=True, dtype=kind)
        result = wide / np.sqrt(mean + kind.type(epsilon))
        if gamma is not None:
            result = result * gamma.astype(kind)
    wanted = ElementType.of(data.dtype) if output_type is DYNAMIC else output_type
    return cast(result, ElementType.of(result.dtype), wanted)


@rms.shapes
def _(check: Check, data: TensorType, gamma: TensorType | None, *, output_type: ElementType) -> TensorType:
    return data if output_type is DYNAMIC else TensorType(output_type, data.shape)
