"""The mapping between a body's Parameters and Results and the inputs and outputs of the node that contains it."""

from __future__ import annotations

from collections.abc import Iterator

from irexec.core.records import record


@record(frozen=True)
class Slicing:
    """The slices along an axis that iterations read, or into which results are concatenated.

    The slices range from the element `start` to the element `end`, both inclusive, as in OpenVINO's shape inference
    (its CPU plugin begins at one end of the axis whatever `start` is). Negative numbers count from the back; with a
    negative `stride` the slices are taken from `start` backwards.
    """

    axis: int
    start: int = 0
    end: int = -1
    stride: int = 1
    part_size: int = 1

    @property
    def moves(self) -> bool:
        """Return whether iterations take different slices: False if each would take the same slice, or an empty
        slice.
        """
        return self.stride != 0 and self.part_size != 0

    def count(self, extent: int) -> int:
        """Return the number of slices of a dimension that has no `fault`."""
        low, high = self._bounds(extent)
        return max(0, high - low) // self._step

    def fault(self, extent: int) -> str | None:
        """Return the reason why a dimension cannot be divided into these slices; None if it can."""
        low, high = self._bounds(extent)
        found = f"start {self.start}, end {self.end} and stride {self.stride} in an extent of {extent}"
        if not self.moves:
            return f"stride {self.stride} and part_size {self.part_size} produce an endless loop"
        if low < 0 or max(low, high) > extent:
            return f"{found}: a part is out of range"
        if low > high or (low == high and extent):
            return f"{found}: the range is empty in this direction"
        if (high - low) % self._step:
            return f"{found}: {high - low} elements are not a multiple of the part size {self._step}"
        return None

    def parts(self, extent: int) -> Iterator[slice]:
        """Yield the range of each iteration's slice."""
        (low, high), step, size = self._bounds(extent), self._step, abs(self.part_size)
        starts = range(low, high, step) if self.stride > 0 else range(high - step, low - 1, -step)
        for at in starts:
            yield slice(at, at + size)

    def _bounds(self, extent: int) -> tuple[int, int]:
        """Return the index of the first element of all slices, and the index after the last element."""
        start = self.start if self.start >= 0 else extent + self.start
        end = self.end if self.end >= 0 else extent + self.end
        return (start, end + 1) if self.stride > 0 else (end, start + 1)

    @property
    def _step(self) -> int:
        return max(1, abs(self.part_size), abs(self.stride) if self.part_size == 1 else 1)


@record
class BodyInput:
    """The sources of one Parameter of a body.

    `external`: the outer input's position; None without an outer input. `slicing`: each iteration takes a slice of the
    outer input. `back`: the body Result that feeds the Parameter from the second iteration on. `iteration`: the
    Parameter counts the iterations.
    """

    parameter: int
    external: int | None = None
    slicing: Slicing | None = None
    back: int | None = None
    iteration: bool = False
    at: int = -1


@record
class BodyOutput:
    """The source of an outer output: a body Result, of the last or (`slicing`) of all iterations, concatenated."""

    result: int
    external: int | None = None
    slicing: Slicing | None = None
    at: int = -1
