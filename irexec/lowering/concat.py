"""Concat of f32 lowered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from irexec.lowering.capture import captured_all
from irexec.lowering.joining import CompiledConcat
from irexec.lowering.table import Lowered, Site, lowers
from irexec.ops.movement.concat import concat_1
from irexec.types import F32, Array

# Fewer elements are left to NumPy, which has less overhead.
LEAST_SIZE = 1 << 7


@lowers(concat_1)
def _(site: Site, *, axis: int) -> Lowered | None:
    result = site.types.outputs[0]
    shapes = [type.shape.to_shape() for type in site.types.inputs if type is not None and type.shape.is_static]
    if result.element_type is not F32 or len(shapes) < len(site.types.inputs):
        return None
    shape = result.shape.to_shape()
    return Concat(site.kernel, shapes, shape, axis % len(shape)) if prod(shape) >= LEAST_SIZE else None


class Concat(Lowered):
    """The concatenation of f32 arrays of these shapes."""

    def __init__(
        self, kernel: Callable[..., Array], shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...], axis: int
    ) -> None:
        self._kernel, self._shape, self._join = kernel, shape, CompiledConcat(shapes, axis)

    def __call__(self, *tensors: Array, out: Array | None = None) -> Array:
        if not (out is None or out.flags.c_contiguous):
            return self._kernel(*tensors, out=out)
        result = self._join(tensors, np.empty(self._shape, np.float32) if out is None else out)
        captured_all()
        return result
