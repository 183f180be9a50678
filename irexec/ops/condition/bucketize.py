"""Bucketize: the bucket between sorted boundaries into which each element falls.

Source: operation page Bucketize-3.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import NUMERIC, Array, ElementType, PartialShape, TensorType
from irexec.ops.compute.precision import widen
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, require
from irexec.ops.spec.oracle import Undefined
from irexec.ops.spec.tensors import NumericTensor
from irexec.ops.spec.traits import Steps

T_BOUNDARIES: TypeAlias = Annotated[Array, Elements("T_BOUNDARIES", NUMERIC)]


@operator("Bucketize", "opset3", Steps)
def bucketize_3(
    data: NumericTensor,
    buckets: T_BOUNDARIES,
    /,
    *,
    output_type: Annotated[Literal["i64", "i32"], AsRead(default="dynamic")] = "i64",
    with_right_bound: bool = True,
) -> Annotated[Array, TypeFrom("output_type")]:
    """For each element the number of boundaries below it; an element equal to a boundary is in the bucket that ends
    with this boundary.

    Without `with_right_bound`, such an element is in the bucket that begins with this boundary.
    Raises ConstraintError C2 unless `buckets` ascend without repetition. Shape rule: C1 buckets is 1D.
    """
    boundaries, values = widen(buckets), widen(data)
    _check_order(require, boundaries)
    found = _places(boundaries, values, "left" if with_right_bound else "right")
    return np.asarray(found).astype(ElementType.by_name[output_type].dtype)


def _places(boundaries: Array, values: Array, side: Literal["left", "right"]) -> Array:
    """Return np.searchsorted, with signed and unsigned integers compared as u64: NumPy would compare them as f64."""
    if {boundaries.dtype.kind, values.dtype.kind} != {"i", "u"}:
        return np.asarray(np.searchsorted(boundaries, values, side))
    negative = np.count_nonzero(boundaries < 0)
    above = boundaries[negative:].astype(np.uint64)
    found = negative + np.searchsorted(above, np.maximum(values, 0).astype(np.uint64), side)
    return np.where(values < 0, 0, found)


def _ascending(boundaries: Array) -> bool:
    return bool((boundaries[1:] > boundaries[:-1]).all())


@bucketize_3.shapes
def _(check: Check, data: TensorType, buckets: TensorType) -> PartialShape:
    if has_rank(check, "C1", buckets, 1, "buckets") and buckets.value is not None:
        _check_order(check, buckets.value)
    return data.shape


def _check_order(check: Check, buckets: Array) -> None:
    check("C2", _ascending(buckets), "buckets must be strictly ascending", port="buckets")


@bucketize_3.oracle.draw("buckets")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return np.arange(types[port].shape[0].value).astype(types[port].element_type.dtype)


@bucketize_3.oracle.undefined_for
def _(data: Array, buckets: Array) -> Undefined:
    """Return a mask of the undefined elements: NaN is in no bucket."""
    return (np.isnan(widen(data)),)
