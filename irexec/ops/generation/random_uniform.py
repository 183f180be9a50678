"""RandomUniform: numbers drawn evenly from an interval, by the generators that TensorFlow and PyTorch use.

Source: operation page RandomUniform-8; for the order of the halves of 64-bit numbers, OpenVINO's reference.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

import ml_dtypes
import numpy as np

from irexec.core.types import (
    BF16,
    DYNAMIC,
    F16,
    F32,
    F64,
    I32,
    I64,
    Array,
    ElementType,
    PartialShape,
    TensorType,
)
from irexec.ops.rules.axes import drawn_extents, in_range, integers, one_element
from irexec.ops.rules.shapes import has_rank
from irexec.ops.spec.attributes import NonNegative
from irexec.ops.spec.operator import Check, Elements, TypeFrom, operator, require
from irexec.ops.spec.tensors import ShapeTensor
from irexec.ops.spec.traits import Random

T: TypeAlias = Annotated[Array, Elements("T", {I32, I64, F16, BF16, F32, F64})]
OutputType = Literal["i32", "i64", "f16", "bf16", "f32", "f64"]
Alignment = Literal["tensorflow", "pytorch", "TENSORFLOW", "PYTORCH"]

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_32 = np.uint64(32)
# The number of random bits in each type: the explicit bits of the significand (Philox), or all (Mersenne Twister).
_BITS = {"f16": (10, 11), "bf16": (7, 8), "f32": (23, 24), "f64": (52, 53)}


def philox(key: int, counter: int, count: int) -> Array:
    """Return the first `count` u32 numbers of Philox 4x32 with 10 rounds, for a u64 key and counter."""
    blocks = np.arange(-(-count // 4), dtype=np.uint64)
    n_low, n_high = blocks & _LOW, blocks >> _32
    c_low = np.full_like(blocks, counter & 0xFFFFFFFF)
    c_high = np.full_like(blocks, counter >> 32)
    key_low, key_high = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        product_n, product_c = _MULTIPLIERS[0] * n_low, _MULTIPLIERS[1] * c_low
        n_low, n_high = (product_c >> _32) ^ n_high ^ np.uint64(key_low), product_c & _LOW
        c_low, c_high = (product_n >> _32) ^ c_high ^ np.uint64(key_high), product_n & _LOW
        key_low, key_high = (key_low + _KEY_STEPS[0]) & 0xFFFFFFFF, (key_high + _KEY_STEPS[1]) & 0xFFFFFFFF
    return np.stack([n_low, n_high, c_low, c_high], axis=1).ravel()[:count].astype(np.uint32)


def mersenne_twister(seed: int, count: int) -> Array:
    """Return the first `count` u32 numbers of MT19937, seeded as by torch.manual_seed."""
    drawn: Array = np.random.RandomState(seed & 0xFFFFFFFF).randint(0, 2**32, count, dtype=np.uint32)
    return drawn


@operator("RandomUniform", "opset8", Random)
def random_uniform_8(
    shape: ShapeTensor,
    minval: T,
    maxval: T,
    /,
    *,
    output_type: OutputType,
    global_seed: NonNegative = 0,
    op_seed: NonNegative = 0,
    alignment: Alignment = "tensorflow",
) -> Annotated[Array, TypeFrom("output_type")]:
    """An array of the given shape with numbers in [minval, maxval).

    The same seeds always give the same numbers (OpenVINO's CPU plugin continues its stream in each inference); if both
    seeds are 0, each call draws new numbers. Narrow floats are computed in f32 and rounded once.

    C1: shape is 1D. C2: minval and maxval are scalars or have one element. C3: minval and maxval have the output's
    type. C4: minval is below maxval. C5: the shape has no negative extent.
    """
    extents = integers(shape)
    in_range(require, "C5", "shape", extents, 0)
    low, high = minval.reshape(-1)[0], maxval.reshape(-1)[0]
    _check_limits(require, low, high)
    pytorch = alignment.lower() == "pytorch"
    if global_seed == 0 and op_seed == 0:
        global_seed = int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    count = math.prod(extents)
    two_each = output_type == "f64" or (output_type == "i64" and not (pytorch and max(low, high) < 2**32))
    needed = count * (2 if two_each else 1)
    drawn = mersenne_twister(global_seed, needed) if pytorch else philox(global_seed, op_seed, needed)
    if two_each:
        # PyTorch draws the high half first, as does TensorFlow for f64; for i64 TensorFlow draws it last.
        pairs = drawn.reshape(-1, 2).astype(np.uint64)
        high_first = pytorch or output_type == "f64"
        first, second = (pairs[:, 0], pairs[:, 1]) if high_first else (pairs[:, 1], pairs[:, 0])
        drawn = (first << _32) | second
    if output_type in ("i32", "i64"):
        return _integers(drawn, low, high, output_type).reshape(extents)
    return _floats(drawn, low, high, output_type, pytorch).reshape(extents)


def _integers(drawn: Array, low: Any, high: Any, kind: str) -> Array:
    """Return x mod (maxval - minval) + minval, computed in the unsigned type of the same width, which wraps."""
    wide: Any = np.uint32 if kind == "i32" else np.uint64
    span = wide((int(high) - int(low)) % 2 ** (8 * np.dtype(wide).itemsize))
    shifted: Array = drawn.astype(wide) % span + np.asarray(low).astype(wide)
    return shifted.view(np.int32 if kind == "i32" else np.int64)


def _floats(drawn: Array, low: Any, high: Any, kind: str, pytorch: bool) -> Array:
    """Return the lowest bits of the drawn numbers as fractions in [0, 1), scaled to the interval."""
    wide: Any = np.float64 if kind == "f64" else np.float32
    bits = _BITS[kind][pytorch]
    fraction = (drawn & drawn.dtype.type(2**bits - 1)).astype(wide) * wide(2.0**-bits)
    result: Array = fraction * (wide(high) - wide(low)) + wide(low)
    return result.astype({"f16": np.float16, "bf16": ml_dtypes.bfloat16}.get(kind, wide))


@random_uniform_8.shapes
def _(check: Check, shape: TensorType, minval: TensorType, maxval: TensorType, *, output_type: str) -> PartialShape:
    has_rank(check, "C1", shape, 1, "shape")
    wanted = ElementType.by_name[output_type]
    for name, tensor in (("minval", minval), ("maxval", maxval)):
        one_element(check, "C2", tensor, name)
        right = tensor.element_type in (DYNAMIC, wanted)
        check("C3", right, f"{name} is {tensor.element_type}, expected {wanted}, the output_type", port=name)
    low, high = minval.scalar, maxval.scalar
    if low is not None and high is not None:
        _check_limits(check, low, high)
    known = shape.known
    if known is None:
        extent = shape.shape[0] if shape.rank == 1 else None
        return PartialShape.dynamic(extent.value if extent is not None and extent.is_static else None)
    return PartialShape(known) if in_range(check, "C5", "shape", known, 0) else PartialShape.dynamic(len(known))


def _check_limits(check: Check, low: Any, high: Any) -> None:
    check("C4", bool(low < high), f"minval is {low}, expected less than maxval, which is {high}", port="minval")


@random_uniform_8.oracle.draw("minval", "maxval")
def _(rng: np.random.Generator, port: str, types: dict[str, TensorType]) -> Array:
    kind = types[port]
    return np.full(kind.shape.to_shape(), 0 if port == "minval" else 10).astype(kind.element_type.dtype)


random_uniform_8.oracle.draw("shape")(drawn_extents)
