"""Concat of f32 lowered."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from irexec.lowering.joining import CompiledConcat
from irexec.lowering.narrow import computes_in_f32
from irexec.lowering.table import Lowered, Site, lowers
from irexec.lowering.work import Work
from irexec.ops.movement.concat import concat_1
from irexec.types import Array

# Fewer elements are left to NumPy, which has less overhead.
LEAST_SIZE = 1 << 7


@lowers(concat_1)
def _(site: Site, *, axis: int) -> Lowered | None:
    result = site.types.outputs[0]
    shapes = [type.shape.to_shape() for type in site.types.inputs if type is not None and type.shape.is_static]
    if not computes_in_f32(result.element_type) or len(shapes) < len(site.types.inputs):
        return None
    shape = result.shape.to_shape()
    return Concat(site, shapes, shape, axis % len(shape)) if prod(shape) >= LEAST_SIZE else None


class Concat(Lowered):
    """The concatenation of f32 arrays of these shapes."""

    selects = True

    def __init__(self, site: Site, shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...], axis: int) -> None:
        super().__init__(site)
        self._shape, self._join = shape, CompiledConcat(shapes, axis)

    def shape(self, *tensors: Array) -> tuple[int, ...] | None:
        return self._shape

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        self._join.tasks(work, inputs, out)
