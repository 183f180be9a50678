"""Matrices in ONNX: determinants.

Source: ONNX operator page Det-22.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import PartialShape, TensorType
from irexec.ops.compute.precision import narrow, widen
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.tensors import FloatTensor


@operator("Det", "onnx11", tolerance=rounded(256))
def det_11(x: FloatTensor, /) -> FloatTensor:
    """The determinant of each matrix of `x` [..., M, M]. C1: the matrices are square."""
    return narrow(np.asarray(np.linalg.det(widen(x))), x.dtype)


@det_11.shapes
def _(check: Check, x: TensorType) -> PartialShape:
    fits = len(x.shape) >= 2 and x.shape[-1].compatible(x.shape[-2])
    check("C1", fits, f"x has shape {x.shape}, expected square matrices", port="x")
    return x.shape[:-2] if fits else PartialShape.dynamic()
