"""PriorBox and PriorBoxClustered: boxes of given sizes at every point of a grid, normalized by the image size.

Source: operation pages PriorBox-1, -8 and PriorBoxClustered-1. The pages' formulas are incomplete (half sides, the
step 0, the order of the boxes); the arithmetic follows OpenVINO's reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeAlias

import numpy as np

from irexec.core.types import ANY_DIMENSION, F32, Array, PartialShape, TensorType
from irexec.ops.rules.axes import drawn_extents, in_range
from irexec.ops.spec.attributes import AsRead, Within
from irexec.ops.spec.capacity import reserve
from irexec.ops.spec.groups import group
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator, require, rounded
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import IntegerTensor
from irexec.ops.spec.traits import NeedsOptional

T_OUT: TypeAlias = Annotated[Array, Elements("T_OUT", {F32})]
LARGEST = float(np.finfo(np.float32).max)
Positives = tuple[Annotated[float, Within(gt=0, le=LARGEST)], ...]
NonNegative = Annotated[float, Within(ge=0, le=LARGEST)]

# One box of a grid point: the shift of its centre, half of each side, whether its corners are limited to the image.
Box = tuple[float, float, float, float, bool]


def _ratios(aspect_ratio: Sequence[float], flip: bool) -> list[float]:
    """Return 1 and the aspect ratios without duplicates, each followed by its inverse if `flip` is true."""
    ratios = [1.0]
    for ratio in aspect_ratio:
        if all(abs(ratio - known) >= 1e-6 for known in ratios):
            ratios += [ratio, 1 / ratio] if flip else [ratio]
    return ratios


def _fixed(size: float, density: float, ratios: Sequence[float], square_side: float) -> Iterator[Box]:
    """Yield boxes of one fixed size: density x density boxes of each ratio, spread over the size; boxes of ratio 1 have
    the side `square_side`.
    """
    count = int(density)
    shift = int(np.float32(size) / count)
    first = shift / 2 - int(size) / 2
    for ratio in ratios:
        root = np.sqrt(np.float32(ratio))
        side = np.float32(square_side if ratio == 1 else size) * np.float32(0.5)
        for row in range(count):
            for column in range(count):
                yield first + column * shift, first + row * shift, float(side * root), float(side / root), True


def _sized(
    min_size: Sequence[float], max_size: Sequence[float], ratios: Sequence[float], scale_all: bool, max_first: bool
) -> Iterator[Box]:
    """Yield boxes of the minimum and maximum sizes, and of the minimum size in all aspect ratios except 1."""
    half = np.float32(0.5)
    for index, size in enumerate(np.float32(s) for s in min_size):
        yield 0, 0, float(size * half), float(size * half), False
        square = []
        if scale_all and index < len(max_size):
            side = np.sqrt(size * np.float32(max_size[index])) * half
            square = [(0, 0, side, side, False)]
        other = []
        if scale_all or index == len(min_size) - 1:
            base = size if scale_all else np.float32(min_size[0])
            roots = [np.sqrt(np.float32(r)) for r in ratios if abs(r - 1) >= 1e-6]
            other = [(0, 0, base * half * root, base * half / root, False) for root in roots]
        yield from square + other if max_first else other + square


@group
class Sizes:
    """The boxes of each grid point, and the attributes that apply to all boxes."""

    min_size: Positives = ()
    max_size: Positives = ()
    aspect_ratio: Positives = ()
    flip: bool = False
    clip: bool = False
    step: float = 0.0
    offset: NonNegative
    variance: Positives = ()
    scale_all_sizes: bool = True
    fixed_ratio: Positives = ()
    fixed_size: Positives = ()
    density: Positives = ()


def _count(sizes: Sizes) -> int:
    """Return OpenVINO's number of boxes for each grid point, which determines the output's shape in files."""
    ratios = len(_ratios(sizes.aspect_ratio, sizes.flip))
    if sizes.scale_all_sizes:
        count = ratios * len(sizes.min_size) + len(sizes.max_size)
    else:
        count = ratios + len(sizes.min_size) - 1
    if sizes.fixed_size:
        count = ratios * len(sizes.fixed_size)
    each = len(sizes.fixed_ratio) or ratios
    return int(count + sum(each * (int(d) ** 2 - 1) for d in sizes.density))


_LEAST = {"output_size": 0, "image_size": 1}
"""The least extent that an input may contain."""


@operator("PriorBox", "opset8", tolerance=rounded(16))
def prior_box_8(
    output_size: IntegerTensor, image_size: IntegerTensor, /, *, sizes: Sizes, min_max_aspect_ratios_order: bool = True
) -> T_OUT:
    """Boxes as (xmin, ymin, xmax, ymax), and their variances: [2, 4 * height * width * priors_per_point].

    With scale_all_sizes false, max_size is ignored and sizes and step are fractions of the image height (-1: one step
    per grid point). If the attributes result in fewer boxes than OpenVINO counts for the output's shape, zeros follow
    (OpenVINO leaves this memory uninitialized); boxes beyond OpenVINO's count are omitted. A fixed size without density
    has density 1.

    C1: output_size and image_size are 1D of two elements. C2: their values are not negative, and the image is not
    empty. C3: variance has 0, 1 or 4 elements. C4: with density, there is one for each fixed size, at least 1.
    """
    for name, extents in (("output_size", output_size), ("image_size", image_size)):
        in_range(require, "C2", name, extents, _LEAST[name])
    (height, width), (image_height, image_width) = output_size.tolist(), image_size.tolist()
    step, offset, min_size = sizes.step, sizes.offset, sizes.min_size
    if not sizes.scale_all_sizes:
        step = image_height / max(height, 1) if step == -1 else step * image_height
        min_size = tuple(s * image_height for s in min_size)
    ratios = _ratios(sizes.aspect_ratio, sizes.flip)
    boxes: list[Box] = []
    for size, one in zip(sizes.fixed_size, sizes.density or [1.0] * len(sizes.fixed_size), strict=True):
        # Without fixed ratios, OpenVINO truncates the sides of squares to integers.
        boxes += _fixed(size, one, sizes.fixed_ratio or ratios, size if sizes.fixed_ratio else int(size))
    boxes += _sized(min_size, sizes.max_size, ratios, sizes.scale_all_sizes, min_max_aspect_ratios_order)
    values = np.array([b[:4] for b in boxes], np.float32).reshape(-1, 4)
    bounded = np.array([b[4] for b in boxes], bool)

    reserve([height, width, len(boxes), 4], np.dtype(np.float32))
    x = _centres(width, image_width, step, offset)[None, :, None]
    y = _centres(height, image_height, step, offset)[:, None, None]
    grid = np.empty((height, width, len(boxes), 4), np.float32)
    for corner, sign in ((0, -1), (2, 1)):
        grid[..., corner] = (x + values[:, 0] + sign * values[:, 2]) * (np.float32(1) / np.float32(image_width))
        grid[..., corner + 1] = (y + values[:, 1] + sign * values[:, 3]) * (np.float32(1) / np.float32(image_height))
    grid[:, :, bounded, :2] = np.maximum(grid[:, :, bounded, :2], 0)
    grid[:, :, bounded, 2:] = np.minimum(grid[:, :, bounded, 2:], 1)
    if sizes.clip:
        np.clip(grid, 0, 1, out=grid)
    return _with_variances(grid.ravel(), 4 * height * width * _count(sizes), sizes.variance)


@prior_box_8.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    form.need_attribute("min_max_aspect_ratios_order", True)


def _centres(count: int, extent: int, step: float, offset: float) -> Array:
    """Return the centres along one axis; step 0 spreads them over the image."""
    points: Array = np.arange(count, dtype=np.float32)
    if step == 0:
        centres: Array = (points + np.float32(0.5)) * (np.float32(extent) / np.float32(max(count, 1)))
    else:
        centres = (np.float32(offset) + points) * np.float32(step)
    return centres


def _with_variances(boxes: Array, length: int, variance: Sequence[float]) -> Array:
    """Return two rows of `length` elements: the boxes, and their variances."""
    result = np.zeros((2, length), np.float32)
    result[0, : len(boxes)] = boxes[:length]
    result[1] = np.resize(np.array(variance or [0.1], np.float32), length)
    return result


@prior_box_8.shapes
def _shape(check: Check, output_size: TensorType, image_size: TensorType, *, sizes: Sizes) -> PartialShape:
    density, fixed_size = sizes.density, sizes.fixed_size
    fits = not density or (len(density) == len(fixed_size) and min(density) >= 1)
    message = f"density is {density}, expected a value of at least 1 for each of the {len(fixed_size)} fixed sizes"
    check("C4", fits, message, attribute="density", allowed="one for each fixed size, at least 1")
    return _grid_shape(check, output_size, image_size, sizes.variance, _count(sizes))


def _grid_shape(
    check: Check, output_size: TensorType, image_size: TensorType | None, variance: Sequence[float], count: int
) -> PartialShape:
    """Check C1 to C3; return the output's shape for `count` boxes at each grid point."""
    message = f"variance has {len(variance)} values, expected 0, 1 or 4"
    check("C3", len(variance) in (0, 1, 4), message, attribute="variance", allowed="0, 1 or 4")
    for name, tensor in (("output_size", output_size), ("image_size", image_size)):
        if tensor is None:
            continue
        right = tensor.rank is None or (tensor.rank == 1 and tensor.shape[0].compatible(2))
        if check("C1", right, f"{name} has shape {tensor.shape}, expected [2]", port=name) and tensor.ints is not None:
            in_range(check, "C2", name, tensor.ints, _LEAST[name])
    known = output_size.known
    if known is None or len(known) != 2 or any(isinstance(v, int) and v < 0 for v in known):
        return PartialShape([2, ANY_DIMENSION])
    return PartialShape([2, PartialShape(known).size * (4 * count)])


