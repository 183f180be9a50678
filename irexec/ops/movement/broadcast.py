"""Broadcast: a tensor replicated to a given shape.

Source: operation pages Broadcast-1, Broadcast-3. OpenVINO writes "none" for the mode "explicit" of Broadcast-1.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from irexec.core.types import ANY_DIMENSION, Array, Dimension, PartialShape, TensorType, common_shape
from irexec.ops.rules.axes import filled, has_length, in_range, integers, length_of
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import AsRead
from irexec.ops.spec.older import OlderForm
from irexec.ops.spec.operator import Check, operator, require
from irexec.ops.spec.tensors import AnyTensor, IntegerAxes, IntegerShape
from irexec.ops.spec.traits import CarriesSizes, Homogeneous, Moving, SizesIn


@operator("Broadcast", "opset3", CarriesSizes, Homogeneous, Moving, SizesIn(1), view="data")
def broadcast_3(
    data: AnyTensor,
    target_shape: IntegerShape,
    axes_mapping: IntegerAxes | None = None,
    /,
    *,
    mode: Literal["numpy", "explicit", "bidirectional"] = "numpy",
) -> AnyTensor:
    """`data` broadcast to `target_shape`, as a read-only view.

    Modes: "numpy" aligns the last dimensions; "bidirectional" also broadcasts the target to `data`; "explicit" aligns
    dimension d of `data` with dimension axes_mapping[d] of the target.

    Raises ConstraintError C1 when a dimension is neither 1 nor the target's (unless, for "bidirectional", the latter is
    1), C2 unless axes_mapping has one value per dimension of `data`, C4 when its values are not strictly ascending axes
    of the target, C5 for a negative extent. Shape rule: C3 target_shape and axes_mapping are 1D, C6 "explicit" needs
    axes_mapping. C7: the other modes do not take axes_mapping.
    """
    given, target = data, tuple(integers(target_shape))
    in_range(require, "C5", "target_shape", target, 0)
    if mode == "explicit":
        axes = [] if axes_mapping is None else integers(axes_mapping)
        _check_axes(require, axes, len(target))
        placed = [1] * len(target)
        for axis, extent in zip(axes, data.shape, strict=True):
            placed[axis] = extent
        data = data.reshape(placed)
    shape = common_shape(data.shape, target)
    if shape is None or (mode != "bidirectional" and shape != target):
        axes_type = None if axes_mapping is None else TensorType.of(axes_mapping)
        _rule(require, TensorType.of(given), TensorType.of(target_shape), axes_type, mode=mode)
    view: Array = np.broadcast_to(data, shape or ())
    return view


@broadcast_3.older
def _(form: OlderForm, *inputs: TensorType | None) -> None:
    form.need_attribute("mode", "numpy", "explicit")


@operator("Broadcast", "opset1", CarriesSizes, Homogeneous, Moving, SizesIn(1), view="data")
def broadcast_1(
    data: AnyTensor,
    target_shape: IntegerShape,
    axes_mapping: IntegerAxes | None = None,
    /,
    *,
    mode: Annotated[Literal["numpy", "explicit", "none"], AsRead(default="none")] = "numpy",
) -> AnyTensor:
    """As Broadcast-3, without the mode "bidirectional". The same constraints, except C7: axes_mapping is allowed."""
    view: Array = broadcast_3.compute(data, target_shape, axes_mapping, mode="explicit" if mode == "none" else mode)
    return view


@broadcast_3.shapes
def _(
    check: Check, data: TensorType, target_shape: TensorType, axes_mapping: TensorType | None = None, *, mode: str
) -> PartialShape:
    message = f"mode {mode!r} does not accept axes_mapping"
    check("C7", axes_mapping is None or mode == "explicit", message, port="axes_mapping")
    shape: PartialShape = _rule(check, data, target_shape, axes_mapping, mode=mode)
    return shape


@broadcast_1.shapes
def _rule(
    check: Check, data: TensorType, target_shape: TensorType, axes_mapping: TensorType | None = None, *, mode: str
) -> PartialShape:
    has_rank(check, "C3", target_shape, 1, "target_shape")
    known, length = target_shape.known, length_of(target_shape)
    in_range(check, "C5", "target_shape", known, 0)
    target = PartialShape.dynamic(length)
    if known is not None:
        target = PartialShape(ANY_DIMENSION if isinstance(n, int) and n < 0 else n for n in known)
    if mode in ("explicit", "none"):
        if check("C6", axes_mapping is not None, "mode 'explicit' needs axes_mapping") and axes_mapping is not None:
            _explicit(check, data, target, axes_mapping)
        return target
    if data.rank is None or target.rank is None:
        return PartialShape.dynamic() if mode == "bidirectional" else target
    if mode == "bidirectional":
        both = data.shape.broadcast(target)
        message = f"data {data.shape} and target_shape {target} do not broadcast"
        check("C1", both is not None, message, port="data", found=str(data.shape), allowed=str(target))
        return PartialShape.dynamic(max(data.rank, target.rank)) if both is None else both
    lead = target.rank - data.rank
    fits = lead >= 0 and all(map(_replicates, data.shape, target.dims[max(lead, 0) :]))
    message = f"data {data.shape} does not broadcast to target_shape {target}"
    check("C1", fits, message, port="data", found=str(data.shape), allowed=str(target))
    return target


def _replicates(extent: Dimension, target: Dimension) -> bool:
    return extent.contains(1) or extent.compatible(target)


def _check_axes(check: Check, axes: list[int], rank: int) -> bool:
    """Check C4: the axes ascend within the rank of the target; return False if an axis is outside."""
    outside = [axis for axis in axes if not 0 <= axis < rank]
    message = f"axes_mapping {axes} contains {outside[:1]}, outside [0, {rank - 1}]"
    if not check("C4", not outside, message, port="axes_mapping", allowed=f"[0, {rank - 1}]"):
        return False
    check("C4", axes == sorted(set(axes)), f"axes_mapping {axes} is not ascending", port="axes_mapping")
    return True


def _explicit(check: Check, data: TensorType, target: PartialShape, axes_mapping: TensorType) -> None:
    has_length(check, "C2" if axes_mapping.rank in (None, 1) else "C3", axes_mapping, data.rank, "axes_mapping")
    axes, rank = axes_mapping.ints, target.rank
    if axes is None or rank is None:
        return
    if not _check_axes(check, axes, rank):
        return
    if data.rank == len(axes):
        for number, (axis, extent) in enumerate(zip(axes, data.shape, strict=True)):
            message = f"dimension {number} of data is {extent}, expected 1 or {target[axis]}, target dimension {axis}"
            check("C1", _replicates(extent, target[axis]), message, port="data")


@broadcast_1.oracle.draw("target_shape", "axes_mapping")
@broadcast_3.oracle.draw("target_shape", "axes_mapping")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType], *, mode: str) -> Array:
    """Draw a shape that begins (modes "explicit" and "none") or ends with the shape of data; other extents are 2."""
    if port == "axes_mapping":
        return filled(types, port, np.arange(types[port].shape[0].value))
    extents, length = list(types["data"].shape.to_shape()), types[port].shape[0].value
    others = [2] * max(length - len(extents), 0)
    placed = extents + others if mode in ("explicit", "none") else others + extents
    return filled(types, port, placed[len(placed) - length :])
