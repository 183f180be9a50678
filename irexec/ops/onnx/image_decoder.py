"""ImageDecoder of ONNX: the pixels of a compressed picture. Extra: `images`.

Source: ONNX operator page ImageDecoder-20, which leaves the decoding to a library; here that is Pillow.
"""

from __future__ import annotations

from io import BytesIO
from typing import Annotated, Literal

import numpy as np

from irexec.core.environment import installing
from irexec.core.types import U8, Array, PartialShape, TensorType
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, Elements, operator, require

# The maximum number of pixels of a picture; larger pictures are refused.
_MOST_PIXELS = 1 << 28


@operator("ImageDecoder", "onnx20")
def image_decoder_20(
    encoded: Annotated[Array, Elements("T1", {U8})], /, *, pixel_format: Literal["RGB", "BGR", "Grayscale"] = "RGB"
) -> Annotated[Array, Elements("T2", {U8})]:
    """The pixels [height, width, 3 or 1] of a picture in one of Pillow's formats.

    C1: encoded is 1D. C2: Pillow can decode the bytes, and the pixels fit into memory.
    """
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        require("C2", False, f"decoding images requires Pillow, which is not installed: {installing('images')}")
        raise
    try:
        with Image.open(BytesIO(encoded.tobytes())) as picture:
            require(
                "C2",
                picture.width * picture.height <= _MOST_PIXELS,
                f"the picture has {picture.size} pixels, expected at most {_MOST_PIXELS} in all",
            )
            pixels = np.asarray(picture.convert("L" if pixel_format == "Grayscale" else "RGB"))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError) as error:
        require("C2", False, f"the picture cannot be decoded: {error}", port="encoded")
        raise
    if pixel_format == "Grayscale":
        return pixels[:, :, None].copy()
    return np.ascontiguousarray(pixels[:, :, ::-1] if pixel_format == "BGR" else pixels)


@image_decoder_20.shapes
def _(check: Check, encoded: TensorType, *, pixel_format: str) -> PartialShape:
    has_rank(check, "C1", encoded, 1, "encoded")
    return PartialShape([-1, -1, 1 if pixel_format == "Grayscale" else 3])
