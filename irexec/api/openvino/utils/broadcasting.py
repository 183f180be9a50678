"""Axes along which an array is broadcast."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.api.openvino.shapes import AxisSet

TensorShape = list[int]


def get_broadcast_axes(output_shape: Sequence[int], input_shape: Sequence[int], axis: int | None = None) -> AxisSet:
    """Return the axes of the output that the input does not have; the input's axes begin at `axis`, or are the last
    ones."""
    begin = len(output_shape) - len(input_shape) if axis is None else axis
    return AxisSet(set(range(len(output_shape))) - set(range(begin, begin + len(input_shape))))
