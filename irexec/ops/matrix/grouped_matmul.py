"""GroupedMatMul: one matrix product per group of rows.

Source: operation GroupedMatMul-17 as in OpenVINO 2026. `mat_b` is stored transposed, `[G, N, K]`, and has rank 3. Rows
after the last offset belong to no group; their result is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.products import settle, sum_dtype, summing_buffer
from irexec.ops.matrix.product import multiply
from irexec.ops.rules.axes import integers
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, operator, require, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import NumericTensor, SparseIndices


@operator("GroupedMatMul", "opset17", tolerance=rounded(64))
def grouped_matmul_17(
    mat_a: NumericTensor, mat_b: NumericTensor, offsets: SparseIndices | None = None, /, *, out: Array | None = None
) -> NumericTensor:
    """Each group of rows of `mat_a` times its matrix of `mat_b` `[G, N, K]`, transposed.

    `mat_a` is `[tokens, K]`, with `offsets` `[G]` the ends of the groups among the tokens; or `[G, M, K]`, without
    offsets.

    C1: mat_a has rank 2 or 3, mat_b rank 3. C2: mat_a and mat_b have the same K. C3: offsets are given if mat_a has
    rank 2, and only then. C4: there are as many groups as mat_b has; offsets are 1D. C5: offsets ascend, and are at
    most the number of tokens.
    """
    dtype = sum_dtype(mat_a.dtype, mat_a.shape[-1])
    a, b = mat_a.astype(dtype, copy=False), mat_b.astype(dtype, copy=False).swapaxes(1, 2)
    target = summing_buffer((*a.shape[:-1], b.shape[2]), dtype, out)
    with np.errstate(over="ignore", invalid="ignore"):
        if offsets is None:
            multiply(a, b, target)
        else:
            start, ends = 0, integers(offsets)
            _check_ends(require, ends, a.shape[0])
            for group, stop in enumerate(ends):
                multiply(a[start:stop], b[group], target[start:stop])
                start = stop
            target[start:] = 0
    return settle(target, mat_a.dtype, out)


def _check_ends(check: Check, ends: Sequence[int], tokens: int | None) -> None:
    rising = list(ends) == sorted(ends) and (not ends or (ends[0] >= 0 and (tokens is None or ends[-1] <= tokens)))
    allowed = "ascending values of at least 0" if tokens is None else f"ascending values from 0 to {tokens}"
    message = f"offsets is {ends}, expected {allowed}"
    check("C5", rising, message, port="offsets", found=str(ends), allowed=allowed)


@grouped_matmul_17.shapes
def _(check: Check, mat_a: TensorType, mat_b: TensorType, offsets: TensorType | None) -> PartialShape:
    fits = has_rank(check, "C1", mat_a, (2, 3), "mat_a") & has_rank(check, "C1", mat_b, 3, "mat_b")
    if not fits or mat_a.rank is None:
        return PartialShape.dynamic()
    a, b = mat_a.shape, mat_b.shape if mat_b.rank is not None else PartialShape.dynamic(3)
    message = f"mat_b has K = {b[2]}, expected {a[-1]} as in mat_a"
    check("C2", a[-1].compatible(b[2]), message, port="mat_b", found=str(b[2]), allowed=str(a[-1]))
    if len(a) == 3:
        check("C3", offsets is None, "offsets is given, expected none for a mat_a of rank 3", port="offsets")
        message = f"mat_b has {b[0]} groups, expected {a[0]} as in mat_a"
        check("C4", a[0].compatible(b[0]), message, port="mat_b", found=str(b[0]), allowed=str(a[0]))
        return PartialShape([a[0].merge(b[0]) or a[0], a[1], b[1]])
    if (
        not check("C3", offsets is not None, "offsets is missing; a mat_a of rank 2 needs it", port="offsets")
        or not offsets
    ):
        return PartialShape([a[0], b[1]])
    if has_rank(check, "C4", offsets, 1, "offsets") and offsets.rank == 1:
        groups = offsets.shape[0]
        message = f"offsets has {groups} elements, expected one for each of the {b[0]} groups of mat_b"
        check("C4", groups.compatible(b[0]), message, port="offsets", found=str(groups), allowed=str(b[0]))
    _check_ends(check, offsets.ints or [], a[0].max)
    return PartialShape([a[0], b[1]])


@grouped_matmul_17.oracle.draw("offsets")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw rising ends, of which the last is the number of tokens."""
    tokens = types["mat_a"].shape.to_shape()[0]
    ends = np.sort(rng.integers(0, tokens + 1, types[port].shape.to_shape()))
    ends[-1:] = tokens
    return ends.astype(types[port].element_type.dtype)


@grouped_matmul_17.oracle.undefined_for
def _(mat_a: Array, mat_b: Array, offsets: Array | None = None) -> Undefined:
    """Return "no result" unless the last offset is the number of tokens, which the page requires."""
    ends = [] if offsets is None else integers(offsets)
    return "no result" if ends and ends[-1] != len(mat_a) else False
