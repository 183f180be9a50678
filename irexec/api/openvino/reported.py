"""The attributes of a node as OpenVINO reports them: with the values that it computes when it validates the node."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from irexec.core.types import DYNAMIC, Dimension, ElementType
from irexec.model.graph.model import Node
from irexec.ops.rules.windows import dilated, same_padding
from irexec.ops.spec.operator import Operator

Attributes = dict[str, Any]

# Attribute names on operation pages that differ from OpenVINO's names; irexec accepts both.
_OF_PAGES = {
    "Col2Im": ("output_size", "kernel_size", "stride"),
    "MatrixNms": ("sort_result",),
    "MulticlassNms": ("sort_result",),
    "SearchSorted": ("right",),
}
# Enumerations whose members OpenVINO reports in lower case.
_LOWER = {"RandomUniform": "alignment", "SegmentMax": "fill_mode"}


def reported_attributes(node: Node, operator: Operator) -> Attributes:
    """Return the attributes of a node by their names in a file: shapes as lists, types and enumerations as texts."""
    found = {a.file_name: _plain(node.attributes.get(a.name, a.default)) for a in operator.attributes}
    if found.get("auto_broadcast") != "pdpd":
        found.pop("auto_broadcast.auto_broadcast_axis", None)
    if node.type == "Col2Im" and not found["strides"]:
        found["strides"] = found["stride"]
    for name in _OF_PAGES.get(node.type, ()):
        found.pop(name, None)
    if node.type in _LOWER:
        found[_LOWER[node.type]] = found[_LOWER[node.type]].lower()
    if found.get("clip") == math.inf:
        found["clip"] = 0.0  # Both values disable clipping.
    if node.type in _COMPUTED:
        _COMPUTED[node.type](node, found)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, ElementType):
        return value.name if value is not DYNAMIC else "dynamic"
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "to_string") and hasattr(value, "rank"):
        return [-1 if d.is_dynamic else d.min for d in value.dims] if value.rank is not None else []
    return value


def _dims(node: Node, port: int) -> Sequence[Dimension] | None:
    """Return the dimensions of an input; None without such an input, or if its rank is not known."""
    value = node.inputs[port] if port < len(node.inputs) else None
    shape = None if value is None else value.type.shape
    return None if shape is None or shape.rank is None else shape.dims


def _filtered(node: Node, found: Attributes) -> None:
    _place(node, found, _dims(node, 2 if node.type == "DeformableConvolution" else 1))


def _pooled(node: Node, found: Attributes) -> None:
    _place(node, found, [Dimension(n) for n in found["kernel"]])


def _place(node: Node, found: Attributes, taps: Sequence[Dimension] | None) -> None:
    """Complete strides, dilations and pads. `taps`: dimensions that end with those of the kernel."""
    data = _dims(node, 0)
    if data is None:
        return
    extents = data[2:]
    n = len(extents)
    for name, value in (("strides", 1), ("dilations", 1), ("pads_begin", 0), ("pads_end", 0), ("output_padding", 0)):
        if found.get(name) == [] and (name, node.type) != ("dilations", "AvgPool"):
            found[name] = [value] * n
    if found["auto_pad"] == "explicit" or taps is None:
        return
    pads = [(0, 0)] * n
    if found["auto_pad"] != "valid":
        axes = zip(extents, taps[len(taps) - n :], found["strides"], found.get("dilations", [1] * n), strict=True)
        spreads = "Backprop" in node.type
        pads = [
            _spread_padding(node, found, axis, *along) if spreads else _padding(*along, found["auto_pad"])
            for axis, along in enumerate(axes)
        ]
    found["pads_begin"], found["pads_end"] = [begin for begin, _ in pads], [end for _, end in pads]


def _padding(extent: Dimension, taps: Dimension, stride: int, dilation: int, auto_pad: str) -> tuple[int, int]:
    """Return the pads of an axis; 0 if its extents are not known."""
    if not (extent.is_static and taps.is_static):
        return 0, 0
    return same_padding(extent.min, taps.min, stride, dilation, auto_pad)


def _spread_padding(
    node: Node, found: Attributes, axis: int, extent: Dimension, taps: Dimension, stride: int, dilation: int
) -> tuple[int, int]:
    """Return the pads with which a transposed convolution has the extents of `output_shape`."""
    shape = node.outputs[0].type.shape
    if len(node.inputs) < 3 or shape.rank is None or not all(d.is_static for d in (extent, taps, shape.dims[axis + 2])):
        return 0, 0
    full = (extent.min - 1) * stride + dilated(taps.min, dilation) + found["output_padding"][axis]
    total = max(full - shape.dims[axis + 2].min, 0)
    less, more = total // 2, total - total // 2
    return (more, less) if found["auto_pad"] == "same_upper" else (less, more)


def _one_hot(node: Node, found: Attributes) -> None:
    indices = _dims(node, 0)
    if indices is not None and found["axis"] < 0:
        found["axis"] += len(indices) + 1


def _mvn(node: Node, found: Attributes) -> None:
    data = _dims(node, 0)
    if data is not None and found.get("reduction_axes") == []:
        found["reduction_axes"] = list(range(1 if found["across_channels"] else 2, len(data)))


def _interpolate(node: Node, found: Attributes) -> None:
    data = _dims(node, 0)
    if data is not None and "shape_calculation_mode" in found:
        for name in ("pads_begin", "pads_end"):
            found[name] = [*found[name], *[0] * len(data)][: max(len(data), len(found[name]))]


def _strided_slice(node: Node, found: Attributes) -> None:
    for name in ("new_axis_mask", "shrink_axis_mask", "ellipsis_mask"):
        if found[name] == [0]:  # The page's default; OpenVINO's is an empty mask.
            found[name] = []


def _roi_pooling(node: Node, found: Attributes) -> None:
    found["output_size"] = found["output_roi"] = [found["pooled_h"], found["pooled_w"]]


def _reorg_yolo(node: Node, found: Attributes) -> None:
    found["stride"] = [found["stride"]]


# The functions that set attributes to the values that OpenVINO computes, by operator.
_COMPUTED: dict[str, Callable[[Node, Attributes], None]] = {
    "AvgPool": _pooled,
    "BinaryConvolution": _filtered,
    "Convolution": _filtered,
    "ConvolutionBackpropData": _filtered,
    "DeformableConvolution": _filtered,
    "GroupConvolution": _filtered,
    "GroupConvolutionBackpropData": _filtered,
    "Interpolate": _interpolate,
    "MVN": _mvn,
    "MaxPool": _pooled,
    "OneHot": _one_hot,
    "ROIPooling": _roi_pooling,
    "ReorgYolo": _reorg_yolo,
    "StridedSlice": _strided_slice,
}
