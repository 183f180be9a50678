"""OneHot: each index becomes a row with `on_value` at the index and `off_value` elsewhere.

Source: operation pages OneHot-1, OneHot-16. OneHot-1 leaves negative indices undefined; irexec ignores them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from irexec.core.types import INTEGERS, Array, PartialShape, TensorType
from irexec.ops.rules.axes import drawn_below, filled, first_known, in_range, integer
from irexec.ops.rules.shapes import axis_in, dimension_of, has_rank
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.signature import InputsOf
from irexec.ops.spec.tensors import AnyTensor2, IntegerTensor1
from irexec.ops.spec.traits import Encoding, Steps

T_DEPTH: TypeAlias = Annotated[Array, Elements("T_DEPTH", INTEGERS)]


@operator("OneHot", "opset16", Steps, Encoding)
def one_hot_16(
    indices: IntegerTensor1,
    depth: T_DEPTH,
    on_value: AnyTensor2,
    off_value: AnyTensor2,
    /,
    *,
    axis: int,
    negative_indices_mode: Literal["ignore_negative", "normalize", "ignore-negative"] = "ignore_negative",
) -> AnyTensor2:
    """Insert a dimension of `depth` elements at `axis`: `on_value` at the index, `off_value` elsewhere.

    An index outside [0, depth - 1] sets no element; with "normalize", indices in [-depth, -1] count from the end. The
    page writes "ignore-negative", OpenVINO "ignore_negative"; both are accepted.

    Raises ConstraintError C1 for an axis outside [-rank - 1, rank], C2 for a depth below 1.
    Shape rule: C3 depth, C4 on_value and off_value are scalars.
    """
    count = integer(depth)
    in_range(require, "C2", "depth", count, 1)
    at = axis % (indices.ndim + 1)
    result = np.full((*indices.shape[:at], count, *indices.shape[at:]), off_value.reshape(()), on_value.dtype)
    hot = np.asarray((indices < count) & (indices >= (-count if negative_indices_mode == "normalize" else 0)))
    # An additional leading axis makes a scalar index an array of one element.
    rows = np.moveaxis(result, at, -1)[None]
    rows[(*np.nonzero(hot[None]), indices[hot].astype(np.intp))] = on_value.reshape(())
    return result


@one_hot_16.older
def _(form: OlderForm, *inputs: TensorType | None, negative_indices_mode: str) -> None:
    form.need(str(negative_indices_mode).startswith("ignore"), "negative indices are normalized")


@operator("OneHot", "opset1", Steps, Encoding)
def one_hot_1(*inputs: Annotated[Any, InputsOf(one_hot_16)], axis: int) -> AnyTensor2:
    """As OneHot-16 with negative indices ignored. The same constraints."""
    return np.asarray(one_hot_16.compute(*inputs, axis=axis))


@one_hot_1.shapes
@one_hot_16.shapes
def _(
    check: Check, indices: TensorType, depth: TensorType, on_value: TensorType, off_value: TensorType, *, axis: int
) -> PartialShape:
    has_rank(check, "C3", depth, 0, "depth")
    has_rank(check, "C4", on_value, 0, "on_value")
    has_rank(check, "C4", off_value, 0, "off_value")
    count = first_known(depth)
    if not in_range(check, "C2", "depth", count, 1):
        count = None
    rank = None if indices.rank is None else indices.rank + 1
    at = axis_in(check, "C1", axis, rank, attribute="axis")
    if at is None:
        return PartialShape.dynamic(rank)
    return PartialShape([*indices.shape[:at], dimension_of(count), *indices.shape[at:]])


@one_hot_1.oracle.draw("indices", "depth")
@one_hot_16.oracle.draw("depth")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    depth = types["depth"].scalar or 4
    return filled(types, port, depth) if port == "depth" else drawn_below(rng, types, port, int(depth))


@one_hot_16.oracle.draw("indices")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    """Draw indices of both signs, also some outside of the depth."""
    depth = int(types["depth"].scalar or 4)
    wanted = types[port]
    low = -depth - 1 if wanted.element_type.kind == "i" else 0
    return filled(types, port, rng.integers(low, depth + 1, wanted.shape.to_shape()))
