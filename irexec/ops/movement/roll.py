"""Roll: a tensor shifted cyclically along some axes.

Source: operation page Roll-7.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np

from irexec.core.types import INDICES, Array, PartialShape, TensorType
from irexec.ops.rules.axes import axes_of, filled, integers, into, known_axes
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.operator import Check, Elements, operator
from irexec.ops.spec.oracle import Deviation
from irexec.ops.spec.tensors import AnyTensor
from irexec.ops.spec.traits import CarriesSizes

T_IND_1: TypeAlias = Annotated[Array, Elements("T_IND_1", INDICES)]
T_IND_2: TypeAlias = Annotated[Array, Elements("T_IND_2", INDICES)]


@operator("Roll", "opset7", CarriesSizes)
def roll_7(data: AnyTensor, shift: T_IND_1, axes: T_IND_2, /, *, out: Array | None = None) -> AnyTensor:
    """`data` shifted by `shift` along `axes`; a single shift applies to every axis; shifts of a repeated axis are
    added.

    A single shift is a scalar or, as in the page's example, has one element.
    Raises ConstraintError C1 unless a 1D shift has as many values as axes, C3 for an axis outside [-rank, rank - 1].
    Shape rule: C2 shift and axes are scalars or 1D.
    """
    places, shifts = axes_of("C3", axes, data.ndim, "axes"), integers(shift)
    if not places:
        return into(data, out, data)
    return into(np.roll(data, shifts[0] if len(shifts) == 1 else shifts, places), out)


@roll_7.shapes
def _(check: Check, data: TensorType, shift: TensorType, axes: TensorType) -> PartialShape:
    has_rank(check, "C2", shift, (0, 1), "shift")
    has_rank(check, "C2", axes, (0, 1), "axes")
    if shift.rank == 1 and axes.rank is not None:
        count = axes.shape if axes.rank else PartialShape((1,))
        message = f"shift has shape {shift.shape}, expected {axes.shape} as in axes, or a single shift for all axes"
        fits = shift.shape.compatible(count) or shift.shape[0].contains(1)
        check("C1", fits, message, port="shift", found=str(shift.shape), allowed=str(count))
    known_axes(check, "C3", axes, data.rank, "axes")
    return data.shape


@roll_7.oracle.deviates("shift", "axes")
def _(data: TensorType, shift: TensorType, axes: TensorType) -> Deviation | None:
    if shift.rank != 1 or axes.rank is None or shift.shape[0] == (axes.shape[0] if axes.rank else 1):
        return None
    return Deviation(
        "shifts several axes by a tensor of one element, which its page allows; OpenVINO accepts only a scalar"
    )


@roll_7.oracle.draw("axes")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    return filled(types, port, rng.integers(0, max(len(types["data"].shape), 1), types[port].shape.to_shape()))
