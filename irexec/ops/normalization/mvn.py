"""MVN: mean-variance normalization.

Source: operation pages MVN-1 (introduced in opset2), MVN-6. The pages state a sum of squares for the variance;
as in OpenVINO, the variance is the mean of the squares. OpenVINO writes eps_mode in capitals, the page in small
letters; irexec accepts both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import numpy as np

from irexec.core.types import Array, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.normalization.statistics import check_axes, normalize
from irexec.ops.rules.axes import axes_of
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import Above0, AsRead
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, rounded
from irexec.ops.spec.oracle import Deviation, Undefined
from irexec.ops.spec.tensors import FloatTensor, IntegerIndices
from irexec.ops.spec.traits import AlongAxes


@operator("MVN", "opset2", AlongAxes, inplace="data", tolerance=rounded(16))
def mvn_1(
    data: FloatTensor,
    /,
    *,
    across_channels: bool = False,
    reduction_axes: tuple[int, ...] = (),
    normalize_variance: bool,
    eps: Annotated[Above0, AsRead(is_f64=True)],
    out: Array | None = None,
) -> FloatTensor:
    """`data` minus its mean over `reduction_axes`; with `normalize_variance`, divided by its standard deviation.

    By default, reduction_axes are all axes except batch and channel, or (`across_channels`) all except the batch.

    C1: reduction_axes are in [-rank, rank - 1]. C2: no axis is repeated.
    """
    axes = reduced_axes(reduction_axes, across_channels, data.ndim)
    return _normalized(data, axes, normalize_variance, eps, True, out)


def reduced_axes(reduction_axes: tuple[int, ...], across_channels: bool, rank: int) -> tuple[int, ...]:
    """Return the axes, counted from the front, over which MVN-1 takes the mean of data of this rank."""
    return reduction_axes or tuple(range(1 if across_channels else 2, rank))


@operator("MVN", "opset6", AlongAxes, inplace="data", tolerance=rounded(16))
def mvn_6(
    data: FloatTensor,
    axes: IntegerIndices,
    /,
    *,
    normalize_variance: bool,
    eps: Above0,
    eps_mode: Literal["inside_sqrt", "outside_sqrt", "INSIDE_SQRT", "OUTSIDE_SQRT"],
    out: Array | None = None,
) -> FloatTensor:
    """`data` minus its mean over `axes`; with `normalize_variance`, divided by its standard deviation. `eps` is added
    inside or outside the square root, according to `eps_mode`.

    C1: axes is 1D. C2: its values are in [-rank, rank - 1].
    """
    places = axes_of("C2", axes, data.ndim, "axes")
    return _normalized(data, places, normalize_variance, eps, eps_mode.lower() == "inside_sqrt", out)


@mvn_6.older
def _(form: OlderForm, data: TensorType, axes: TensorType, *, eps_mode: str, normalize_variance: bool) -> None:
    """Convert `axes` to the attribute of the previous version, which adds eps to the variance."""
    reduced = form.ints("axes")
    inside = str(eps_mode).lower() == "inside_sqrt"
    form.need(inside or not normalize_variance, f"eps_mode is {eps_mode}")
    form.need(bool(reduced), "axes is empty")
    form.attributes |= {"reduction_axes": tuple(reduced), "across_channels": 1 in reduced}
    form.take(0)


def _normalized(data: Array, axes: Sequence[int], variance: bool, eps: float, inside: bool, out: Array | None) -> Array:
    dtype = compute_dtype(data.dtype)
    target = summing_buffer(data.shape, dtype, out)

    def deviation(squares: Array) -> Array:
        root: Array = np.sqrt(squares + dtype.type(eps)) if inside else np.sqrt(squares) + dtype.type(eps)
        return root

    chosen: Callable[[Array], Array] | None = deviation if variance else None
    with np.errstate(all="ignore"):
        normalize(data.astype(dtype, copy=False), [a % data.ndim for a in axes], target, chosen)
        return settle(target, data.dtype, out)


@mvn_1.shapes
def _(check: Check, data: TensorType, *, reduction_axes: Sequence[int]) -> PartialShape:
    check_axes(check, "C1", reduction_axes, data.rank, "C2", attribute="reduction_axes")
    return data.shape


@mvn_6.shapes
def _(check: Check, data: TensorType, axes: TensorType) -> PartialShape:
    has_rank(check, "C1", axes, 1, "axes")
    check_axes(check, "C2", axes.ints, data.rank, port="axes")
    return data.shape


@mvn_6.oracle.deviates("axes")
def _(data: TensorType, axes: TensorType) -> Deviation | None:
    if data.rank is None or axes.rank != 1 or not axes.shape.is_static or axes.shape[0].value <= data.rank:
        return None
    return Deviation("may repeat an axis according to its page; OpenVINO rejects more axes than data has dimensions")


@mvn_6.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    return draw_axes(rng, types[port], types["data"])


def draw_axes(rng: np.random.Generator, axes: TensorType, data: TensorType) -> Array | None:
    """Return distinct axes of data, as far as its rank allows."""
    count, rank = axes.shape.size.min, data.rank
    if rank is None or count > rank:
        return None
    return rng.permutation(rank)[:count].reshape(axes.shape.to_shape()).astype(axes.element_type.dtype)


@mvn_1.oracle.undefined_for
def _(data: Array, *, reduction_axes: tuple[int, ...]) -> Undefined:
    """The result is undefined for the attribute `reduction_axes`, which the page does not describe."""
    return bool(reduction_axes)
