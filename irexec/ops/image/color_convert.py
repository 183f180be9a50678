"""Colour conversion between RGB or BGR and the video formats NV12 and I420, whose colour planes have half the size.

Source: operation pages NV12toRGB-8, NV12toBGR-8, I420toRGB-8, I420toBGR-8, RGBtoNV12-17, BGRtoNV12-17. Results are
computed in f32 (for f64 in f64) and clipped to [0, 255]; for u8 they are rounded half up. Tensors are [N, H, W, C].
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import FLOATS, U8, Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import is_float, narrow
from irexec.ops.rules.extents import Extents
from irexec.ops.spec.operator import Check, Elements, operator, rounded
from irexec.ops.spec.oracle import Allowed

T: TypeAlias = Annotated[Array, Elements("T", FLOATS | {U8})]


def _compute(x: Array) -> Array:
    return x if x.dtype == np.float64 else x.astype(np.float32)


def _clipped(x: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return x clipped to [0, 255], in `dtype`; integers are rounded."""
    bounded = np.clip(x, 0, 255)
    return narrow(bounded if is_float(dtype) else np.floor(bounded + x.dtype.type(0.5)), dtype)


def _to_rgb(y: Array, u: Array, v: Array, *, bgr: bool) -> Array:
    """Return the image [N, H, W, 3] of y [N, H, W] and u, v [N, H / 2, W / 2]."""
    kind = _compute(y[:0]).dtype.type
    luma = kind(1.164) * (_compute(y) - 16)
    d, e = (np.repeat(np.repeat(_compute(p) - 128, 2, axis=1), 2, axis=2) for p in (u, v))
    red = luma + kind(1.596) * e
    green = luma - kind(0.391) * d - kind(0.813) * e
    blue = luma + kind(2.018) * d
    channels = (blue, green, red) if bgr else (red, green, blue)
    return _clipped(np.stack(channels, axis=-1), y.dtype)


def _split(arg: Array) -> tuple[Array, Array, int, int]:
    """Split a single plane [N, 1.5 H, W, 1]; return y [N, H, W], the flat colours [N, H * W / 2], H and W."""
    batch, rows, width, _ = arg.shape
    height = rows * 2 // 3
    flat = arg.reshape(batch, rows * width)
    pixels = height * width
    return flat[:, :pixels].reshape(batch, height, width), flat[:, pixels:], height, width


