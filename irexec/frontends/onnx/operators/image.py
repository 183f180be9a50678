"""Translators of ONNX's operators on images: resizing, sampling, assembling.

Source: ONNX operator pages.
"""

from __future__ import annotations

import numpy as np

from irexec.core.types import BOOLEAN, F32, FLOATS, MAX_RANK, U8, PartialShape
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.operators.convolution import window_lists
from irexec.frontends.onnx.registry import Translator, translates
from irexec.model.graph.model import Value

_COMMON = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")
_COORDINATES = {11: (*_COMMON, "tf_half_pixel_for_nn"), 13: _COMMON, 18: (*_COMMON, "half_pixel_symmetric")}
_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_POLICIES = ("stretch", "not_larger", "not_smaller")


@translates("Resize", since=(11, 13, 18, 19))
def _resize(op: Op) -> Value:
    if op.kind() is BOOLEAN:
        return _as_numbers(op, _resize)
    allowed = _COORDINATES[min(op.version, 18)]
    coordinates = op.text("coordinate_transformation_mode", "half_pixel", allowed=allowed)
    mode = op.text("mode", "nearest", allowed=("nearest", "linear", "cubic"))
    options = {
        "nearest_mode": op.text("nearest_mode", "round_prefer_floor", allowed=_NEAREST),
        "antialias": op.flag("antialias") and mode != "nearest",
        "cubic_coeff_a": op.number("cubic_coeff_a", -0.75),
        "exclude_outside": op.flag("exclude_outside"),
        "extrapolation_value": op.number("extrapolation_value", 0.0),
        "policy": op.text("keep_aspect_ratio_policy", "stretch", allowed=_POLICIES),
    }
    axes, scales, sizes = op.axes("axes") or [], _unless_empty(op.get(2)), _unless_empty(op.get(3))
    if (scales is None) == (sizes is None):
        op.refuse("exactly one of scales and sizes must be given")
    each = len(axes) or "X.rank"
    roi = f"2*{each}" if coordinates == "tf_crop_and_resize" else "..."
    op.check_shapes(f"X:; roi: {roi}; scales: 0 | {each}; sizes: 0 | {each}")
    plain = coordinates not in ("tf_crop_and_resize", "half_pixel_symmetric") and options["policy"] == "stretch"
    # With align_corners ONNX uses the extent that follows from the scales, even if it is not an integer.
    plain &= coordinates != "align_corners" or scales is None
    plain &= not options["antialias"] and not options["exclude_outside"]
    if plain and (mode == "nearest" or op.kind() in FLOATS) and op.rank():
        return _interpolated(op, mode, coordinates, str(options["nearest_mode"]), scales, sizes, axes)
    inputs = (op[0], _unless_empty(op.get(1)), scales, sizes)
    return op.make("Resize", *inputs, opset="onnx19", mode=mode, coordinates=coordinates, axes=axes, **options)


def _as_numbers(op: Op, translator: Translator) -> Value:
    """Translate a node with booleans, which IR's operators on images do not accept, as one with integers."""
    op.inputs[0] = op.convert(op[0], U8)
    made = translator(op)
    assert isinstance(made, Value)
    return op.convert(made, BOOLEAN)


def _unless_empty(value: Value | None) -> Value | None:
    return None if value is not None and value.type.shape == [0] else value


def _interpolated(
    op: Op, mode: str, coordinates: str, nearest: str, scales: Value | None, sizes: Value | None, axes: list[int]
) -> Value:
    """Return the resized image, computed by Interpolate along the axes whose extents change."""
    given = scales if scales is not None else sizes
    assert given is not None
    count = given.type.shape
    rank = int(count[0].value) if op.rank() is None and count.rank == 1 and count[0].is_static else op.needs_rank()
    axes = [axis % rank for axis in axes] or list(range(rank))
    known = given.node.constant if given.node.constant is not None else given.type.value
    if known is not None and known.size == len(axes):
        shape = op[0].type.shape.merge(PartialShape.dynamic(rank)) or op[0].type.shape
        same = [k == 1 if given is scales else shape[a] == int(k) for k, a in zip(known.tolist(), axes, strict=True)]
        kept = [i for i, s in enumerate(same) if not s]
        if not kept:
            return op.same(op[0])
        axes, given = [axes[i] for i in kept], op.constant(known[kept], given.element_type)
    return op.make(
        "Interpolate",
        op[0],
        given,
        axes,
        opset=11,
        mode="linear_onnx" if mode == "linear" else mode,
        shape_calculation_mode="scales" if scales is not None else "sizes",
        coordinate_transformation_mode=coordinates,
        nearest_mode=nearest,
        cube_coeff=op.number("cubic_coeff_a", -0.75),
    )


