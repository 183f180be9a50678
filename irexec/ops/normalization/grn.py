"""GRN: division by the Euclidean norm across channels.

Source: operation page GRN-1.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype, holds, wider
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Above0
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.tensors import FloatTensor


@operator("GRN", "opset1", inplace="data", tolerance=rounded(16))
def grn_1(data: FloatTensor, /, *, bias: Above0, out: Array | None = None) -> FloatTensor:
    """`data` `[N, C, ...]` / sqrt(sum of squares across the channels + `bias`).

    C1: data has rank 2, 3 or 4.
    """
    dtype = compute_dtype(data.dtype)
    with np.errstate(all="ignore"):
        for kind in (dtype, wider(dtype)):
            x = data.astype(kind, copy=False)
            total = np.square(x).sum(axis=1, keepdims=True, dtype=kind) + dtype.type(bias)
            if holds(total):
                break
        result = np.divide(x, np.sqrt(total), out=summing_buffer(data.shape, total.dtype, out))
        return settle(result, data.dtype, out)


@grn_1.shapes
def _(check: Check, data: TensorType) -> PartialShape:
    has_rank(check, "C1", data, (2, 3, 4), "data")
    return data.shape
