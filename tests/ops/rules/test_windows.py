"""Windows: padding, dilation, rounding and counts, for numbers and for intervals."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from irexec.core.types import Dimension
from irexec.ops.rules.windows import Windowing, Windows, output_dims, same_padding


def agree(constraint: str, condition: bool | None, message: str, **details: Any) -> bool:
    assert condition in (None, True), message
    return True


@pytest.mark.parametrize(
    ("extent", "kernel", "stride", "dilation", "auto_pad", "expected"),
    [
        (5, 3, 1, 1, "same_upper", (1, 1)),
        (5, 2, 1, 1, "same_upper", (0, 1)),
        (5, 2, 1, 1, "same_lower", (1, 0)),
        (5, 3, 2, 2, "same_lower", (2, 2)),
        (6, 3, 2, 1, "same_upper", (0, 1)),
        (6, 1, 3, 1, "same_upper", (0, 0)),
    ],
)
def test_same_padding(
    extent: int, kernel: int, stride: int, dilation: int, auto_pad: str, expected: tuple[int, int]
) -> None:
    assert same_padding(extent, kernel, stride, dilation, auto_pad) == expected


def windowing(stride: int, dilation: int, begin: int, end: int, auto_pad: Any = "explicit") -> Windowing:
    return Windowing(strides=(stride,), dilations=(dilation,), pads_begin=(begin,), pads_end=(end,), auto_pad=auto_pad)


def test_ceil_torch_drops_a_window_that_starts_in_the_padding() -> None:
    counts = {r: Windows.over([3], [2], windowing(2, 1, 1, 1), r).counts for r in ("floor", "ceil", "ceil_torch")}
    assert counts == {"floor": (2,), "ceil": (3,), "ceil_torch": (2,)}


def test_an_interval_holds_every_count_of_its_extents() -> None:
    lists = product((1, 2, 3), (1, 2), (1, 2), (0, 1), (0, 2))
    for kernel, stride, dilation, begin, end in lists:
        for auto_pad, rounding in product(("explicit", "valid", "same_upper"), ("floor", "ceil", "ceil_torch")):
            shared: Any = (windowing(stride, dilation, begin, end, auto_pad), rounding)
            (known,) = output_dims(agree, "C", [Dimension(6, 9)], [kernel], *shared)
            counts = [Windows.over([n], [kernel], *shared).counts[0] for n in range(6, 10)]
            assert known.min <= min(counts)
            assert known.max is not None and known.max >= max(counts)
            (single,) = output_dims(agree, "C", [Dimension(7)], [kernel], *shared)
            assert single == Windows.over([7], [kernel], *shared).counts[0]


def test_an_unbounded_extent_gives_one_window_or_more() -> None:
    (known,) = output_dims(agree, "C", [Dimension(-1)], [3], windowing(2, 1, 1, 1))
    assert (known.min, known.max) == (1, None)
    (known,) = output_dims(agree, "C", [Dimension(8)], [Dimension(2, 4)], windowing(1, 1, 0, 0))
    assert (known.min, known.max) == (5, 7)
