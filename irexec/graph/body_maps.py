"""How a body's Parameters and Results hang together with the inputs and outputs of the node that holds it."""

from __future__ import annotations

from irexec.records import record


@record(frozen=True)
class Slicing:
    """The parts along an axis that iterations take, or whose results are put together.

    The parts are those from the element `start` to the element `end`, both of them included, as OpenVINO's shapes have
    it (its CPU plugin begins at one end of the axis whatever `start` is). Negative numbers count from the back; with a
    negative `stride` the parts are taken from `start` backwards.
    """

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1

    @property
    def moves(self) -> bool:
        """False where each iteration would take the same part, or nothing."""
        return self.stride != 0 and self.part_size != 0

    def count(self, extent: int) -> int:
        """The number of parts of a dimension that has no `fault`."""
        low, high = self._bounds(extent)
        return max(0, high - low) // self._step

    def fault(self, extent: int) -> str | None:
        """Why a dimension can't be divided into such parts, if it can't."""
        low, high = self._bounds(extent)
        said = f"start {self.start}, end {self.end} and stride {self.stride} in an extent of {extent}"
        if not self.moves:
            return f"stride {self.stride} and part_size {self.part_size}: a loop over such parts never ends"
        if low < 0 or max(low, high) > extent:
            return f"{said}: a part would lie outside"
        if low > high or (low == high and extent):
            return f"{said}: there is nothing in this direction"
        if (high - low) % self._step:
            return f"{said}: {high - low} elements cannot be divided into parts of {self._step}"
        return None

    def part(self, extent: int, number: int) -> slice:
        """Where the part of one iteration lies."""
        low, high = self._bounds(extent)
        at = low + number * self._step if self.stride > 0 else high - (number + 1) * self._step
        return slice(at, at + abs(self.part_size))

    def _bounds(self, extent: int) -> tuple[int, int]:
        """The first element of all parts, and the one behind their last."""
        start, end = (at if at >= 0 else extent + at for at in (self.start, self.end))
        return (start, end + 1) if self.stride > 0 else (end, start + 1)

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
