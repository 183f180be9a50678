"""Windows that slide over spatial axes: padding, dilation, rounding, and the number of windows.

Shared by convolution and pooling. Sources: operation pages Convolution-1, MaxPool-14 and the shape calculation rules
of the pooling operators. Their `H_out = H` for same_upper and same_lower is true for a stride of 1; like OpenVINO, this
module computes ceil(H / stride), and one more window where rounding up leaves room for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from irexec.core.records import record, replace
from irexec.core.types import Dimension, as_dimension
from irexec.ops.spec.attributes import NonNegativeInts, PositiveInts
from irexec.ops.spec.checks import holds
from irexec.ops.spec.groups import group
from irexec.ops.spec.operator import Check

AutoPad = Literal["explicit", "same_upper", "same_lower", "valid"]
Rounding = Literal["floor", "ceil", "ceil_torch"]


@group
class Windowing:
    """The placement of windows over the spatial axes. An empty list means 1 (strides, dilations) or 0 (pads) per
    axis.
    """

    strides: PositiveInts
    pads_begin: NonNegativeInts
    pads_end: NonNegativeInts
    dilations: PositiveInts
    auto_pad: AutoPad = "explicit"

    def for_rank(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Return strides, dilations and the explicit pads at begin and end, `n` items each."""
        begins, ends = (self.pads_begin, self.pads_end) if self.auto_pad == "explicit" else ((), ())
        ones, zeros = (1,) * n, (0,) * n
        return self.strides or ones, self.dilations or ones, begins or zeros, ends or zeros


def dilated(kernel: int, dilation: int) -> int:
    """Return the extent that a dilated kernel covers."""
    return (kernel - 1) * dilation + 1


