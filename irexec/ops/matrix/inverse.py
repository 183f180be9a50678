"""Inverse: the inverse, or its transpose, of square matrices.

Source: operation page Inverse-14. Every type is computed in f32, as on the page. The page does not define the result
for a singular matrix, which is rejected here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import narrow
from irexec.ops.rules.shapes import AnyRank, has_rank
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, ConstraintError, operator, rounded
from irexec.ops.spec.oracle import Allowed
from irexec.ops.spec.tensors import FloatTensor


@operator("Inverse", "opset14", tolerance=rounded(256))
def inverse_14(input: FloatTensor, /, *, adjoint: bool = False) -> FloatTensor:
    """The inverse of each matrix in `input` `[..., N, N]`, transposed with `adjoint`, by LU decomposition in f32.

    C1: the matrices are invertible. C2: input has rank 2 or more. C3: the last two extents are equal.
    """
    try:
        inverse = np.linalg.inv(input.astype(np.float32, copy=False))
    except np.linalg.LinAlgError:
        raise ConstraintError("C1", "a matrix has no inverse: it is singular", port="input") from None
    holds("C1")
    with np.errstate(over="ignore"):
        return narrow(np.ascontiguousarray(inverse.swapaxes(-1, -2)) if adjoint else inverse, input.dtype)


@inverse_14.shapes
def _(check: Check, input: TensorType) -> PartialShape:
    shape = input.shape
    if not has_rank(check, "C2", input, AnyRank[2:], "input") or input.rank is None:
        return shape
    message = f"the matrices are {shape[-2]} by {shape[-1]}, expected square ones"
    side = shape[-1].merge(shape[-2])
    if not check("C3", side is not None, message, port="input", found=str(shape)) or side is None:
        return shape
    return shape.with_dim(-1, side).with_dim(-2, side)


@inverse_14.work
def _(outputs: Sequence[TensorType], input: TensorType) -> int:
    shape = input.shape.to_shape()
    return prod(shape) * shape[-1]


@inverse_14.oracle.draw("input")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw matrices with a large diagonal, which are invertible."""
    shape = types[port].shape.to_shape()
    matrices = rng.normal(size=shape) + 2 * shape[-1] * np.eye(shape[-1])
    return matrices.astype(types[port].element_type.dtype)


inverse_14.oracle.allowed = Allowed(composes=False)
