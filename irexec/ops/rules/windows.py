"""Windows that slide over spatial axes: padding, dilation, rounding, and how many windows fit.

Shared by convolution and pooling. Sources: operation pages Convolution-1, MaxPool-14 and the shape calculation rules
of the pooling operators. Their `H_out = H` for same_upper and same_lower holds for a stride of 1; models written by
OpenVINO have ceil(H / stride), and one more where rounding up finds room for it; so does this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from irexec.ops.declare.attributes import NonNegativeInts, PositiveInts
from irexec.ops.declare.checks import holds
from irexec.ops.declare.groups import group
from irexec.ops.declare.operator import Check, require
from irexec.records import record, replace
from irexec.types import Dimension

AutoPad = Literal["explicit", "same_upper", "same_lower", "valid"]
Rounding = Literal["floor", "ceil", "ceil_torch"]


@group
class Windowing:
    """How windows lie over the spatial axes; an empty list stands for ones (strides, dilations) or zeros (pads)."""

    strides: PositiveInts
    pads_begin: NonNegativeInts
    pads_end: NonNegativeInts
    dilations: PositiveInts
    auto_pad: AutoPad = "explicit"

    def for_rank(self, n: int) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Strides, dilations and the explicit pads at begin and end, `n` items each."""
        begins, ends = (self.pads_begin, self.pads_end) if self.auto_pad == "explicit" else ((), ())
        ones, zeros = (1,) * n, (0,) * n
        return self.strides or ones, self.dilations or ones, begins or zeros, ends or zeros


def dilated(kernel: int, dilation: int) -> int:
    """The extent that a kernel covers."""
    return (kernel - 1) * dilation + 1


def same_padding(extent: int, kernel: int, stride: int, dilation: int, auto_pad: str) -> tuple[int, int]:
    """(begin, end) so that ceil(extent / stride) windows fit; an odd pixel goes to the end for same_upper."""
    total = max((-(-extent // stride) - 1) * stride + dilated(kernel, dilation) - extent, 0)
    less, more = total // 2, total - total // 2
    return (less, more) if auto_pad == "same_upper" else (more, less)


def window_count(padded: int, covered: int, stride: int, rounding: str = "floor") -> int:
    """How many windows of `covered` pixels fit into `padded` ones; ceil lets the last one stick out."""
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
    # Padding that was chosen (same_upper, same_lower), so that every pixel has its window.
    chosen: bool = False

    @staticmethod
    def over(extents: Sequence[int], kernel: Sequence[int], how: Windowing, rounding: str = "floor") -> Windows:
        """The windows over these extents."""
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
        """True when there is one window, and it covers all pixels and nothing else."""
        return self.kernel == self.extents and not any(self.begins) and set(self.counts) == set(self.dilations) == {1}

    def taps(self, axis: int) -> range:
        """The taps of the kernel that meet data in any window; the others lie over padding in all of them."""
        begin, dilation = self.begins[axis], self.dilations[axis]
        reach = begin - (self.counts[axis] - 1) * self.strides[axis]
        first = max(0, -(-reach // dilation))
        return range(first, max(first, min(self.kernel[axis], -(-(self.extents[axis] + begin) // dilation))))

    def trimmed(self) -> Windows:
        """The same windows with the taps alone that meet data, so that nothing is as large as padding may be.

        A padding is negative where the first tap left starts behind the first pixel.
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

    def require_fit(self, constraint: str, port: str) -> None:
        """At run time: raise ConstraintError unless the kernel has pixels and fits into the padded data."""
        for axis, (e, k, d, b, f) in enumerate(
            zip(self.extents, self.kernel, self.dilations, self.begins, self.ends, strict=True)
        ):
            require(constraint, k > 0, f"the kernel has no pixels along spatial axis {axis}", port=port)
            message = (
                f"the kernel covers {dilated(k, d)} pixels along spatial axis {axis}, which has only {e} and padding"
            )
            fits = dilated(k, d) <= e + b + f or (self.chosen and e == 0)
            require(constraint, fits, f"{message} {b} + {f}", port=port)

    def lifted(self, rank: int) -> Windows:
        """The same windows with leading spatial axes of extent 1, `rank` in all."""
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
    """ceil(extent / stride); one more where rounding up finds room for it, with a stride beyond the kernel."""
    span = Dimension.of(kernel)
    stride, dilation = how.strides[axis : axis + 1], how.dilations[axis : axis + 1]
    if extent.is_static and span.is_static and span.min:
        along = replace(how, strides=stride, dilations=dilation, pads_begin=(), pads_end=())
        return Dimension(Windows.over([extent.min], [span.min], along, rounding).counts[0])
    count = extent.ceildiv(stride[0] if stride else 1)
    return count if rounding == "floor" else Dimension(count.min, None if count.max is None else count.max + 1)


def check_windows(check: Check, constraint: str, rank: int | None, how: Windowing, **others: Sequence[int]) -> bool:
    """Each list attribute has one item per spatial axis, or is left empty; True when all do."""
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
    """How many windows there are along each axis, as far as it is known; a breach when a kernel does not fit."""
    strides, dilations, begins, ends = how.for_rank(len(extents))
    result = []
    for axis, (extent, k, s, d, b, e) in enumerate(zip(extents, kernel, strides, dilations, begins, ends, strict=True)):
        span = Dimension.of(k)
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
            message += f", which has only {extent} and padding {b} + {e}"
            check(constraint, False, message, found=str(low), allowed=f"at most {extent.max}")
            result.append(Dimension(0, None))
            continue
        holds(constraint)
        # What does not fit is refused at run time; without a pixel and without padding before it, ceil_torch has none.
        least = 0 if rounding == "ceil_torch" and extent.min + b == 0 else 1
        smallest = least if high is None else max(least, _count(extent.min, 1, s, 1, b, e - high + 1, rounding))
        if extent.min == extent.max and low == high:
            result.append(Dimension.of(smallest))
            continue
        largest = None if extent.max is None else max(smallest, _count(extent.max, 1, s, 1, b, e - low + 1, rounding))
        result.append(Dimension(smallest, largest))
    return result


def meeting(shift: int, stride: int, extent: int, count: int) -> tuple[slice, slice] | None:
    """(windows, pixels) along one axis that meet: window j of `count` reads pixel j * stride + shift of `extent`.

    None where no window reads a pixel: with far padding or dilations all of them may lie outside.
    """
    first, last = max(0, -(shift // stride)), min(count, -((shift - extent) // stride))
    if last <= first:
        return None
    start = first * stride + shift
    return slice(first, last), slice(start, start + (last - first - 1) * stride + 1, stride)