def same_padding(extent: int, kernel: int, stride: int, dilation: int, auto_pad: str) -> tuple[int, int]:
    """Return pads (begin, end) for ceil(extent / stride) windows; same_upper adds an odd pixel at the end."""
    total = max((-(-extent // stride) - 1) * stride + dilated(kernel, dilation) - extent, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "same_upper" else (more, less)


def window_count(padded: int, covered: int, stride: int, rounding: str = "floor") -> int:
    """Return the number of windows of `covered` pixels in `padded` pixels; with ceil the last may exceed the end."""
    room = padded - covered
    return max(0, (-(-room // stride) if rounding != "floor" else room // stride) + 1)


@record(frozen=True)
class Windows:
    """Windows over static spatial extents, all values resolved; one item per spatial axis in every field."""

    extents: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    counts: tuple[int, ...]
    # Whether the padding is automatic (same_upper, same_lower), so that every pixel is in a window.
    chosen: bool = False

    @staticmethod
    def over(extents: Sequence[int], kernel: Sequence[int], how: Windowing, rounding: str = "floor") -> Windows:
        """Return the windows over these extents."""
        strides, dilations, begins, ends = how.for_rank(len(extents))
        if how.auto_pad in ("same_upper", "same_lower"):
            pairs = [
                same_padding(e, k, s, d, how.auto_pad)
                for e, k, s, d in zip(extents, kernel, strides, dilations, strict=True)
            ]
            begins, ends = tuple(b for b, _ in pairs), tuple(e for _, e in pairs)
        counts = tuple(
            _count(e, k, s, d, b, f, rounding)
            for e, k, s, d, b, f in zip(extents, kernel, strides, dilations, begins, ends, strict=True)
        )
        chosen = how.auto_pad in ("same_upper", "same_lower")
        return Windows(tuple(extents), tuple(kernel), strides, dilations, begins, ends, counts, chosen)

    @property
    def is_pointwise(self) -> bool:
        """True when every window is one pixel and there is no padding."""
        return all(k == 1 for k in self.kernel) and not any(self.begins) and not any(self.ends)

    @property
    def is_whole(self) -> bool:
        """True if there is a single window, which covers exactly all pixels."""
        return self.kernel == self.extents and not any(self.begins) and set(self.counts) == set(self.dilations) == {1}

    def taps(self, axis: int) -> range:
        """Return the taps of the kernel that overlap data in any window; all others are over padding."""
        begin, dilation = self.begins[axis], self.dilations[axis]
        reach = begin - (self.counts[axis] - 1) * self.strides[axis]
        first = max(0, -(-reach // dilation))
        return range(first, max(first, min(self.kernel[axis], -(-(self.extents[axis] + begin) // dilation))))

    def trimmed(self) -> Windows:
        """Return the windows with only the taps that overlap data, so that no array grows with the padding.

        A padding is negative if the first remaining tap starts after the first pixel.
        """
        taps = [self.taps(axis) for axis in range(len(self.extents))]
        if tuple(map(len, taps)) == self.kernel:
            return self
        before = [t.start * d for t, d in zip(taps, self.dilations, strict=True)]
        after = [(k - t.stop) * d for t, k, d in zip(taps, self.kernel, self.dilations, strict=True)]
        return replace(
            self,
            kernel=tuple(map(len, taps)),
            begins=tuple(b - n for b, n in zip(self.begins, before, strict=True)),
            ends=tuple(e - n for e, n in zip(self.ends, after, strict=True)),
        )

    def lifted(self, rank: int) -> Windows:
        """Return the windows with leading spatial axes of extent 1 added, for `rank` axes in total."""
        ones, zeros = (1,) * (rank - len(self.extents)), (0,) * (rank - len(self.extents))
        return Windows(
            ones + self.extents,
            ones + self.kernel,
            ones + self.strides,
            ones + self.dilations,
            zeros + self.begins,
            zeros + self.ends,
            ones + self.counts,
        )


def _count(extent: int, kernel: int, stride: int, dilation: int, begin: int, end: int, rounding: str) -> int:
    count = window_count(extent + begin + end, dilated(kernel, dilation), stride, rounding)
    # ceil_torch: the last window may not start in the padding at the end.
    return count - 1 if rounding == "ceil_torch" and count and (count - 1) * stride >= extent + begin else count


def _same_dim(extent: Dimension, kernel: Dimension | int, how: Windowing, axis: int, rounding: str) -> Dimension:
    """Return ceil(extent / stride), plus one where rounding up leaves room (with a stride larger than the kernel)."""
    span = as_dimension(kernel)
    stride, dilation = how.strides[axis : axis + 1], how.dilations[axis : axis + 1]
    if extent.is_static and span.is_static and span.min:
        along = replace(how, strides=stride, dilations=dilation, pads_begin=(), pads_end=())
        return Dimension(Windows.over([extent.min], [span.min], along, rounding).counts[0])
    count = extent.ceildiv(stride[0] if stride else 1)
    return count if rounding == "floor" else Dimension(count.min, None if count.max is None else count.max + 1)


def check_windows(check: Check, constraint: str, rank: int | None, how: Windowing, **others: Sequence[int]) -> bool:
    """Report list attributes without one item per spatial axis (empty lists are allowed); return True if all fit."""
    if rank is None:
        return True
    ok = True
    lists = {"strides": how.strides, "dilations": how.dilations, "pads_begin": how.pads_begin, "pads_end": how.pads_end}
    for name, values in (lists | others).items():
        if not values or len(values) == rank:
            holds(constraint)
            continue
        message = f"{name} has {len(values)} values, expected one for each of the {rank} spatial axes"
        ok = check(constraint, False, message, attribute=name, found=str(len(values)), allowed=str(rank))
    return ok


def output_dims(
    check: Check,
    constraint: str,
    extents: Sequence[Dimension],
    kernel: Sequence[Dimension | int],
    how: Windowing,
    rounding: str = "floor",
) -> list[Dimension]:
    """Return the numbers of windows along the axes, which may be intervals; report a breach if a kernel does not
    fit.
    """
    strides, dilations, begins, ends = how.for_rank(len(extents))
    result = []
    for axis, (extent, k, s, d, b, e) in enumerate(zip(extents, kernel, strides, dilations, begins, ends, strict=True)):
        span = as_dimension(k)
        if span.max == 0:
            check(constraint, False, f"the kernel has no pixels along spatial axis {axis}", allowed="1 or more")
            result.append(Dimension(0, None))
            continue
        if how.auto_pad in ("same_upper", "same_lower"):
            holds(constraint)
            result.append(_same_dim(extent, k, how, axis, rounding))
            continue
        low = dilated(span.min or 1, d)
        high = low if span.max == span.min else None if span.max is None else dilated(span.max, d)
        if extent.max is not None and extent.max + b + e < low:
            message = f"the kernel covers {low} pixels along spatial axis {axis}"
            message += f", which has only {extent} and a padding of {b} + {e}"
            check(constraint, False, message, found=str(low), allowed=f"at most {extent.max}")
            result.append(Dimension(0, None))
            continue
        holds(constraint)
        # Kernels that do not fit are rejected at run time. With ceil_torch, there are no windows if there may be no
        # pixels and no padding before them.
        least = 0 if rounding == "ceil_torch" and extent.min + b == 0 else 1
        smallest = least if high is None else max(least, _count(extent.min, 1, s, 1, b, e - high + 1, rounding))
        if extent.min == extent.max and low == high:
            result.append(as_dimension(smallest))
            continue
        largest = None if extent.max is None else max(smallest, _count(extent.max, 1, s, 1, b, e - low + 1, rounding))
        result.append(Dimension(smallest, largest))
    return result


def meeting(shift: int, stride: int, extent: int, count: int) -> tuple[slice, slice] | None:
    """Return slices (windows, pixels) along one axis: window j of `count` reads pixel j * stride + shift of `extent`.

    Returns None if no window reads a pixel: with large padding or dilations all positions may be outside the data.
    """
    first, last = max(0, -(shift // stride)), min(count, -((shift - extent) // stride))
    if last <= first:
        return None
    start = first * stride + shift
    return slice(first, last), slice(start, start + (last - first - 1) * stride + 1, stride)
