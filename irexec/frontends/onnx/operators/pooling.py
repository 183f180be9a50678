"""Translators of ONNX's pooling: over windows, whole images, regions.

Source: ONNX operator pages.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.convolution import auto_pad, spatial, window_lists
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value


def _windows(op: Op) -> dict[str, Any]:
    kernel = op.integers("kernel_shape") or []
    count = spatial(op, op[0], like=len(kernel) + 2)
    if len(kernel) != count:
        op.refuse(
            f"kernel_shape has {len(kernel)} values, expected {count}, one for each spatial axis",
            attribute="kernel_shape",
        )
    lists = window_lists(op, count)
    for axis, (size, dilation) in enumerate(zip(kernel, lists["dilations"], strict=True)):
        pad, reach = max(lists["pads_begin"][axis], lists["pads_end"][axis]), (size - 1) * dilation + 1
        if pad >= reach:
            message = f"pads has {pad} on spatial axis {axis}, expected less than the kernel's {reach}"
            raise Refused("O001", message, attribute="pads", found=str(pad), allowed=f"less than {reach}")
    # A window that would start in the padding at the end is omitted.
    rounding = "ceil_torch" if op.flag("ceil_mode") else "floor"
    return lists | {"kernel": kernel, "auto_pad": auto_pad(op), "rounding_type": rounding}


@translates("MaxPool", since=(1, 8, 10, 11, 12, 22))
def _max_pool(op: Op) -> list[Value]:
    pooled = op.make_node("MaxPool", op[0], opset=14, **_windows(op)).outputs
    if not op.wants(1):
        return [pooled[0]]
    places = pooled[1]
    return [pooled[0], _by_columns(op, places) if op.flag("storage_order") else places]


def _by_columns(op: Op, places: Value) -> Value:
    """Return indices into images converted to column-major order."""
    shape = op.shape_of(op[0])
    extents = [op.make("Gather", shape, axis, 0, opset=8) for axis in range(2, op.needs_rank())]
    size = reduce(lambda a, b: op.make("Multiply", a, b), extents)
    left = op.make("FloorMod", places, size)
    result, stride = op.make("Subtract", places, left), size
    # In the given indices the last axis varies fastest.
    for extent in reversed(extents):
        stride = op.make("Divide", stride, extent)
        place = op.make("FloorMod", left, extent)
        left = op.make("Divide", left, extent)
        result = op.make("Add", result, op.make("Multiply", place, stride))
    return result


@translates("AveragePool", since=(1, 7, 10, 11, 19, 22))
def _average_pool(op: Op) -> Value:
    return average_pool(op, op[0])


def average_pool(op: Op, x: Value) -> Value:
    """Return the mean of each window, with the node's attributes."""
    windows, counted = _windows(op), op.flag("count_include_pad")
    if counted and _sticks_out(x, windows):
        return op.make("AveragePool", x, opset="onnx19", **windows)
    return op.make("AvgPool", x, opset=16, exclude_pad=not counted, **windows)


def _sticks_out(x: Value, windows: dict[str, Any]) -> bool:
    """Return True if a window may extend beyond the padded image: IR then divides by the full size of the window."""
    begins, ends, kernel = windows["pads_begin"], windows["pads_end"], windows["kernel"]
    if windows["rounding_type"] == "floor" or windows["auto_pad"] != "explicit" or not any([*begins, *ends]):
        return False
    if x.type.shape.rank is None:
        return True
    for axis, (stride, k, d) in enumerate(zip(windows["strides"], kernel, windows["dilations"], strict=True)):
        extent = x.type.shape[2 + axis]
        if not extent.is_static or (extent.value + begins[axis] + ends[axis] - (k - 1) * d - 1) % max(stride, 1):
            return True
    return False


@translates("LpPool", since=(2, 11, 18, 22))
def _lp_pool(op: Op) -> Value:
    return _lp_pooled(op, float(op.integer("p", 2)))


@translates("LpPool", since=(1,))
def _lp_pool_1(op: Op) -> Value:
    return _lp_pooled(op, op.number("p", 2.0))


