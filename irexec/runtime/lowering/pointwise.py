"""Elementwise layers in compiled code, on all threads and fused with the following layers.

Each operand is a number or a run of numbers for each row of the result, whichever axes it broadcasts along.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import Array, TensorType
from irexec.ops.activation.pointwise import gelu_2, gelu_7, mish_4, sigmoid_1, swish_4
from irexec.ops.arithmetic.unary import tanh_1
from irexec.runtime.lowering.elementwise import CompiledPointwise
from irexec.runtime.lowering.follow import Follow, Layout, Link, Steps, has_records, numbers_of
from irexec.runtime.lowering.followers import follow_of
from irexec.runtime.lowering.llvm.after import DEAR, After, Rounding
from irexec.runtime.lowering.narrow import computes_in_f32, rounding_of
from irexec.runtime.lowering.recent import Recent
from irexec.runtime.lowering.table import Lowered, Site, lowers
from irexec.runtime.lowering.work import Work

# The cost of a step per element, in multiply-adds: for steps bound by memory access, and for other steps.
CHEAP_WORK, DEAR_WORK = 8, 48
# A layer of less work than this that is not part of a sequence is left to NumPy, which has less overhead.
LEAST_WORK = 1 << 8
# The length of a row if all elements are treated alike, and the minimum length of a row otherwise.
ROW, SHORTEST = 1 << 12, 8


class Pointwise(NamedTuple):
    """An elementwise layer as the first of a group; `own` is its effect on its input `port`."""

    site: Site
    port: int
    own: Link

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lowered] | None:
        """Return how many of the elementwise layers that follow this layer can be computed with it, and the lowered
        form of all of these layers; None if there is no such form.
        """
        shape = result.shape.to_shape()
        layout = lay_out([self.own, *links], shape, rounding_of(self.site.types.outputs[0].element_type.dtype))
        work = prod(shape) * sum(DEAR_WORK if step.formula in DEAR else CHEAP_WORK for step in layout.after)
        if not layout.after:
            return None
        is_small = layout.links == 1 and work < LEAST_WORK
        return layout.links - 1, Elementwise(self, shape, CompiledPointwise(layout, prod(shape), work), is_small)


class Elementwise(Lowered):
    """Elementwise layers whose result has a static shape."""

    def __init__(
        self, first: Pointwise, shape: tuple[int, ...], compiled: CompiledPointwise, is_small: bool = False
    ) -> None:
        super().__init__(first.site)
        self._first, self._shape, self._compiled, self._is_small = first, shape, compiled, is_small

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        return self.by_kernel(inputs, out) if self._is_small else super().__call__(*inputs, out=out)

    def shape(self, *inputs: Any) -> tuple[int, ...] | None:
        return self._shape

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        own, coming = inputs[: self._inputs], inputs[self._inputs :]
        other = self._first.own.follow.operand if self._first.own.constant is None else None
        self._compiled.tasks(work, own[self._first.port], out, coming if other is None else (own[other], *coming))


@lowers(gelu_2, gelu_7, mish_4, sigmoid_1, swish_4, tanh_1)
def _(site: Site) -> Lowered | None:
    """Return a lowered form for all shapes if compiled code's results differ from NumPy's in the last digits; else
    None.

    So a layer has the same results in a plan for dynamic shapes as in a plan for static shapes, where it may be fused.
    """
    follow = None if site.node.operator is None else follow_of(site.node.operator, 0, site.types)
    is_taken = follow is not None and follow.operand is None and computes_in_f32(site.types.outputs[0].element_type)
    return Unary(site, follow) if follow is not None and is_taken else None


class Unary(Lowered):
    """An elementwise layer of one input of any shape."""

    def __init__(self, site: Site, follow: Follow) -> None:
        super().__init__(site)
        numbers = numbers_of(follow)
        self._after, self._numbers = (After(follow.formula, "numbers", numbers.size),), (numbers,)
        self._known = Recent[int, CompiledPointwise]()

    def shape(self, data: Array, *others: Any) -> tuple[int, ...] | None:
        return data.shape if data.size else None

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        self._known.of(out.size, lambda: self._compiled(out.size)).tasks(work, inputs[0], out, ())

    def _compiled(self, size: int) -> CompiledPointwise:
        layout = Layout(min(size, ROW), 1, self._after, self._numbers, ((1, 1, 0),))
        return CompiledPointwise(layout, size, size * DEAR_WORK)


def lay_out(links: Sequence[Link], shape: tuple[int, ...], rounding: Rounding | None = None) -> Layout:
    """Return the layout that computes the most links; among such layouts, that with the longest rows."""
    best = Layout(0)
    for axis in range(len(shape) + 1):
        width = prod(shape[axis:])
        if axis and width < SHORTEST:
            break
        found = _steps(links, shape, axis, rounding)
        if found.links > best.links:
            best = found
    return best


def _steps(links: Sequence[Link], shape: tuple[int, ...], axis: int, rounding: Rounding | None) -> Layout:
    """Return the layout for the leading links that can be computed in rows that consist of the axes from `axis` on."""
    steps = Steps(rounding)
    width = min(prod(shape), ROW) if axis == 0 else prod(shape[axis:])
    count = 0
    for link in links:
        if link.follow.operand is None:
            steps.add(link.follow.formula, "numbers", numbers_of(link.follow), (1, 1, 0))
            count += 1
            continue
        extents = _extents(link)
        way = None if extents is None else _way(extents, shape, axis)
        if way is None or (way[0] == "run" and link.constant is not None and has_records(link.constant)):
            break
        operand = None if link.constant is None else np.ascontiguousarray(link.constant)
        whole = (1, 1 << 40, width)
        steps.add(link.follow.formula, way[0], operand, whole if axis == 0 and way[0] == "run" else way[1:])
        count += 1
    return Layout(width, count, tuple(steps.after), tuple(steps.operands), tuple(steps.ways))


def _extents(link: Link) -> tuple[int, ...] | None:
    """Return the shape of a link's other operand, if compiled code reads it in f32."""
    if link.constant is not None:
        return link.constant.shape if link.constant.dtype == np.float32 or has_records(link.constant) else None
    static = link.type is not None and link.type.shape.is_static and computes_in_f32(link.type.element_type)
    return link.type.shape.to_shape() if static and link.type is not None else None


def _way(extents: tuple[int, ...], shape: tuple[int, ...], axis: int) -> tuple[Any, int, int, int] | None:
    """Return ("row" or "run", divisor, cycle, step), see llvm.after, for an operand of these extents; None if it has
    another form.

    The operand may vary along consecutive axes before `axis`, and along all or none of the axes from `axis` on.
    """
    if len(extents) > len(shape):
        return None
    extents = (1,) * (len(shape) - len(extents)) + extents
    if any(own not in (1, whole) for own, whole in zip(extents, shape, strict=True)):
        return None
    # An axis of one element may count as varying or as not varying.
    varies = [own > 1 for own in extents]
    inner = {one for one, whole in zip(varies[axis:], shape[axis:], strict=True) if whole > 1}
    if len(inner) == 2:
        return None
    takes, step = ("run", prod(shape[axis:])) if inner == {True} else ("row", 1)
    outer = [place for place in range(axis) if varies[place]]
    if not outer:
        return takes, 1, 1, 0
    first, last = outer[0], outer[-1]
    if any(not varies[place] and shape[place] > 1 for place in range(first, last)):
        return None
    return takes, prod(shape[last + 1 : axis]), prod(shape[first : last + 1]), step
