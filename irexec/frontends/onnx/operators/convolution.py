"""Translators of ONNX's convolutions.

Source: ONNX operator pages Conv, ConvTranspose, DeformConv, CausalConvWithState.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from irexec.core.types import PartialShape
from irexec.frontends.onnx.errors import Refused
from irexec.frontends.onnx.op import Op
from irexec.frontends.onnx.registry import translates
from irexec.model.graph.model import Value

_AUTO_PADS = {"NOTSET": "explicit", "SAME_UPPER": "same_upper", "SAME_LOWER": "same_lower", "VALID": "valid"}


def auto_pad(op: Op) -> str:
    """Return the value of IR's attribute auto_pad that corresponds to the node's attribute."""
    mode = op.text("auto_pad", "NOTSET", allowed=tuple(_AUTO_PADS))
    if twice := _two_paddings(op, mode):
        hint = "irexec ignores pads, as ONNX Runtime and onnx.reference do; ONNX allows only one of both"
        op.warn("F004", twice, attribute="pads", hint=hint)
    return _AUTO_PADS[mode]


def _two_paddings(op: Op, mode: str) -> str:
    has_both = mode != "NOTSET" and any(op.integers("pads") or [])
    return f"pads is given, but auto_pad is {mode}, which computes them" if has_both else ""


def spatial(op: Op, x: Value, like: int | None = None) -> int:
    """Return the number of spatial axes of an image. Raises Refused if there are none, or more than three.

    `like`: the rank that the image must have, from the kernel or an attribute, if its own rank is known only at run
    time.
    """
    rank = like if x.type.shape.rank is None else x.type.shape.rank
    if rank is None:
        op.refuse("the rank of the image must be known")
    if like not in (None, rank):
        op.refuse(f"the image has rank {rank} and its kernel rank {like}", found=str(rank), allowed=str(like))
    if not 1 <= rank - 2 <= 3:
        op.refuse(f"the image has rank {rank}, expected 3 to 5", found=str(rank), allowed="3 to 5")
    return rank - 2


def window_lists(op: Op, count: int) -> dict[str, Any]:
    """Return strides, dilations and pads in the form of IR's convolutions and pools."""
    pads = op.integers("pads") or [0] * 2 * count
    lists = {
        "strides": op.integers("strides") or [1] * count,
        "dilations": op.integers("dilations") or [1] * count,
        "pads_begin": pads[:count],
        "pads_end": pads[count:],
    }
    for name, values in lists.items():
        if len(values) != count:
            op.refuse(
                f"{name} has {len(values)} values, which does not fit {count} spatial axes",
                attribute=name.partition("_")[0],
            )
    if any(pad < 0 for pad in pads):
        op.refuse(f"pads is {pads}, expected no negative value", attribute="pads")
    return lists


def grouped(op: Op, kernel: Value, groups: int) -> Value:
    """Return a kernel with a leading axis of groups, split off its first axis."""
    if groups < 1:
        op.refuse(f"group is {groups}, expected 1 or more", attribute="group", allowed="1 or more")
    extents = kernel.type.shape
    if extents.rank and extents[0].is_static and extents[0].value % groups:
        op.refuse(
            f"group is {groups}, which does not divide the {extents[0].value} filters of W, whose shape is {extents}",
            attribute="group",
            found=str(groups),
            allowed=f"a divisor of {extents[0].value}",
        )
    if kernel.node.constant is not None and kernel.node.constant.shape[0] % groups == 0:
        weights = kernel.node.constant
        return op.constant(weights.reshape(groups, -1, *weights.shape[1:]), kernel.element_type)
    shape = op.shape_of(kernel)
    rest = op.make("Slice", shape, [1], [2**31], [1], opset=8)
    target = op.make("Concat", [groups, -1], rest, axis=0)
    return op.reshape(kernel, target)


def convolved(op: Op, x: Value, kernel: Value, suffix: str = "") -> Value:
    """Return the convolution of an image with a kernel, with the node's attributes.

    `suffix` follows the name: OpenVINO's for a convolution to which a bias is added is /WithoutBiases.
    """
    options = window_lists(op, spatial(op, x, like=kernel.type.shape.rank)) | {"auto_pad": auto_pad(op)}
    groups = op.integer("group", 1)
    _check_kernel(op, kernel)
    _check_channels(op, x, kernel, groups)
    if groups == 1:
        return op.make_part(suffix, "Convolution", (x, kernel), 1, options).outputs[0]
    return op.make_part(suffix, "GroupConvolution", (x, grouped(op, kernel, groups)), 1, options).outputs[0]


def _check_kernel(op: Op, kernel: Value) -> None:
    """Raise Refused if the attribute kernel_shape contradicts the shape of the kernel."""
    given = op.integers("kernel_shape")
    if given is not None and not kernel.type.shape.compatible(PartialShape([-1, -1, *given])):
        op.refuse(f"kernel_shape is {given}, but the kernel has shape {kernel.type.shape}", attribute="kernel_shape")