def _lp_pooled(op: Op, p: float) -> Value:
    """Return the p-th root of the sum of powers, computed as their mean times the size of a full window."""
    _require_positive(op, p)
    windows = _windows(op)
    if windows["rounding_type"] != "floor" or windows["auto_pad"] not in ("explicit", "valid"):
        return op.make("LpPool", op[0], opset="onnx18", p=p, **windows)
    powers = op.make("Power", op.make("Abs", op[0]), op.like(p))
    mean = op.make("AvgPool", powers, opset=16, exclude_pad=False, **windows)
    total = op.make("Multiply", mean, op.like(float(np.prod(windows["kernel"]))))
    return op.make("Power", total, op.like(1 / p))


def _require_positive(op: Op, p: float) -> None:
    if not p > 0:
        op.refuse(f"p is {p:g}, expected a positive number", attribute="p")


@translates("GlobalAveragePool", "GlobalMaxPool", since=(1, 22))
def _global(op: Op) -> Value:
    type = "ReduceMean" if op.type == "GlobalAveragePool" else "ReduceMax"
    return op.make(type, op[0], op.axes_from(2), keep_dims=True)


@translates("GlobalLpPool", since=(1, 2, 22))
def _global_lp(op: Op) -> Value:
    p = op.number("p", 2.0) if op.version == 1 else float(op.integer("p", 2))
    _require_positive(op, p)
    axes = op.axes_from(2)
    if p in (1.0, 2.0):
        return op.make(f"ReduceL{int(p)}", op[0], axes, opset=4, keep_dims=True)
    powers = op.make("Power", op.make("Abs", op[0]), op.like(p))
    total = op.make("ReduceSum", powers, axes, keep_dims=True)
    return op.make("Power", total, op.like(1 / p))


@translates("MaxUnpool", since=(9, 11, 22), shapes="X:; I: ...; output_shape: X.rank")
def _max_unpool(op: Op) -> Value:
    kernel = op.integers("kernel_shape") or []
    count = spatial(op, op[0], like=len(kernel) + 2)
    lists = window_lists(op, count)
    options = {"kernel": kernel, "strides": lists["strides"]}
    options |= {"pads_begin": lists["pads_begin"], "pads_end": lists["pads_end"]}
    return op.make("MaxUnpool", op[0], op[1], op.get(2), opset="onnx9", **options)


@translates("MaxRoiPool", since=(1, 22), shapes="X: N C H W; rois: R 5")
def _max_roi_pool(op: Op) -> Value:
    pooled = op.integers("pooled_shape") or []
    options = {"pooled_shape": pooled, "spatial_scale": op.number("spatial_scale", 1.0)}
    return op.make("MaxRoiPool", op[0], op[1], opset="onnx1", **options)


@translates("RoiAlign", since=(10, 16, 22), shapes="X: N C H W; rois: R 4; batch_indices: R")
def _roi_align(op: Op) -> Value:
    modes = ("half_pixel", "output_half_pixel")
    aligned = op.text("coordinate_transformation_mode", "half_pixel", allowed=modes) if op.version >= 16 else modes[1]
    height, width = op.integer("output_height", 1), op.integer("output_width", 1)
    ratio, scale = op.integer("sampling_ratio", 0), op.number("spatial_scale", 1.0)
    if op.text("mode", "avg", allowed=("avg", "max")) == "max":
        own: dict[str, Any] = {"output_height": height, "output_width": width, "half_pixel": aligned == "half_pixel"}
        options = {"sampling_ratio": ratio, "spatial_scale": scale}
        return op.make("RoiAlign", op[0], op[1], op[2], opset="onnx16", **own, **options)
    mode = "half_pixel_for_nn" if aligned == "half_pixel" else "asymmetric"
    sizes: dict[str, Any] = {"pooled_h": height, "pooled_w": width, "sampling_ratio": ratio, "spatial_scale": scale}
    return op.make("ROIAlign", op[0], op[1], op[2], opset=9, mode="avg", aligned_mode=mode, **sizes)
