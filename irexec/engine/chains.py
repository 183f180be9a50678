"""Chains: a layer, and elementwise layers after it that its kernel may compute before it stores its result.

Nothing else changes: all layers keep their steps, buffers and checks. When the first kernel has computed the whole
chain, the other steps only pass its result on; it is in the buffer that all of them share. So three things must hold
for a layer to be in a chain: nothing else reads the result of the layer before, it writes its own result in place, and
its other inputs are there when the first layer runs. Layers between them that only give the result another shape, as a
Reshape, run as they are: to what follows them the first layer's kernel does the same, seen in its own shape.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from irexec.engine.memory import MemoryPlan
from irexec.engine.step import Step
from irexec.native import MANY_CALLS, is_available
from irexec.native.notes import all_is_noted, more_is_done
from irexec.ops.compute.follow import Leader, Link, follow_of
from irexec.ops.compute.pointwise import Pointwise
from irexec.records import NamedTuple, record
from irexec.types import Array, PartialShape, TensorType


class Chains:
    """The chains of a plan, found when it runs for the third time: only compiled code computes them, and it begins with
    kernels that are called so often."""

    def __init__(self, find: Callable[[], list[Chain]]) -> None:
        self._find = find
        self._found: list[Chain] | None = None
        self._runs = 0
        self._lock = threading.Lock()

    def when_run(self) -> list[Chain] | None:
        """The chains for a run that begins; None when it is one of the plan's first."""
        self._runs += 1
        if self._runs < MANY_CALLS:
            return None
        return self.found() if is_available() else []

    def found(self) -> list[Chain]:
        """All chains, the same each time."""
        with self._lock:
            if self._found is None:
                self._found = self._find()
            return self._found


class Chain(NamedTuple):
    """The calls of one chain by the numbers of their steps, and the slots that the first reads besides its inputs."""

    first: int
    operands: tuple[int, ...]
    lead: Callable[..., bool]
    # The numbers of the steps that follow.
    following: tuple[int, ...]


def find_chains(
    steps: Sequence[Step], memory: MemoryPlan, template: Sequence[Any], kept: frozenset[int]
) -> list[Chain]:
    """All chains of a plan. `template` has the constants by slot; `kept` are slots that outlive the run."""
    readers: dict[int, list[int]] = {}
    made = {}
    for number, step in enumerate(steps):
        made.update(dict.fromkeys(step.outputs, number))
        for slot in step.inputs:
            readers.setdefault(slot, []).append(number)
    finder = _Finder(steps, memory, template, kept, readers, made)
    chains: list[Chain] = []
    following: set[int] = set()
    for number in range(len(steps)):
        chain = None if number in following else finder.chain(number)
        if chain is not None:
            chains.append(chain)
            following.update(chain.following)
    return chains