@translates("Resize", since=(10,))
@translates("Upsample", since=(9,))
def _upsample(op: Op) -> Value:
    if op.kind() is BOOLEAN:
        return _as_numbers(op, _upsample)
    op.check_shapes("X:; scales: X.rank")
    # Resize-10 rounds positions up when it reduces an image.
    return _by_scales(op, op[1], "simple" if op.type == "Resize" else "floor")


@translates("Upsample", since=(7,))
def _upsample_7(op: Op) -> Value:
    return _by_scales(op, op.constant(np.array(op.numbers("scales") or [], np.float32)))


@translates("Upsample", since=(1,))
def _upsample_1(op: Op) -> Value:
    scales = [1, 1, op.number("height_scale", 1.0), op.number("width_scale", 1.0)]
    return _by_scales(op, op.constant(np.array(scales, np.float32)))


def _by_scales(op: Op, scales: Value, nearest: str = "floor") -> Value:
    linear = "bilinear" if op.version == 1 else "linear"
    mode = op.text("mode", "nearest", allowed=("nearest", linear))
    known = scales.node.constant
    if op.type == "Upsample" and known is not None and (known < 1).any():
        message = f"scales is {known.tolist()}, expected 1 or more: use Resize to reduce an image"
        raise Refused("O001", message, port="scales", found=str(known.tolist()), allowed="1 or more")
    if mode != "nearest" and op.kind() is not F32:
        return op.make(
            "Resize", op[0], None, scales, opset="onnx19", mode="linear", coordinates="asymmetric", nearest_mode="floor"
        )
    return _interpolated(op, "nearest" if mode == "nearest" else "linear", "asymmetric", nearest, scales, None, [])


@translates("GridSample", since=(16, 20, 22))
def _grid_sample(op: Op) -> Value:
    modes = {"linear": "linear", "cubic": "cubic", "nearest": "nearest"}
    if op.version == 16:
        modes |= {"bilinear": "linear", "bicubic": "cubic"}
    mode = modes[op.text("mode", "linear", allowed=tuple(modes))]
    padding = op.text("padding_mode", "zeros", allowed=("zeros", "border", "reflection"))
    options = {"align_corners": op.flag("align_corners"), "padding_mode": padding}
    if op.rank() == 4 and op.kind(1) in FLOATS:
        words = {"linear": "bilinear", "cubic": "bicubic", "nearest": "nearest"}
        return op.make("GridSample", op[0], op[1], opset=9, mode=words[mode], **options)
    return op.make("GridSample", op[0], op[1], opset="onnx20", mode=mode, **options)


@translates("Col2Im", since=(18,), shapes="input: N C L; image_shape: n; block_shape: n")
def _col2im(op: Op) -> Value:
    sizes = op[2].type.shape
    if sizes.rank != 1 or not sizes[0].is_static:
        op.refuse("the number of spatial axes must be known")
    count = int(sizes[0].value)
    if count > MAX_RANK:
        op.refuse(f"there are {count} spatial axes, but an array has at most {MAX_RANK} axes")
    lists = window_lists(op, count)
    if count == 2:
        return op.make("Col2Im", op[0], op[1], op[2], opset=15, **lists)
    return op.make("Col2Im", op[0], op[1], op[2], opset="onnx18", **lists)


@translates("ImageDecoder", since=(20,))
def _image_decoder(op: Op) -> Value:
    channels = op.text("pixel_format", "RGB", allowed=("RGB", "BGR", "Grayscale"))
    return op.make("ImageDecoder", op[0], opset="onnx20", pixel_format=channels)
