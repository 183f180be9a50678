"""Conversions between colour formats, as operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.api.openvino.layout import Layout
from irexec.api.openvino.preprocess.flow import Flow, ops
from irexec.api.openvino.preprocess.formats import ColorFormat

_RGB_FAMILY = (ColorFormat.RGB, ColorFormat.BGR)
_FOURTH = {ColorFormat.RGBX: ColorFormat.RGB, ColorFormat.BGRX: ColorFormat.BGR}
_YUV = {
    ColorFormat.NV12_SINGLE_PLANE: "nv12",
    ColorFormat.NV12_TWO_PLANES: "nv12",
    ColorFormat.I420_SINGLE_PLANE: "i420",
    ColorFormat.I420_THREE_PLANES: "i420",
}
# The weights of red, green and blue in grey.
_GRAY = (0.299, 0.587, 0.114)


def convert_colors(flow: Flow, target: ColorFormat) -> None:
    """Convert the flow to another colour format. Raises RuntimeError if there is no conversion."""
    source = flow.colors
    if source is target and source is not ColorFormat.UNDEFINED:
        return
    if source in _YUV and target in _RGB_FAMILY:
        function = getattr(ops(), f"{_YUV[source]}_to_{target.name.lower()}")
        flow.become(function(*flow.values))
    elif {source, target} <= set(_RGB_FAMILY):
        reverse_channels(flow)
    elif source in _FOURTH and target in _RGB_FAMILY:
        _without_fourth(flow)
        if _FOURTH[source] is not target:
            reverse_channels(flow)
    elif source in _RGB_FAMILY and target is ColorFormat.GRAY:
        _to_gray(flow, source)
    else:
        raise RuntimeError(f"Source color format '{source.name}' is not convertible to '{target.name}'")
    flow.colors = target


def reverse_channels(flow: Flow) -> None:
    """Reverse the order of the channels."""
    axis = channel_axis(flow, "reverse_channels")
    flow.become(ops().slice(flow.value, [-1], [np.iinfo(np.int64).min + 1], [-1], [axis]))


def channel_axis(flow: Flow, what: str) -> int:
    """Return the axis of the channels. Raises RuntimeError if the layout does not contain it."""
    layout: Layout = flow.layout
    if not layout.has_name("C"):
        raise RuntimeError(f"{what} needs a layout with C; the layout is {layout}")
    return layout.get_index_by_name("C")


def _without_fourth(flow: Flow) -> None:
    flow.become(ops().slice(flow.value, [0], [3], [1], [channel_axis(flow, "convert_color")]))


def _to_gray(flow: Flow, source: ColorFormat) -> None:
    axis, kind = channel_axis(flow, "convert_color"), flow.value.element_type
    rank = flow.value.type.rank
    if rank is None:
        raise RuntimeError("convert_color to GRAY needs an input whose rank is known")
    shape = [1] * rank
    shape[axis] = 3
    weights: Any = np.array(_GRAY if source is ColorFormat.RGB else _GRAY[::-1], np.float32).reshape(shape)
    value: Any = flow.value if kind.is_real else ops().convert(flow.value, "f32")
    weights = weights.astype(kind.dtype) if kind.is_real else weights
    gray = ops().reduce_sum(ops().multiply(value, weights), [axis], True)
    flow.become(gray if kind.is_real else ops().convert(ops().round(gray, "half_to_even"), kind))