@record(eq=False)
class _Finder:
    steps: Sequence[Step]
    memory: MemoryPlan
    template: Sequence[Any]
    kept: frozenset[int]
    readers: dict[int, list[int]]
    made: dict[int, int]

    def chain(self, first: int) -> Chain | None:
        """The chain that begins with a step, if any other layer belongs to it."""
        step = self.steps[first]
        if not step.is_sure or first not in self.memory.buffer_of:
            return None
        leader: Leader | None = step.call if hasattr(step.call, "leads") else self._pointwise(step)
        if leader is None:
            return None
        links: list[Link] = []
        found: list[tuple[int, int | None]] = []
        last = first
        while (following := self._following(first, last)) is not None:
            number, link, operand = following
            links.append(link)
            found.append((number, operand))
            last = number
        taken = leader.leads(links, step.types[0])
        if taken is None:
            return None
        count, lead = taken
        operands = tuple(operand for _, operand in found[:count] if operand is not None)
        return Chain(first, operands, lead, tuple(number for number, _ in found[:count]))

    def _following(self, first: int, last: int) -> tuple[int, Link, int | None] | None:
        """(step, link, slot of the operand that comes when the model runs) of the layer after `last`."""
        number = self._reader(last)
        while number is not None and self.steps[number].operator.reshapes and self.steps[number].shape is not None:
            last, number = number, self._reader(number)
        if number is None:
            return None
        step, shape = self.steps[number], self.steps[first].shape
        if self.memory.buffer_of.get(number) != self.memory.buffer_of[first] or shape is None:
            return None
        if not step.is_sure or (step.dtype, step.shape) != (self.steps[first].dtype, self.steps[last].shape):
            return None
        port = step.inputs.index(self.steps[last].outputs[0])
        link = self._link(step, port, shape)
        if link is None or link.follow.operand is None or link.constant is not None:
            return None if link is None else (number, link, None)
        other = step.inputs[link.follow.operand]
        return None if self.made.get(other, -1) >= first else (number, link, other)

    def _reader(self, number: int) -> int | None:
        """The step that alone reads the result of another one, which does not outlive the run."""
        (slot,) = self.steps[number].outputs
        readers = self.readers.get(slot, [])
        return readers[0] if len(readers) == 1 and slot not in self.kept else None

    def _link(self, step: Step, port: int, shape: tuple[int, ...]) -> Link | None:
        """What a step does to its input `port`, as seen by elements that lie in this shape."""
        constants: list[Array | None] = [self.template[slot] for slot in step.inputs]
        follow = follow_of(step.operator, port, step.node.all_attributes, constants)
        if follow is None or follow.operand is None:
            return None if follow is None else Link(follow)
        link = Link(follow, constants[follow.operand], step.given[follow.operand])
        return link if step.shape is None or step.shape == shape else _reshaped(link, step.shape, shape)

    def _pointwise(self, step: Step) -> Leader | None:
        """An elementwise layer as the first of a chain: what it does to an input that has its result's shape."""
        if step.dtype != np.float32:
            return None
        for port, given in enumerate(step.given):
            if given is not None and given.element_type.dtype == step.dtype and given.shape.to_shape() == step.shape:
                link = self._link(step, port, given.shape.to_shape())
                return None if link is None else Pointwise(step.call, len(step.inputs), port, link)
        return None


def _reshaped(link: Link, shape: tuple[int, ...], target: tuple[int, ...]) -> Link | None:
    """The link whose operand does the same to elements in the shape `target` as this one does to them in `shape`."""
    own = link.constant.shape if link.constant is not None else link.type.shape.to_shape() if link.type else ()
    extents = seen_in(target, shape, own)
    if extents is None or link.type is None:
        return None
    constant = None if link.constant is None else link.constant.reshape(extents)
    return Link(link.follow, constant, TensorType(link.type.element_type, PartialShape(extents)))


def seen_in(target: tuple[int, ...], shape: tuple[int, ...], extents: tuple[int, ...]) -> tuple[int, ...] | None:
    """The extents in which an operand broadcasts to `target`, when it does so to `shape` by its own `extents`.

    Both have the same elements in the same order. None where there are no such extents.
    """
    if len(extents) > len(shape) or prod(shape) != prod(target) or not prod(shape):
        return None
    extents = (1,) * (len(shape) - len(extents)) + extents
    rest = [(whole, own > 1) for whole, own in zip(shape, extents, strict=True) if whole > 1]
    found: list[int] = []
    before = after = 1  # what the axes up to here hold, in the shape and in the target
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


class Leading:
    """The call of a chain's first step; `did_all`: in this run it computed those that are `following`, too."""

    def __init__(self, chain: Chain, out: Array) -> None:
        self._chain, self._out, self.following = chain, out, chain.following
        self.did_all = False

    def __call__(self, *inputs: Any) -> Array:
        self.did_all = self._chain.lead(*inputs, out=self._out)
        if self.did_all:
            all_is_noted()
        else:
            more_is_done()
        return self._out


def handing_on(leading: Leading, call: Callable[..., Any], out: Array) -> Callable[..., Any]:
    """The call of a step that follows: its result is in its buffer where the first step computed the whole chain."""

    def run(*inputs: Any) -> Any:
        return out if leading.did_all else call(*inputs)

    return run
