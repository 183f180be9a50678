"""GroupNormalization lowered in f32: each group of channels is normalized as a row; then the scale and bias of each
channel are applied, together with the elementwise layers that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from irexec.core.types import Array, TensorType
from irexec.ops.compute.precision import widen
from irexec.ops.normalization.group_normalization import group_normalization_12
from irexec.runtime.lowering.elementwise import CompiledPointwise
from irexec.runtime.lowering.follow import Follow, Layout, Link, linear, records_of
from irexec.runtime.lowering.narrow import computes_in_f32, rounding_of
from irexec.runtime.lowering.pointwise import CHEAP_WORK, SHORTEST, lay_out
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.rows import LONGEST, CompiledRows
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import Work


@lowers(group_normalization_12)
def _(site: Site, *, num_groups: int, epsilon: float) -> Lowered | None:
    data, (scale, bias) = site.types.inputs[0], site.types.constants[1:]
    if data is None or data.rank is None or scale is None or bias is None or not computes_in_f32(data.element_type):
        return None
    of_channels = records_of((widen(scale), widen(bias))).reshape(-1, *[1] * (data.rank - 2))
    return Grouped(site, num_groups, CompiledRows("normalized_inside", epsilon), Link(Follow(linear, 1), of_channels))


class Grouped(Lowered):
    """A GroupNormalization and the elementwise layers of `chain`; operands computed at run time are further inputs."""

    def __init__(
        self, site: Site, groups: int, rows: CompiledRows, line: Link, chain: CompiledPointwise | None = None
    ) -> None:
        super().__init__(site)
        self._site, self._groups, self._rows, self._line, self._chain = site, groups, rows, line, chain
        self._known = Recent[tuple[int, ...], CompiledPointwise]()

    def shape(self, data: Array, *others: Any) -> tuple[int, ...] | None:
        is_taken = data.size and prod(data.shape[2:]) >= SHORTEST and self._width(data) <= LONGEST
        return data.shape if is_taken else None

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        self._rows.tasks(work, inputs[0], self._width(inputs[0]), out)
        chain = self._scaling(out.shape) if self._chain is None else self._chain
        chain.tasks(work, out, out, inputs[self._inputs :])

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lowered] | None:
        shape = result.shape.to_shape()
        layout = lay_out([self._line, *links], shape, rounding_of(result.element_type.dtype))
        if layout.links < 2:
            return None
        chain = _compiled(layout, shape)
        return layout.links - 1, Grouped(self._site, self._groups, self._rows, self._line, chain)

    def _width(self, data: Array) -> int:
        """Return the number of elements in a group."""
        return data.size // (len(data) * self._groups)

    def _scaling(self, shape: tuple[int, ...]) -> CompiledPointwise:
        return self._known.of(shape, lambda: _compiled(lay_out([self._line], shape), shape))


def _compiled(layout: Layout, shape: tuple[int, ...]) -> CompiledPointwise:
    size = prod(shape)
    return CompiledPointwise(layout, size, size * CHEAP_WORK * len(layout.after))
