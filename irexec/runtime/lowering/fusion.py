"""Fusion: groups of a layer and the elementwise layers after it, which compiled code applies before storing the result.

The plan itself does not change: all layers keep their steps and buffers. The lowered form of the first layer computes
the whole group, and the other steps do nothing: their result is in the buffer that all of them share. A
layer may therefore join a group under three conditions: no other layer reads the result of the layer before it, it
writes its own result in place, and its other inputs are available when the first layer runs. Layers in between may only
change the shape of the result, such as a Reshape; the operands of the layers after them are converted to the shape of
the first layer's result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from irexec.core.records import record
from irexec.core.structure import ASSIGN
from irexec.core.types import PartialShape, TensorType
from irexec.ops.compute.precision import widen
from irexec.ops.spec.traits import KeepsElements
from irexec.runtime.engine.memory import MemoryPlan
from irexec.runtime.engine.plan import Plan
from irexec.runtime.engine.step import Step
from irexec.runtime.lowering.follow import Link, has_records
from irexec.runtime.lowering.followers import follow_of
from irexec.runtime.lowering.narrow import computes_in_f32
from irexec.runtime.lowering.pointwise import Pointwise
from irexec.runtime.lowering.table import Lowered, Site

# The maximum number of links: LLVM's compile time grows faster than the length of a function.
MOST_LINKS = 16


class Group(NamedTuple):
    """The lowered form of a step and of the steps `following` it, by number.

    `operands` are the slots that the form reads besides the inputs of the step `first`. If the form also computes
    earlier steps (`absorbed`), its result is that of the step `first`, and it reads the slots `sources`.
    """

    first: int
    form: Lowered
    operands: tuple[int, ...] = ()
    following: tuple[int, ...] = ()
    absorbed: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()

    def slots(self, steps: Sequence[Step]) -> tuple[int, ...]:
        """Return the slots that the form reads."""
        return self.sources if self.absorbed else (*steps[self.first].inputs, *self.operands)

    @property
    def begin(self) -> int:
        """The number of the first step that the form computes."""
        return min((self.first, *self.absorbed))


def find_groups(
    plan: Plan,
    sites: Sequence[Site],
    forms: Mapping[int, Lowered],
    special: Callable[[Finder, int], Group | None] = lambda finder, number: None,
) -> list[Group]:
    """Return the groups of a plan, each of one step or more. `forms` are the lowered forms of steps by number.

    `special(finder, number)` is tried first: it returns a group of another kind that begins with this step, or None.
    """
    steps = plan.steps
    # Slots whose values outlive the run.
    kept = {*plan.results, *(slot for step in steps if step.operator.type == ASSIGN for slot in step.inputs)}
    readers: dict[int, list[int]] = {}
    made = {}
    for number, step in enumerate(steps):
        made.update(dict.fromkeys(step.outputs, number))
        for slot in step.inputs:
            readers.setdefault(slot, []).append(number)
    finder = Finder(steps, sites, plan.memory, plan.template, kept, readers, made, forms)
    groups: list[Group] = []
    done: set[int] = set()
    for number in range(len(steps)):
        group = None if number in done else special(finder, number) or finder.group(number)
        if group is not None:
            groups.append(group)
            done.update((group.first, *group.following, *group.absorbed))
    return groups


@record(eq=False)
class Finder:
    steps: Sequence[Step]
    sites: Sequence[Site]
    memory: MemoryPlan
    template: Sequence[Any]
    kept: set[int]
    readers: dict[int, list[int]]
    made: dict[int, int]
    forms: Mapping[int, Lowered]

    def group(self, first: int) -> Group | None:
        """Return the group that begins with a step, or None if the step has no lowered form."""
        step, form = self.steps[first], self.forms.get(first)
        alone = None if form is None else Group(first, form.rounded())
        if not step.is_sure or first not in self.memory.buffer_of:
            return alone
        leader = self.pointwise(first) or form
        if leader is None:
            return None
        links: list[Link] = []
        found: list[tuple[int, int | None]] = []
        last = first
        while len(links) < MOST_LINKS and (following := self._following(first, last)) is not None:
            number, link, operand = following
            links.append(link)
            found.append((number, operand))
            last = number
        if (taken := leader.leads(links, step.types[0])) is None:
            return alone
        count, form = taken
        operands = tuple(operand for _, operand in found[:count] if operand is not None)
        return Group(first, form, operands, tuple(number for number, _ in found[:count]))

    def _following(self, first: int, last: int) -> tuple[int, Link, int | None] | None:
        """Return the number, link and run-time operand's slot of the step that can join a group after `last`; None if
        no step can.
        """
        number = self.reader(last)
        steps = self.steps
        while number is not None and KeepsElements in steps[number].operator.traits and steps[number].shape is not None:
            last, number = number, self.reader(number)
        if number is None:
            return None
        step, shape = self.steps[number], self.steps[first].shape
        if self.memory.buffer_of.get(number) != self.memory.buffer_of[first] or shape is None:
            return None
        if not step.is_sure or (step.dtype, step.shape) != (self.steps[first].dtype, self.steps[last].shape):
            return None
        port = step.inputs.index(self.steps[last].outputs[0])
        link = self.link(number, port, shape)
        if link is None or link.follow.operand is None or link.constant is not None:
            return None if link is None else (number, link, None)
        other = step.inputs[link.follow.operand]
        return None if self.made.get(other, -1) >= first else (number, link, other)

    def reader(self, number: int) -> int | None:
        """Return the only step that reads a step's result; None if several steps read it, or if it is kept after the
        run.
        """
        (slot,) = self.steps[number].outputs
        readers = self.readers.get(slot, [])
        return readers[0] if len(readers) == 1 and slot not in self.kept else None

    def link(self, number: int, port: int, shape: tuple[int, ...]) -> Link | None:
        """Return a step's effect on its input `port` as a link, with its operand reshaped for data of this shape; None
        if it has no such effect.
        """
        step, types = self.steps[number], self.sites[number].types
        follow = follow_of(step.operator, port, types)
        if follow is None or follow.operand is None:
            return None if follow is None else Link(follow)
        known = types.constants[follow.operand] if follow.constant is None else follow.constant
        known = known if known is None or has_records(known) else widen(known)
        link = Link(follow, known, step.given[follow.operand])
        return link if step.shape is None or step.shape == shape else _reshaped(link, step.shape, shape)

    def pointwise(self, number: int) -> Pointwise | None:
        """Return an elementwise layer as the first of a group, with its effect on an input of its result's shape."""
        step = self.steps[number]
        if step.dtype is None or not computes_in_f32(step.types[0].element_type):
            return None
        for port, given in enumerate(step.given):
            if given is not None and given.element_type.dtype == step.dtype and given.shape.to_shape() == step.shape:
                link = self.link(number, port, given.shape.to_shape())
                return None if link is None else Pointwise(self.sites[number], port, link)
        return None


