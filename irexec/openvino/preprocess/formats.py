"""What pictures can be like, and how they are resized and padded."""

from __future__ import annotations

from irexec.openvino.members import Members, member


class ColorFormat(Members):
    """The meaning of a picture's channels and planes."""

    UNDEFINED = member(0)
    NV12_SINGLE_PLANE = member(1)
    NV12_TWO_PLANES = member(2)
    I420_SINGLE_PLANE = member(3)
    I420_THREE_PLANES = member(4)
    RGB = member(5)
    BGR = member(6)
    GRAY = member(7)
    RGBX = member(8)
    BGRX = member(9)


class ResizeAlgorithm(Members):
    """How a picture gets another size."""

    RESIZE_LINEAR = member(0)
    RESIZE_CUBIC = member(1)
    RESIZE_NEAREST = member(2)
    RESIZE_BILINEAR_PILLOW = member(3)
    RESIZE_BICUBIC_PILLOW = member(4)


class PaddingMode(Members):
    """What stands around a picture that is padded."""

    CONSTANT = member(0)
    EDGE = member(1)
    REFLECT = member(2)
    SYMMETRIC = member(3)


# The channels, and the planes with their channels and how much smaller they are, of formats that are planes.
PLANES: dict[ColorFormat, tuple[tuple[str, int, int], ...]] = {
    ColorFormat.NV12_TWO_PLANES: (("Y", 1, 1), ("UV", 2, 2)),
    ColorFormat.I420_THREE_PLANES: (("Y", 1, 1), ("U", 1, 2), ("V", 1, 2)),
}
SINGLE_PLANE = (ColorFormat.NV12_SINGLE_PLANE, ColorFormat.I420_SINGLE_PLANE)
# Formats whose channels are more, or fewer, than the model's.
CHANNELS = {ColorFormat.RGBX: 4, ColorFormat.BGRX: 4}
