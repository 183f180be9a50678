"""BatchNormInference: each channel normalized by a given mean and variance, scaled and shifted.

Source: operation pages BatchNormInference-1, BatchNormInference-5. The page of version 1 has `data` first; files of
version 1 have gamma and beta before it. Both orders are accepted: `data` is the input with more than one axis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import Array, Dimension, PartialShape, TensorType
from irexec.ops.compute.precision import compute_dtype
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.normalization.statistics import in_blocks
from irexec.ops.rules.shapes import AnyRank, has_rank, one_per_channel
from irexec.ops.spec.attributes import AsRead, Within
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, NodeTypes, operator, rounded
from irexec.ops.spec.tensors import FloatTensor

Epsilon: TypeAlias = Annotated[float, Within(ge=0), AsRead(is_f64=True)]


@operator("BatchNormInference", "opset5", inplace="data", tolerance=rounded(16))
def batch_norm_inference_5(
    data: FloatTensor,
    gamma: FloatTensor,
    beta: FloatTensor,
    mean: FloatTensor,
    variance: FloatTensor,
    /,
    *,
    epsilon: Epsilon,
    out: Array | None = None,
) -> FloatTensor:
    """`gamma` * (`data` - `mean`) / sqrt(`variance` + `epsilon`) + `beta`, per channel, the second axis of `data`.

    C1: data has rank 2 or more. C2: data has at least one channel. C3: gamma, beta, mean and variance are 1D, with (C4)
    one value per channel.
    """
    factor, term = line(gamma, beta, mean, variance, epsilon)
    return _along_channels(data, factor, term, out)


@batch_norm_inference_5.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    """Move `data` to the third input, as in the previous version."""
    form.take(1, 2, 0, 3, 4)


def line(gamma: Array, beta: Array, mean: Array, variance: Array, epsilon: float) -> tuple[Array, Array]:
    """Return the factor and the summand of each channel, in the dtype of the computation."""
    dtype = compute_dtype(gamma.dtype)
    gamma, beta, mean, variance = (v.astype(dtype, copy=False) for v in (gamma, beta, mean, variance))
    with np.errstate(all="ignore"):
        factor = gamma / np.sqrt(variance + dtype.type(epsilon))
        return factor, beta - mean * factor


def _along_channels(data: Array, factor: Array, term: Array, out: Array | None) -> Array:
    target = summing_buffer(data.shape, factor.dtype, out)
    rows = data.shape[0] * data.shape[1]
    factors, terms = (np.tile(v, data.shape[0])[:, None] for v in (factor, term))
    x, y = data.reshape(rows, -1) if data.size else data, target.reshape(rows, -1) if data.size else target

    def block(part: slice) -> None:
        np.multiply(x[part], factors[part], out=y[part])
        np.add(y[part], terms[part], out=y[part])

    if data.size:
        with np.errstate(all="ignore"):
            in_blocks(rows, data.nbytes, block)
    return settle(target, data.dtype, out)


@operator("BatchNormInference", "opset1", tolerance=rounded(16))
def batch_norm_inference_1(
    gamma: FloatTensor,
    beta: FloatTensor,
    data: FloatTensor,
    mean: FloatTensor,
    variance: FloatTensor,
    /,
    *,
    epsilon: Epsilon,
    out: Array | None = None,
) -> FloatTensor:
    """BatchNormInference-5 with the inputs in this order, or in that of version 5. The same constraints."""
    if gamma.ndim > 1:
        data, gamma, beta = gamma, beta, data
    return np.asarray(batch_norm_inference_5.compute(data, gamma, beta, mean, variance, epsilon=epsilon, out=out))


@batch_norm_inference_5.specialize
def _(types: NodeTypes, *, epsilon: float) -> Callable[..., Array] | None:
    """Combine constant parameters once, into a factor and a summand."""
    gamma, beta, mean, variance = types.constants[1:]
    if gamma is None or beta is None or mean is None or variance is None:
        return None
    factor, term = line(gamma, beta, mean, variance, epsilon)

    def run(
        data: Array, gamma: Array, beta: Array, mean: Array, variance: Array, /, *, out: Array | None = None
    ) -> Array:
        return _along_channels(data, factor, term, out)

    return run


@batch_norm_inference_5.shapes
def _shape(
    check: Check, data: TensorType, gamma: TensorType, beta: TensorType, mean: TensorType, variance: TensorType
) -> PartialShape:
    channels = Dimension(-1)
    if has_rank(check, "C1", data, AnyRank[2:], "data") and data.rank is not None:
        channels = data.shape[1]
        check("C2", channels.max != 0, "data has no channel", port="data")
    for name, tensor in (("gamma", gamma), ("beta", beta), ("mean", mean), ("variance", variance)):
        channels = one_per_channel(check, ("C3", "C4"), tensor, name, channels)
    return data.shape.with_dim(1, channels) if data.rank is not None and data.rank > 1 else data.shape


@batch_norm_inference_1.shapes
def _(
    check: Check, gamma: TensorType, beta: TensorType, data: TensorType, mean: TensorType, variance: TensorType
) -> PartialShape:
    if gamma.rank is not None and gamma.rank > 1:
        data, gamma, beta = gamma, beta, data
    return _shape(check, data, gamma, beta, mean, variance)


@batch_norm_inference_1.oracle.draw("variance")
@batch_norm_inference_5.oracle.draw("variance")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array | None:
    """Draw variances, which are not negative."""
    return rng.uniform(0.5, 2, types[port].shape.to_shape()).astype(types[port].element_type.dtype)
