"""ConvertPromoteTypes: two tensors converted to a common element type.

Source: operation page ConvertPromoteTypes-14.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import ge
from typing import Annotated, NamedTuple, TypeAlias

import numpy as np

from irexec.core.types import (
    ANY,
    BF16,
    BOOLEAN,
    DYNAMIC,
    F4E2M1,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I4,
    I8,
    I16,
    I32,
    I64,
    U64,
    Array,
    ElementType,
    TensorType,
)
from irexec.ops.compute.casting import cast
from irexec.ops.compute.precision import limits_of
from irexec.ops.spec.checks import holds
from irexec.ops.spec.operator import Check, ConstraintError, Elements, NodeTypes, operator
from irexec.ops.spec.tensors import AnyTensor2

T1: TypeAlias = Annotated[Array, Elements("T1", ANY)]
T_OUT: TypeAlias = Annotated[Array, Elements("T_OUT", ANY)]

# Narrowest type first.
_FLOATS = (F4E2M1, F8E4M3, F8E5M2, F16, BF16, F32, F64)
_SIGNED = (I4, I8, I16, I32, I64)


class Promotion(NamedTuple):
    """The common type, or None; and the reason if the promotion is unsafe."""

    type: ElementType | None
    unsafe: str | None = None


def promote(
    a: ElementType, b: ElementType, target_of_u64: ElementType, scalars: tuple[bool, bool] = (False, False)
) -> Promotion:
    """Return the common type of two types. `scalars`: for PyTorch's rule, whether each type belongs to a scalar."""
    if a is b:
        return Promotion(a)
    if BOOLEAN in (a, b):
        other = b if a is BOOLEAN else a
        return Promotion(other) if other.is_integral_number or other in _FLOATS else Promotion(None)
    if not all(t.is_integral_number or t in _FLOATS for t in (a, b)):
        return Promotion(None)
    if a.is_real != b.is_real:
        real, whole = (a, b) if a.is_real else (b, a)
        narrow = real.bitwidth < 2 * whole.bitwidth
        return Promotion(real, f"{real} has fewer than twice as many bits as {whole}" if narrow else None)
    common = _common_float(a, b) if a.is_real else _common_integer(a, b, target_of_u64)
    if scalars[0] != scalars[1]:
        scalar, tensor = (a, b) if scalars[0] else (b, a)
        low, high = _range(scalar)
        lowest, highest = _range(tensor)
        holds = lowest <= low and high <= highest
        return Promotion(tensor, None if holds else f"the range of {tensor} does not include that of {scalar}")
    return common


def _range(kind: ElementType) -> tuple[float, float]:
    """Return the lowest and the highest number of a type."""
    if kind.is_real:
        highest = float(limits_of(kind.dtype).max)
        return -highest, highest
    bits = kind.bitwidth
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.is_signed else (0, (1 << bits) - 1)


def _format(kind: ElementType) -> tuple[int, int]:
    """Return the bits of fraction and exponent."""
    limits = limits_of(kind.dtype)
    return limits.nmant, limits.nexp


def _common_float(a: ElementType, b: ElementType) -> Promotion:
    needed = [*map(max, _format(a), _format(b))]
    found = next(kind for kind in _FLOATS if all(map(ge, _format(kind), needed)))
    return Promotion(
        found, None if found in (a, b) else f"neither {a} nor {b} can represent all values of the other; {found} can"
    )


def _common_integer(a: ElementType, b: ElementType, target_of_u64: ElementType) -> Promotion:
    if a.is_signed == b.is_signed:
        return Promotion(a if a.bitwidth > b.bitwidth else b)
    signed, unsigned = (a, b) if a.is_signed else (b, a)
    if unsigned is U64:
        return Promotion(target_of_u64, f"no integer type can represent all values of {signed} and u64")
    bits = max(signed.bitwidth, 2 * unsigned.bitwidth)
    found = next(t for t in _SIGNED if t.bitwidth >= bits)
    return Promotion(
        found, None if found is signed else f"{signed} cannot represent all values of {unsigned}; {found} can"
    )


def _agreed(
    a: ElementType, b: ElementType, ranks: tuple[int | None, int | None], unsafe: bool, pytorch: bool, u64: ElementType
) -> tuple[ElementType | None, tuple[str, str] | None]:
    """Return the common type or None, and the broken constraint with the reason or None."""
    scalars = (ranks[0] == 0, ranks[1] == 0) if pytorch and None not in ranks else (False, False)
    found = promote(a, b, u64, scalars)
    if found.type is None:
        return None, ("C1", f"{a} and {b} have no common type")
    if found.unsafe and not unsafe:
        return found.type, ("C2", f"{a} and {b} do not promote safely: {found.unsafe}")
    return found.type, None


@operator("ConvertPromoteTypes", "opset14", view=("input_0", "input_1"))
def convert_promote_types_14(
    input_0: T1,
    input_1: AnyTensor2,
    /,
    *,
    promote_unsafe: bool = False,
    pytorch_scalar_promotion: bool = False,
    u64_integer_promotion_target: ElementType = F32,
) -> tuple[T_OUT, T_OUT]:
    """Convert both inputs to their common type.

    Floats take precedence over integers, and integers over boolean; within one kind, the common type is the narrowest
    type that represents both. C1: there is a common type. C2: without `promote_unsafe` the common type is the type of
    an input, u64 is not combined with a signed integer, a float has at least twice the bits of the integer, and the
    tensor's type has at least the range of the scalar's (with `pytorch_scalar_promotion`). (OpenVINO accepts some of
    these, such as u64 with i32.)
    """
    a, b = ElementType.of(input_0.dtype), ElementType.of(input_1.dtype)
    ranks = (input_0.ndim, input_1.ndim)
    common, breach = _agreed(a, b, ranks, promote_unsafe, pytorch_scalar_promotion, u64_integer_promotion_target)
    if breach is not None:
        raise ConstraintError(*breach)
    assert common is not None
    holds("C1")
    holds("C2")
    return cast(input_0, a, common), cast(input_1, b, common)


@convert_promote_types_14.shapes
def _(
    check: Check,
    input_0: TensorType,
    input_1: TensorType,
    *,
    promote_unsafe: bool,
    pytorch_scalar_promotion: bool,
    u64_integer_promotion_target: ElementType,
) -> list[TensorType]:
    a, b = input_0.element_type, input_1.element_type
    common: ElementType | None = DYNAMIC
    ranks = (input_0.rank, input_1.rank)
    open_rank = pytorch_scalar_promotion and None in ranks and a is not b and a.is_real == b.is_real
    if not (a.is_dynamic or b.is_dynamic or open_rank):
        common, breach = _agreed(a, b, ranks, promote_unsafe, pytorch_scalar_promotion, u64_integer_promotion_target)
        if breach is not None:
            hint = "set promote_unsafe to true" if breach[0] == "C2" else None
            check(breach[0], False, breach[1], port="input_1", found=f"{a}, {b}", hint=hint)
    return [TensorType(common or DYNAMIC, t.shape) for t in (input_0, input_1)]


@convert_promote_types_14.specialize
def _(types: NodeTypes) -> Callable[..., tuple[Array, Array]] | None:
    a, b, common = types.inputs[0], types.inputs[1], types.outputs[0].element_type
    if a is None or b is None or not (a.element_type.is_carried or b.element_type.is_carried) or common.is_dynamic:
        return None
    first, second = a.element_type, b.element_type

    def run(input_0: Array, input_1: Array, **_: object) -> tuple[Array, Array]:
        return np.asarray(cast(input_0, first, common)), np.asarray(cast(input_1, second, common))

    return run
