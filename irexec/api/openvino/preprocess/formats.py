"""Formats of images, and the methods of resizing and padding."""

from __future__ import annotations

from irexec.api.openvino.members import Members, member


class ColorFormat(Members):
    """The meaning of an image's channels and planes."""

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

    @property
    def description(self) -> str:
        """The name to display, with the number of planes: `NV12 (multi-plane)`."""
        name, _, planes = self.name.partition("_")
        return f"{name} ({'single plane' if planes.startswith('SINGLE') else 'multi-plane'})" if planes else name


class ResizeAlgorithm(Members):
    """The method of resizing an image."""

    RESIZE_LINEAR = member(0)
    RESIZE_CUBIC = member(1)
    RESIZE_NEAREST = member(2)
    RESIZE_BILINEAR_PILLOW = member(3)
    RESIZE_BICUBIC_PILLOW = member(4)


class PaddingMode(Members):
    """The values around a padded image."""

    CONSTANT = member(0)
    REFLECT = member(2)
    SYMMETRIC = member(3)


# The channels of formats with planes, and the planes with their channels and their reduction in size.
PLANES: dict[ColorFormat, tuple[tuple[str, int, int], ...]] = {
    ColorFormat.NV12_TWO_PLANES: (("Y", 1, 1), ("UV", 2, 2)),
    ColorFormat.I420_THREE_PLANES: (("Y", 1, 1), ("U", 1, 2), ("V", 1, 2)),
}
SINGLE_PLANE = (ColorFormat.NV12_SINGLE_PLANE, ColorFormat.I420_SINGLE_PLANE)
# The channels of colours without planes.
CHANNELS = {
    ColorFormat.RGB: 3,
    ColorFormat.BGR: 3,
    ColorFormat.RGBX: 4,
    ColorFormat.BGRX: 4,
}
# The formats in which a model takes an image.
OF_MODELS = (ColorFormat.UNDEFINED, ColorFormat.RGB, ColorFormat.BGR, ColorFormat.GRAY)
