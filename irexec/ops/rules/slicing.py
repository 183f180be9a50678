"""Python slices: of arrays, and of extents that are known only as intervals.

Shared by Slice, StridedSlice and their relatives.
"""

from __future__ import annotations

from irexec.core.types import Dimension, TensorType, is_unknown
from irexec.core.types.traced import is_traced, smaller
from irexec.ops.spec.oracle import Deviation

# In files, the greatest i32 or i64 as a bound means the end of a dimension of unknown size.
_FAR = 2**31 - 1


def slice_of(extent: int, start: int | None, stop: int | None, step: int, *, clamp: bool = False) -> slice:
    """Return `[start:stop:step]` for `extent` elements.

    `clamp`: a backward slice that starts before the first element contains this element.
    """
    if clamp and step < 0 and start is not None:
        start = max(start, -extent)
    first, last, step = slice(start, stop, step).indices(extent)
    # A backward slice from before the first element is empty; a start of -1 would mean the last element.
    return slice(0, 0, step) if first < 0 else slice(first, None if last < 0 else last, step)


def sliced_length(extent: int, start: int | None, stop: int | None, step: int, *, clamp: bool = False) -> int:
    """Return the number of elements that `slice_of` selects from `extent` elements."""
    if clamp and step < 0 and start is not None:
        start = max(start, -extent)
    if any(map(is_traced, (extent, start, stop))):
        first, last = (_index(extent, bound, step, is_stop) for bound, is_stop in ((start, False), (stop, True)))
    else:
        first, last, step = slice(start, stop, step).indices(extent)
    return max(-((first - last) // step), 0)


def _index(extent: int, bound: int | None, step: int, is_stop: bool) -> int:
    """Return a bound like `slice.indices`, also for traced numbers (see core/types/traced.py)."""
    low, high = (0, extent) if step > 0 else (-1, extent - 1)
    if bound is None:
        return high if is_stop == (step > 0) else low
    if bound < 0:
        return max(bound + extent, low)
    # A bound beyond any extent means the end.
    return smaller(bound, high) if is_traced(bound) or bound < _FAR else min(bound, high)


def sliced_within(extent: Dimension, start: int | Dimension, stop: int | Dimension, step: int) -> Dimension:
    """Return the extents of `[start:stop:step]` for an interval of extents; the bounds may also be intervals."""
    if is_unknown(start) or is_unknown(stop):
        first, last = (0, _FAR) if step > 0 else (_FAR, -_FAR)
        most = sliced_within(extent, first if is_unknown(start) else start, last if is_unknown(stop) else stop, step)
        return Dimension(0, most.max)
    (low, late), (early, high) = _ends(start), _ends(stop)
    # The number of elements decreases as the bounds approach each other.
    near, far = ((late, early), (low, high)) if step > 0 else ((low, high), (late, early))
    return sliced(extent, *near, step).union(sliced(extent, *far, step))


def _ends(bound: int | Dimension) -> tuple[int, int]:
    if isinstance(bound, int):
        return bound, bound
    return bound.min, _FAR if bound.max is None else bound.max


def sliced(extent: Dimension, start: int | None, stop: int | None, step: int, *, clamp: bool = False) -> Dimension:
    """Return the extents of `[start:stop:step]` for an interval of extents."""
    if extent.is_static:
        return Dimension(sliced_length(extent.value, start, stop, step, clamp=clamp))
    forward = step > 0
    if start is not None and (start <= -_FAR if forward else start >= _FAR):
        start = None
    if stop is not None and (stop >= _FAR if forward else stop <= -_FAR):
        stop = None
    # The length is piecewise monotonic; the pieces meet where a bound equals 0, the extent or the second bound.
    turns = [abs(v) for v in (start, stop) if v is not None]
    bends = [turn + d for turn in (*turns, sum(turns)) for d in (-1, 0, 1)]
    far = max([*bends, extent.min, 1]) + 2 * abs(step)
    ends = [extent.min, far if extent.max is None else extent.max]
    inner = [n for n in bends if n >= 0 and extent.contains(n)]
    lengths = [sliced_length(n, start, stop, step, clamp=clamp) for n in (*inner, *ends)]
    grows = sliced_length(far + 4 * abs(step), start, stop, step, clamp=clamp) > lengths[-1]
    return Dimension(min(lengths), None if extent.max is None and grows else max(lengths))


def backward_from_before(
    data: TensorType, start: TensorType, step: TensorType, axes: TensorType | None, *, resizes: bool = False
) -> Deviation | None:
    """Return the deviation of a backward slice that starts before the first element, if the types show one."""
    starts, steps = start.ints or [], step.ints or []
    places = range(len(starts)) if axes is None else axes.ints or []
    for place, first, stride in zip(places, starts, steps, strict=False) if data.rank is not None else ():
        extent = data.shape[place]
        if stride < 0 and extent.is_static and first < -extent.value:
            return Deviation(
                "slices backwards from before the first element, for which its page defines an empty result; "
                "OpenVINO takes the first element",
                resizes=resizes,
            )
    return None
