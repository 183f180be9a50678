"""Chains: a layer, and elementwise layers after it that its kernel may compute before it stores its result.

Nothing else changes: all layers keep their steps, buffers and checks. When the first kernel has computed the whole
chain, the other steps only pass its result on; it is in the buffer that all of them share. So three things must hold
for a layer to be in a chain: nothing else reads the result of the layer before, it writes its own result in place, and
its other inputs are there when the first layer runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from irexec.engine.memory import MemoryPlan
from irexec.engine.step import Step
from irexec.ops.compute.follow import Leader, Link, follow_of
from irexec.ops.compute.pointwise import Pointwise
from irexec.records import record
from irexec.types import Array


class Chain(NamedTuple):
    """The calls of one chain by the numbers of their steps, and the slots that the first reads besides its inputs."""

    first: int
    operands: tuple[int, ...]
    lead: Callable[..., bool]
    # For the number of each step that follows: which of its inputs is the result of the step before.
    ports: dict[int, int]


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
            following.update(chain.ports)
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
        found: list[tuple[int, int, int | None]] = []
        last = first
        while (following := self._following(first, last)) is not None:
            number, port, link, operand = following
            links.append(link)
            found.append((number, port, operand))
            last = number
        taken = leader.leads(links, step.types[0])
        if taken is None:
            return None
        count, lead = taken
        operands = tuple(operand for _, _, operand in found[:count] if operand is not None)
        return Chain(first, operands, lead, {number: port for number, port, _ in found[:count]})

    def _following(self, first: int, last: int) -> tuple[int, int, Link, int | None] | None:
        """(step, port, link, slot of the operand that comes when the model runs) of the layer after `last`."""
        (slot,) = self.steps[last].outputs
        readers = self.readers.get(slot, [])
        if len(readers) != 1 or slot in self.kept:
            return None
        (number,) = readers
        step = self.steps[number]
        if self.memory.buffer_of.get(number) != self.memory.buffer_of[first]:
            return None
        if not step.is_sure or (step.dtype, step.shape) != (self.steps[first].dtype, self.steps[first].shape):
            return None
        port = step.inputs.index(slot)
        link = self._link(step, port)
        if link is None or link.follow.operand is None or link.constant is not None:
            return None if link is None else (number, port, link, None)
        other = step.inputs[link.follow.operand]
        return None if self.made.get(other, -1) >= first else (number, port, link, other)

    def _link(self, step: Step, port: int) -> Link | None:
        """What a step does to its input `port`."""
        constants: list[Array | None] = [self.template[slot] for slot in step.inputs]
        attributes = {a.name: step.node.attributes.get(a.name, a.default) for a in step.operator.attributes}
        follow = follow_of(step.operator, port, attributes, constants)
        if follow is None or follow.operand is None:
            return None if follow is None else Link(follow)
        return Link(follow, constants[follow.operand], step.given[follow.operand])

    def _pointwise(self, step: Step) -> Leader | None:
        """An elementwise layer as the first of a chain: what it does to an input that has its result's shape."""
        if step.dtype != np.float32:
            return None
        for port, given in enumerate(step.given):
            if given is not None and given.element_type.dtype == step.dtype and given.shape.to_shape() == step.shape:
                link = self._link(step, port)
                return None if link is None else Pointwise(step.call, len(step.inputs), port, link)
        return None


class Leading:
    """The call of a chain's first step; `did_all`: in this run it computed the whole chain."""

    def __init__(self, chain: Chain, out: Array) -> None:
        self._chain, self._out = chain, out
        self.did_all = False

    def __call__(self, *inputs: Any) -> Array:
        self.did_all = self._chain.lead(*inputs, out=self._out)
        return self._out


def handing_on(leading: Leading, port: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """The call of a step that follows: it passes the result on where the first step has computed the whole chain."""

    def run(*inputs: Any) -> Any:
        return inputs[port] if leading.did_all else call(*inputs)

    return run