def _reshaped(link: Link, shape: tuple[int, ...], target: tuple[int, ...]) -> Link | None:
    """Return the link with its operand reshaped for data in shape `target` instead of `shape`; None if this is not
    possible.
    """
    own = link.constant.shape if link.constant is not None else link.type.shape.to_shape() if link.type else ()
    extents = seen_in(target, shape, own)
    if extents is None or link.type is None:
        return None
    constant = None if link.constant is None else link.constant.reshape(extents)
    return Link(link.follow, constant, TensorType(link.type.element_type, PartialShape(extents)))


def seen_in(target: tuple[int, ...], shape: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return the shape in which an operand broadcasts to `target`, given its shape `extents`, which broadcasts to
    `shape`.

    `shape` and `target` hold the same elements in the same order. Returns None if the operand cannot be reshaped so.
    """
    if len(extents) > len(shape) or prod(shape) != prod(target) or not prod(shape):
        return None
    extents = (1,) * (len(shape) - len(extents)) + extents
    rest = [(whole, own > 1) for whole, own in zip(shape, extents, strict=True) if whole > 1]
    found: list[int] = []
    before = after = 1  # numbers of elements up to this axis, in the shape and in the target
    varies = False
    for extent in target:
        starts_anew = before == after and extent > 1
        after *= extent
        while before < after:
            whole, own = rest.pop(0)
            if not starts_anew and own != varies:
                return None
            before, varies, starts_anew = before * whole, own, False
        found.append(extent if varies else 1)
    return tuple(found)
