"""How a body's Parameters and Results hang together with the inputs and outputs of the node that holds it."""

from __future__ import annotations

from irexec.records import record


@record(frozen=True)
class Slicing:
    """The parts along an axis that iterations take, or whose results are put together.

    `start` and `end` count from the back when they are negative; with a negative `stride` the parts are taken from
    `start` backwards.
    """

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1

    def count(self, extent: int) -> int:
        """The number of parts of a dimension."""
        begin, stop = self._bounds(extent)
        return abs(stop - begin) // self._step

    def part(self, extent: int, number: int) -> slice:
        """Where the part of one iteration lies."""
        begin, stop = self._bounds(extent)
        forwards = self.stride > 0 and begin <= stop
        low = begin + number * self._step if forwards else begin - (number + 1) * self._step
        return slice(low, low + abs(self.part_size))

    def _bounds(self, extent: int) -> tuple[int, int]:
        start, end = (at if at >= 0 else extent + 1 + at for at in (self.start, self.end))
        return start, end

    @property
    def _step(self) -> int:
        return max(1, abs(self.part_size), abs(self.stride) if self.part_size == 1 else 1)


@record
class BodyInput:
    """How one Parameter of a body gets its value.

    `external`: the outer input's position, None when it has none. `slicing`: each iteration takes a part of it.
    `back`: the body Result that feeds it from the second iteration on. `iteration`: it is the iteration counter.
    """

    parameter: int
    external: int | None = None
    slicing: Slicing | None = None
    back: int | None = None
    iteration: bool = False
    at: int = -1


@record
class BodyOutput:
    """How an outer output gets its value from a body Result: the last one, or (`slicing`) all of them concatenated."""

    result: int
    external: int | None = None
    slicing: Slicing | None = None
    at: int = -1
