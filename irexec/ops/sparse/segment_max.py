"""SegmentMax: the elementwise maximum of the rows of each segment.

Source: operation page SegmentMax-16. The page spells the modes in capitals, OpenVINO in small letters; irexec
accepts both.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np

from irexec.core.types import INDICES, Array, PartialShape, TensorType
from irexec.ops.compute.precision import limits_of
from irexec.ops.rules.axes import drawn_below, filled, first_known, in_range, integer
from irexec.ops.rules.shapes import dimension_of, has_rank
from irexec.ops.spec.operator import Check, Elements, operator, require
from irexec.ops.spec.oracle import LARGEST
from irexec.ops.spec.tensors import NumericTensor

T_IDX1: TypeAlias = Annotated[Array, Elements("T_IDX1", INDICES)]
T_IDX2: TypeAlias = Annotated[Array, Elements("T_IDX2", INDICES)]


@operator("SegmentMax", "opset16")
def segment_max_16(
    data: NumericTensor,
    segment_ids: T_IDX1,
    num_segments: T_IDX2 | None = None,
    /,
    *,
    fill_mode: Literal["zero", "lowest", "ZERO", "LOWEST"],
) -> NumericTensor:
    """Row s is the elementwise maximum of the rows of `data` whose segment id is s; NaN if an element is NaN.

    The result has `num_segments` rows, by default the last id + 1; rows of `data` with higher ids are ignored. A
    segment without rows is 0, or (`lowest`) the lowest finite number of the type.

    C1: data is not a scalar. C2: segment_ids has shape [data.shape[0]], ascends and has no negative id.
    C3: num_segments is a scalar, not negative.
    """
    _check_ids(require, segment_ids)
    if num_segments is None:
        count = int(segment_ids[-1]) + 1 if len(segment_ids) else 0
    else:
        count = integer(num_segments)
        in_range(require, "C3", "num_segments", count, 0)
    result = np.full(
        (count, *data.shape[1:]), 0 if fill_mode.lower() == "zero" else limits_of(data.dtype).min, data.dtype
    )
    kept = int(np.searchsorted(segment_ids, count))
    segments, starts = np.unique(segment_ids[:kept], return_index=True)
    if kept:
        result[segments] = np.maximum.reduceat(data[:kept], starts, axis=0)
    return result


@segment_max_16.shapes
def _(check: Check, data: TensorType, segment_ids: TensorType, num_segments: TensorType | None) -> PartialShape:
    rows = data.shape[0] if data.rank else None
    check("C1", data.rank != 0, "data is a scalar, expected rank 1 or more", port="data", found="[]")
    if has_rank(check, "C2", segment_ids, 1, "segment_ids") and rows is not None and segment_ids.rank is not None:
        message = f"segment_ids has shape {segment_ids.shape}, expected [{rows}]: an id for each row of data"
        check("C2", segment_ids.shape[0].compatible(rows), message, port="segment_ids", allowed=f"[{rows}]")
    ids = segment_ids.value if segment_ids.rank == 1 else None
    valid = ids is not None and _check_ids(check, ids)
    if num_segments is not None:
        has_rank(check, "C3", num_segments, 0, "num_segments")
        count = first_known(num_segments)
        if not in_range(check, "C3", "num_segments", count, 0):
            count = None
    else:
        count = int(ids.max(initial=-1)) + 1 if ids is not None and valid else None
    return PartialShape([dimension_of(count), *list(data.shape)[1:]])


def _check_ids(check: Check, ids: Array) -> bool:
    """Check C2: the ids ascend, and the first is not negative."""
    falls = ids[1:] < ids[:-1]
    place = int(falls.argmax()) if falls.any() else None
    message = (
        "" if place is None else f"segment_ids decreases from {ids[place]} to {ids[place + 1]} at index {place + 1}"
    )
    not_negative = in_range(check, "C2", "segment_ids", ids[:1], 0)
    return check("C2", place is None, f"{message}: the ids must ascend", port="segment_ids") and not_negative


@segment_max_16.oracle.draw("segment_ids", "num_segments")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    rows = types["data"].shape[0].value
    if port == "num_segments":
        known = types["segment_ids"].ints
        return filled(types, port, known[-1] + 1 if known else 0)
    return np.sort(drawn_below(rng, types, port, rows))


segment_max_16.oracle.allowed = LARGEST