def _check_channels(op: Op, x: Value, kernel: Value, groups: int) -> None:
    """Raise Refused if the number of channels of an image does not match the kernel and the groups."""
    image, weights = x.type.shape, kernel.type.shape
    if image.rank is None or weights.rank is None or groups < 1:
        return
    channels, each = image[1], weights[1]
    if channels.is_static and each.is_static and channels.value != each.value * groups:
        per_group = "" if groups == 1 else f" in each of {groups} groups"
        takes = f"W requires {each.value}{per_group}"
        op.refuse(
            f"X has {channels.value} channels, but {takes}; their shapes are {image} and {weights}",
            attribute="group" if op.has("group") else None,
            found=str(channels.value),
            allowed=str(each.value * groups),
        )


def with_bias(op: Op, y: Value, bias: Value | None, rank: int) -> Value:
    """Return the value with a number added to each channel, if there is a bias."""
    if bias is None:
        return y
    return op.make("Add", y, op.reshape(bias, [1, -1, *[1] * (rank - 2)]))


@translates("Conv", since=(1, 11, 22), shapes="X:; W: M ...; B: M")
def _conv(op: Op) -> Value:
    rank = spatial(op, op[0], like=op[1].type.shape.rank) + 2
    bias = op.get(2)
    return with_bias(op, convolved(op, op[0], op[1], "" if bias is None else "/WithoutBiases"), bias, rank)


@translates("ConvTranspose", since=(1, 11, 22))
def _conv_transpose(op: Op) -> Value:
    x, kernel = op[0], op[1]
    count = spatial(op, x, like=kernel.type.shape.rank)
    options = window_lists(op, count)
    added = op.integers("output_padding") or [0] * count
    if len(added) != count:
        op.refuse(
            f"output_padding has {len(added)} values, expected {count}, one for each spatial axis",
            attribute="output_padding",
        )
    for extra, stride, dilation in zip(added, options["strides"], options["dilations"], strict=True):
        if not 0 <= extra < max(stride, dilation):
            message = f"output_padding has {extra}, expected less than the stride {stride} or the dilation {dilation}"
            op.refuse(
                message, attribute="output_padding", found=str(extra), allowed=f"0 to {max(stride, dilation) - 1}"
            )
    _check_kernel(op, kernel)
    asked = op.integers("output_shape")
    mode = op.text("auto_pad", "NOTSET", allowed=tuple(_AUTO_PADS))
    if twice := _two_paddings(op, mode):
        raise Refused("F004", twice, attribute="pads")
    wanted: Value | None = None
    if asked:
        if len(asked) not in (count, count + 2):
            op.refuse(f"output_shape has {len(asked)} values, expected {count}", attribute="output_shape")
        wanted = op.constant(np.array(asked[-count:], np.int64))
    elif mode.startswith("SAME"):
        # The number of elements follows from the image and the strides.
        extents = op.make("Slice", op.shape_of(x), [2], [2 + count], [1], opset=8)
        wanted = op.make("Multiply", extents, options["strides"])
    elif mode == "VALID":
        options["pads_begin"] = options["pads_end"] = [0] * count
    if wanted is not None:
        # With odd padding, IR puts the larger half at the beginning for "upper", ONNX for "lower".
        options["auto_pad"] = "same_lower" if mode == "SAME_UPPER" else "same_upper"
    options["output_padding"] = added
    groups = op.integer("group", 1)
    op.check_shapes("X: N C ...; W: C M ...; B: group*M", group=groups)
    if groups == 1:
        y = op.make("ConvolutionBackpropData", x, kernel, wanted, **options)
    else:
        y = op.make("GroupConvolutionBackpropData", x, grouped(op, kernel, groups), wanted, **options)
    return with_bias(op, y, op.get(2), count + 2)


@translates("DeformConv", since=(19, 22))
def _deformable(op: Op) -> Value:
    count = spatial(op, op[0], like=op[1].type.shape.rank)
    if count != 2:
        op.refuse(f"deformable convolution of {count} spatial axes is not supported")
    _check_kernel(op, op[1])
    offsets = op.integer("offset_group", 1)
    op.check_shapes(
        "X: N C H W; W: M _ kH kW; offset: N 2*offset_group*kH*kW oH oW; B: M; mask: N offset_group*kH*kW oH oW",
        offset_group=offsets,
    )
    options = window_lists(op, count)
    options |= {"group": op.integer("group", 1), "deformable_group": offsets}
    # Values at the border are interpolated with the zeros around the image.
    y = op.make(
        "DeformableConvolution", op[0], op[2], op[1], op.get(4), opset=8, bilinear_interpolation_pad=True, **options
    )
    return with_bias(op, y, op.get(3), 4)
