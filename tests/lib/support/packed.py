"""Matrices as files with compressed weights compute them, and models that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec
from irexec.runtime.engine import CompiledModel, constants
from irexec.runtime.engine.packed.matrix import PackedMatrix

ops: Any = irexec.opset15
RANGES = {"u4": (0, 16), "i4": (-8, 8), "u8": (0, 256), "i8": (-128, 128)}


def constant(rng: np.random.Generator, type: str, shape: tuple[int, ...]) -> Any:
    kind = irexec.Type.by_name[type]
    if type in RANGES:
        return ops.constant(rng.integers(*RANGES[type], shape).astype(kind.dtype))
    if type == "nf4":
        return ops.constant(rng.integers(0, 16, shape).astype(np.uint8), "nf4")
    return ops.constant((rng.standard_normal(shape) * 0.1).astype(kind.dtype))


def weights(
    rng: np.random.Generator,
    type: str,
    shape: tuple[int, int],
    *,
    group: int = 0,
    arithmetic: str = "f16",
    zero: str = "",
    scale: float | None = 1e-3,
    final: str = "f32",
) -> Any:
    """Return a matrix as a compressed file computes it; `zero` is the type of zero points, `scale` the least scale."""
    rows, columns = shape
    grouped = (rows, columns // group, group) if group else shape
    x = ops.convert(constant(rng, type, grouped), arithmetic)
    if zero:
        x = ops.subtract(x, ops.convert(constant(rng, zero, (*grouped[:-1], 1)), arithmetic))
    if scale is not None:
        scales = rng.random((*grouped[:-1], 1)) * 0.01 + scale
        x = ops.multiply(x, ops.constant(scales.astype(irexec.Type.by_name[arithmetic].dtype)))
    if group:
        x = ops.reshape(x, np.array(shape, np.int64), special_zero=False)
    return x if arithmetic == final else ops.convert(x, final)


def model(matrix: Any, *, type: str = "f32") -> irexec.Model:
    """Return a product and a table that read one matrix."""
    x = ops.parameter([-1, -1, matrix.shape[1]], irexec.Type.by_name[type].dtype, name="x")
    indices = ops.parameter([-1], np.int64, name="indices")
    read = [ops.matmul(x, matrix, False, True), ops.gather(matrix, indices, np.array(0, np.int64))]
    return irexec.Model(read, [x, indices], "packed")


def folded(graph: irexec.Model, monkeypatch: pytest.MonkeyPatch) -> CompiledModel:
    """Return the compiled model whose matrices are computed as a whole, layer by layer."""
    with monkeypatch.context() as patched:
        patched.setattr(constants, "LEAST_PACKED", 1 << 40)
        made = CompiledModel(graph)
    assert not packed(made)
    return made


def packed(compiled: CompiledModel) -> list[PackedMatrix]:
    """Return the packed matrices of a compiled model."""
    return [held for held in compiled._plans.general.template if isinstance(held, PackedMatrix)]


def convolution(
    type: str,
    shape: tuple[int, ...],
    *,
    arithmetic: str = "f32",
    zero: str = "",
    final: str = "f32",
    scale: float | None = 1e-3,
    scales: tuple[int, ...] | None = None,
    is_grouped: bool = False,
    **windows: Any,
) -> irexec.Model:
    """Return a convolution of dynamic data with a kernel of this shape, as a compressed file computes it."""
    rng, axes = np.random.default_rng(0), 2 if is_grouped else 1
    per_row = scales or (*shape[:axes], *[1] * (len(shape) - axes))
    kernel = ops.convert(constant(rng, type, shape), arithmetic)
    if zero:
        kernel = ops.subtract(kernel, ops.convert(constant(rng, zero, per_row), arithmetic))
    if scale is not None:
        found = (rng.random(per_row) * 0.01 + scale).astype(irexec.Type.by_name[arithmetic].dtype)
        kernel = ops.multiply(kernel, ops.constant(found))
    if arithmetic != final:
        kernel = ops.convert(kernel, final)
    spatial = len(shape) - 1 - axes
    dtype = irexec.Type.by_name[final].dtype
    x = ops.parameter([-1] * (spatial + 2), dtype, name="x")
    ones, zeros = [1] * spatial, [0] * spatial
    given = {"strides": ones, "pads_begin": zeros, "pads_end": zeros, "dilations": ones} | windows
    call = ops.group_convolution if is_grouped else ops.convolution
    return irexec.Model([call(x, kernel, **given)], [x], "packed convolution")