def _from_nv12(arg: Array, uv: Array | None, *, bgr: bool) -> Array:
    if uv is None:
        y, rest, height, width = _split(arg)
        uv = rest.reshape(len(arg), height // 2, width // 2, 2)
    else:
        y = arg[..., 0]
    return _to_rgb(y, uv[..., 0], uv[..., 1], bgr=bgr)


def _from_i420(arg: Array, u: Array | None, v: Array | None, *, bgr: bool) -> Array:
    if u is None or v is None:
        y, rest, height, width = _split(arg)
        u, v = rest.reshape(len(arg), 2, height // 2, width // 2).swapaxes(0, 1)
    else:
        y, u, v = arg[..., 0], u[..., 0], v[..., 0]
    return _to_rgb(y, u, v, bgr=bgr)


def _half(extent: Dimension) -> Dimension:
    return Dimension(extent.min // 2, None if extent.max is None else extent.max // 2)


def _image_shape(check: Check, arg: TensorType, planes: tuple[tuple[str, TensorType | None, int], ...]) -> PartialShape:
    """Check C1 for arg, C2 for further planes (name, type, channels) of half the size, and C3: even sides."""
    extents = Extents(check)
    extents.match("C1", "arg", arg, "N", "H", "W", 1)
    height, width = extents["H"], extents["W"]
    given = [p for p in planes if p[1] is not None]
    if not given:
        if height.is_static:
            fits = check(
                "C3",
                height.value % 3 == 0,
                f"the height of the single plane is {height}, expected a multiple of 3",
                port="arg",
            )
            height = Dimension(height.value * 2 // 3) if fits else Dimension(-1)
        else:
            height = Dimension(height.min * 2 // 3, None if height.max is None else height.max * 2 // 3)
    else:
        for name, tensor, channels in given:
            extents.match("C2", name, tensor, "N", "half_H", "half_W", channels)
        for side, half in (("H", "half_H"), ("W", "half_W")):
            whole = extents[side].merge(extents[half] * 2)
            message = f"{side} is {extents[side]} in arg and {extents[half]} in {given[0][0]}, expected half as much"
            if check("C2", whole is not None, message, port=given[0][0]) and whole is not None:
                extents.found[side] = whole
        height, width = extents["H"], extents["W"]
    _check_even(check, "C3", "arg", height, width)
    return PartialShape([extents["N"], height, width, 3])


def _check_even(check: Check, constraint: str, port: str, height: Dimension, width: Dimension) -> None:
    for side, extent in (("height", height), ("width", width)):
        message = f"the image's {side} is {extent}, expected an even number"
        check(constraint, not extent.is_static or extent.value % 2 == 0, message, port=port)


def _nv12_shape(check: Check, arg: TensorType, uv: TensorType | None) -> PartialShape:
    return _image_shape(check, arg, (("uv", uv, 2),))


def _i420_shape(check: Check, arg: TensorType, u: TensorType | None, v: TensorType | None) -> PartialShape:
    check("C4", (u is None) == (v is None), "one of u and v is missing, expected both or neither", port="v")
    return _image_shape(check, arg, (("u", u, 1), ("v", v, 1)))


@operator("NV12toRGB", "opset8", shapes=_nv12_shape, tolerance=rounded(16))
def nv12_to_rgb_8(arg: T, uv: T | None = None, /) -> T:
    """The RGB image [N, H, W, 3] of one plane [N, 1.5 H, W, 1], or of y [N, H, W, 1] and uv [N, H / 2, W / 2, 2].

    C1: arg is [N, H, W, 1]. C2: uv is [N, H / 2, W / 2, 2]. C3: the image has even sides.
    """
    return _from_nv12(arg, uv, bgr=False)


@operator("NV12toBGR", "opset8", shapes=_nv12_shape, tolerance=rounded(16))
def nv12_to_bgr_8(arg: T, uv: T | None = None, /) -> T:
    """As NV12toRGB-8 with the channels in the order blue, green, red. C1 to C3 are the same."""
    return _from_nv12(arg, uv, bgr=True)


@operator("I420toRGB", "opset8", shapes=_i420_shape, tolerance=rounded(16))
def i420_to_rgb_8(arg: T, u: T | None = None, v: T | None = None, /) -> T:
    """The RGB image [N, H, W, 3] of one plane [N, 1.5 H, W, 1], or of y [N, H, W, 1] and u, v [N, H / 2, W / 2, 1].

    C1: arg is [N, H, W, 1]. C2: u and v are [N, H / 2, W / 2, 1]. C3: the image has even sides. C4: u and v are both
    given or both omitted.
    """
    return _from_i420(arg, u, v, bgr=False)


@operator("I420toBGR", "opset8", shapes=_i420_shape, tolerance=rounded(16))
def i420_to_bgr_8(arg: T, u: T | None = None, v: T | None = None, /) -> T:
    """As I420toRGB-8 with the channels in the order blue, green, red. C1 to C4 are the same."""
    return _from_i420(arg, u, v, bgr=True)


def _to_nv12(image: Array, single_plane: bool, *, bgr: bool) -> list[Array]:
    batch, height, width, _ = image.shape
    channels = _compute(image)
    kind = channels.dtype.type
    red, green, blue = (channels[..., c] for c in ((2, 1, 0) if bgr else (0, 1, 2)))
    y = kind(0.257) * red + kind(0.504) * green + kind(0.098) * blue + 16
    u = kind(-0.148) * red - kind(0.291) * green + kind(0.439) * blue + 128
    v = kind(0.439) * red - kind(0.368) * green - kind(0.071) * blue + 128
    uv = np.clip(np.stack([u, v], axis=-1), 0, 255)
    if not is_float(image.dtype):
        uv = np.floor(uv + kind(0.5))
    means = uv.reshape(batch, height // 2, 2, width // 2, 2, 2).sum(axis=(2, 4)) / 4
    planes = [_clipped(y, image.dtype)[..., None], _clipped(means, image.dtype)]
    if not single_plane:
        return planes
    return [np.concatenate([planes[0], planes[1].reshape(batch, height // 2, width, 1)], axis=1)]


def _planes(check: Check, image: TensorType, *, single_plane: bool) -> list[PartialShape]:
    extents = Extents(check)
    extents.match("C1", "image", image, "N", "H", "W", 3)
    batch, height, width = extents["N"], extents["H"], extents["W"]
    _check_even(check, "C2", "image", height, width)
    if single_plane:
        return [PartialShape([batch, _half(height * 3), width, 1])]
    return [PartialShape([batch, height, width, 1]), PartialShape([batch, _half(height), _half(width), 2])]


@operator("RGBtoNV12", "opset17", shapes=_planes, tolerance=rounded(16))
def rgb_to_nv12_17(image: T, /, *, single_plane: bool = True) -> list[T]:
    """One plane [N, 1.5 H, W, 1], or y [N, H, W, 1] and uv [N, H / 2, W / 2, 2], of an RGB image [N, H, W, 3].

    The colour of four pixels is the mean of their colours (u8: of their rounded colours), as in OpenVINO's reference.

    C1: image is [N, H, W, 3]. C2: its sides are even.
    """
    return _to_nv12(image, single_plane, bgr=False)


@operator("BGRtoNV12", "opset17", shapes=_planes, tolerance=rounded(16))
def bgr_to_nv12_17(image: T, /, *, single_plane: bool = True) -> list[T]:
    """As RGBtoNV12-17 for channels in the order blue, green, red. C1 and C2 are the same."""
    return _to_nv12(image, single_plane, bgr=True)


for _conversion in (
    nv12_to_rgb_8, nv12_to_bgr_8, i420_to_rgb_8, i420_to_bgr_8, rgb_to_nv12_17, bgr_to_nv12_17,
):  # fmt: skip
    # The pages do not specify how the weighted sums are rounded.
    _conversion.oracle.allowed = Allowed(rounding="either")
