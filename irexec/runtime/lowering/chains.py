"""Chains: consecutive steps, each the only reader of the step before it, that are computed together at the last step.

Other steps may lie between the steps of a chain if they write to no memory that the chain reads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from irexec.core.types import I8, U8, Array, ElementType
from irexec.ops.spec.traits import ConversionTo, KeepsElements, Trait
from irexec.runtime.engine.step import Step
from irexec.runtime.lowering.follow import Link
from irexec.runtime.lowering.fusion import Finder, Group
from irexec.runtime.lowering.table import Lowered

F32 = np.dtype(np.float32)
Kind = type[Trait]


class Chain:
    """A chain under construction, which begins with one step. `taken` contains the numbers of its steps in the plan."""

    def __init__(self, finder: Finder, first: int) -> None:
        self.finder, self.taken = finder, [first]

    @property
    def last(self) -> Step:
        return self.finder.steps[self.taken[-1]]

    @property
    def type(self) -> ElementType:
        """The element type of the result."""
        return self.last.types[0].element_type

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        assert self.last.shape is not None
        return self.last.shape

    def next(self, trait: Kind | None = None, to: ElementType | None = None) -> bool:
        """Append the next step if its operator has this trait and its result this type; return whether it was."""
        number = self.finder.reader(self.taken[-1])
        if number is None:
            return False
        step = self.finder.steps[number]
        if not step.is_sure or step.shape is None or (trait is not None and trait not in step.operator.traits):
            return False
        if to is not None and step.types[0].element_type is not to:
            return False
        self.taken.append(number)
        return True

    def drop(self, count: int) -> None:
        """Keep only the first `count` steps."""
        del self.taken[count:]

    @property
    def port(self) -> int:
        """The input of the last step that is the result of the step before it."""
        return self.last.inputs.index(self.finder.steps[self.taken[-2]].outputs[0])

    @property
    def other(self) -> int:
        """The slot of the input of the last step that is not the result of the step before it; the last step has two
        inputs.
        """
        return self.last.inputs[1 - self.port]

    def constant(self) -> Array | None:
        """Return the array in the slot `other` if it is a constant; None if it is not."""
        found: Array | None = self.finder.template[self.other] if len(self.last.inputs) == 2 else None
        return found

    def links(self) -> tuple[list[Link], list[int | None]]:
        """Append the next steps while they are elementwise in f32 and keep the shape; return their effects and
        operands.

        The second operand of each step is a constant, for which the slot is None, or a single number computed at run
        time, whose slot is returned.
        """
        links: list[Link] = []
        slots: list[int | None] = []
        start, shape = len(self.taken), self.shape
        while self.next():
            link = self.finder.link(self.taken[-1], self.port, shape)
            if link is None or self.last.shape != shape or self.last.dtype != F32:
                break
            is_computed = link.follow.operand is not None and link.constant is None
            slot = self.last.inputs[link.follow.operand] if is_computed and link.follow.operand is not None else None
            if slot is not None and not self.is_number(slot):
                break
            links.append(link)
            slots.append(slot)
        self.drop(start + len(links))
        return links, slots

    def is_number(self, slot: int) -> bool:
        """Return whether a slot holds a single f32 that another step computes."""
        maker = self.finder.made.get(slot)
        if maker is None or maker in self.taken:
            return False
        step = self.finder.steps[maker]
        return step.dtype == F32 and step.shape in ((), (1,))

    def is_stored(self, links: Sequence[Link]) -> bool:
        """Append the next step if it converts to u8 or i8 and the last link clamps to the range of that type; return
        whether it was appended.
        """
        if not links or links[-1].follow.formula is not np.clip:
            return False
        low, high = (float(number) for number in links[-1].follow.numbers)
        limits = [(to, np.iinfo(to.to_dtype())) for to in (U8, I8)]
        return any(i.min <= low <= high <= i.max and self.next(ConversionTo, to) for to, i in limits)

    def group(self, form: Lowered, sources: Sequence[int]) -> Group | None:
        """Return the group of the chain, whose lowered form reads the slots `sources`; None if other steps may
        overwrite these before the group runs.
        """
        if not all(map(self._is_kept, sources)):
            return None
        return Group(self.taken[-1], form, absorbed=tuple(self.taken[:-1]), sources=tuple(sources))

    def _is_kept(self, slot: int) -> bool:
        """Return whether no step before the last one frees a slot or writes to its memory."""
        steps, memory, maker = self.finder.steps, self.finder.memory, self.finder.made.get(slot)
        begin = self.taken[0] if maker is None else max(self.taken[0], maker + 1)
        between = [number for number in range(begin, self.taken[-1]) if number not in self.taken]
        if any(slot in steps[number].frees for number in between):
            return False
        if maker is None or not between:
            return True
        made = self.finder.made
        while KeepsElements in steps[maker].operator.traits:
            if (before := made.get(steps[maker].inputs[0])) is None:
                break
            maker = before
        own = memory.buffer_of.get(maker)
        if own is None:
            # The value has memory of its own, unless it is a view.
            return steps[maker].takes_out
        start, stop = memory.starts[own], memory.starts[own] + memory.sizes[own]
        others = {memory.buffer_of[number] for number in between if number in memory.buffer_of}
        return all(memory.starts[n] >= stop or memory.starts[n] + memory.sizes[n] <= start for n in others)