@operator("PriorBox", "opset1", tolerance=rounded(16), shapes=_shape)
def prior_box_1(*inputs: Annotated[Any, InputsOf(prior_box_8)], sizes: Sizes) -> T_OUT:
    """As PriorBox-8, in the order minimum, maximum, aspect ratios. C1 to C4 as PriorBox-8."""
    return np.asarray(prior_box_8.compute(*inputs, sizes=sizes))


@operator("PriorBoxClustered", "opset1", NeedsOptional, tolerance=rounded(16))
def prior_box_clustered_1(
    output_size: IntegerTensor,
    image_size: IntegerTensor | None = None,
    /,
    *,
    width: Annotated[Positives, AsRead(default=())] = (1.0,),
    height: Annotated[Positives, AsRead(default=())] = (1.0,),
    clip: bool = True,
    step: NonNegative = 0.0,
    step_w: NonNegative = 0.0,
    step_h: NonNegative = 0.0,
    offset: NonNegative,
    variance: Positives = (),
) -> T_OUT:
    """Boxes as (xmin, ymin, xmax, ymax), and their variances: [2, 4 * rows * columns * len(width)].

    A step_w or step_h of 0 is replaced by `step`; if both are then 0, the centres are spread over the image. image_size
    is output_size by default (it is optional on the page, and required in OpenVINO).

    C1: output_size and image_size are 1D of two elements. C2: their values are not negative, and the image is not
    empty. C3: variance has 0, 1 or 4 elements. C4: there are as many widths as heights.
    """
    image_size = output_size if image_size is None else image_size
    for name, extents in (("output_size", output_size), ("image_size", image_size)):
        in_range(require, "C2", name, extents, _LEAST[name])
    (rows, columns), (image_height, image_width) = output_size.tolist(), image_size.tolist()
    reserve([rows, columns, len(width), 4], np.dtype(np.float32))
    step_w, step_h = step_w or step, step_h or step
    if step_w == 0 and step_h == 0:
        step_w, step_h = image_width / max(columns, 1), image_height / max(rows, 1)
    x = ((np.arange(columns, dtype=np.float32) + np.float32(offset)) * np.float32(step_w))[None, :, None]
    y = ((np.arange(rows, dtype=np.float32) + np.float32(offset)) * np.float32(step_h))[:, None, None]
    half_width, half_height = np.array(width, np.float32) / 2, np.array(height, np.float32) / 2
    grid = np.empty((rows, columns, len(width), 4), np.float32)
    grid[..., 0], grid[..., 2] = (x - half_width) / image_width, (x + half_width) / image_width
    grid[..., 1], grid[..., 3] = (y - half_height) / image_height, (y + half_height) / image_height
    if clip:
        np.clip(grid, 0, 1, out=grid)
    return _with_variances(grid.ravel(), grid.size, variance)


@prior_box_clustered_1.shapes
def _(
    check: Check,
    output_size: TensorType,
    image_size: TensorType | None,
    *,
    width: tuple[float, ...],
    height: tuple[float, ...],
    variance: tuple[float, ...],
) -> PartialShape:
    message = f"height has {len(height)} values, expected {len(width)} as in width"
    check("C4", len(width) == len(height), message, attribute="height", allowed=str(len(width)))
    return _grid_shape(check, output_size, image_size, variance, len(width))


@prior_box_8.oracle.undefined_for
@prior_box_1.oracle.undefined_for
def _(output_size: Array, image_size: Array, *, sizes: Sizes) -> Undefined:
    """Return True for sizes for which the page's number of boxes differs from the number that its formulas compute."""
    odd = len(sizes.min_size) != len(sizes.max_size) or not sizes.scale_all_sizes
    return bool(sizes.max_size) and odd


for _op in (prior_box_1, prior_box_8, prior_box_clustered_1):
    _op.oracle.draw("output_size", "image_size")(drawn_extents)
