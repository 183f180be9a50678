"""Convert and ConvertLike: every pair of types compared with OpenVINO's core; stored types; overflow; strings."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import (
    BOOLEAN,
    F4E2M1,
    F8E8M0,
    F16,
    F32,
    I4,
    I32,
    NF4,
    STRING,
    U1,
    U3,
    U6,
    U8,
    ElementType,
    PartialShape,
    TensorType,
)
from irexec.ops.compute.casting import cast, nf4
from irexec.ops.spec.operator import NodeTypes, PassThrough
from irexec.ops.type.convert import convert_1, convert_like_1

WHOLE = ["boolean", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
REAL = ["f16", "bf16", "f32", "f64", "f8e4m3", "f8e5m2"]
TYPES = {name: ElementType.by_name[name] for name in WHOLE + REAL}


def values_for(source: ElementType) -> np.ndarray:
    if source is BOOLEAN:
        return np.array([False, True])
    if source.is_real:
        held = np.array([0, 0.4, -0.6, 1.5, -2.5, 3.75, 100, 200, -129, 300, 448, -0.0])
        return held.astype(source.dtype)
    return np.array([0, 1, -1, 2, 7, 100, 127, 128, -129, 200, 300, 65535]).astype(source.dtype)


@pytest.mark.parametrize("target", TYPES)
@pytest.mark.parametrize("source", TYPES)
def test_every_pair_agrees_with_the_core(source: str, target: str) -> None:
    x = values_for(TYPES[source])
    if target == "f16" and TYPES[source].is_integral_number:
        x = x[np.abs(x.astype(np.float64)) < 60000]  # the core saturates beyond this, for some types
    found = run(convert_1, x, destination_type=TYPES[target])[0]
    expected = openvino(convert_1, x, constants=True, destination_type=target)[0]
    assert found.dtype == TYPES[target].dtype
    # The core's bf16 is not rounded to nearest: 0.4 becomes 0.3984375, though 0.400390625 is nearer.
    slack = 2**-7 if target == "bf16" else 0
    np.testing.assert_allclose(found.astype(np.float64), expected.astype(np.float64), rtol=slack, atol=0)


@pytest.mark.parametrize("target", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_floats_that_no_integer_holds_agree_with_the_core(target: str) -> None:
    x = np.array([1e10, -1e10, 3e38, np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31), 70000, 2.0**63], np.float32)
    found = run(convert_1, x, destination_type=TYPES[target])[0]
    np.testing.assert_array_equal(found, openvino(convert_1, x, constants=True, destination_type=target)[0])


@pytest.mark.parametrize("target", ["i4", "u4", "u2", "u1", "u3", "u6"])
@pytest.mark.parametrize("source", ["f32", "i32", "u8", "f16"])
def test_sub_byte_integers_take_the_low_bits(source: str, target: str) -> None:
    kind = ElementType.by_name[target]
    x = np.array([0, 1, -1, -2, 7, 8, 15, 17, 63, 200]).astype(TYPES[source].dtype)
    whole = [int(v) for v in x]
    low = [v % 2**kind.bitwidth for v in whole]
    expected = [v - 16 if v > 7 and kind is I4 else v for v in low]
    assert run(convert_1, x, destination_type=kind)[0].astype(int).tolist() == expected


def specialized(array: np.ndarray, source: ElementType, target: ElementType) -> np.ndarray:
    given = TensorType(source, PartialShape(array.shape))
    wanted = TensorType(target, given.shape)
    assert convert_1.specializer is not None
    fast = convert_1.specializer(NodeTypes((given,), (wanted,), (None,), {"destination_type": target}))
    assert fast is not None
    return fast.call(array) if isinstance(fast, PassThrough) else fast(array)


@pytest.mark.parametrize("target", [F16, F32])
def test_nf4_stands_for_sixteen_numbers(target: ElementType) -> None:
    codes = np.arange(16, dtype=np.uint8)
    assert target.dtype is not None
    np.testing.assert_array_equal(specialized(codes, NF4, target), nf4()[0].astype(target.dtype))
    back = cast(nf4()[0], F32, NF4)
    np.testing.assert_array_equal(back, codes)
    between = np.array([-5, 5, 0.9, 0.04, np.nan], np.float32)
    np.testing.assert_array_equal(cast(between, F32, NF4), [0, 15, 15, 8, 0])


def test_known_nf4_constants_are_inferred() -> None:
    [found], breaches = infer(convert_1, [tensor(NF4, "3", [0, 7, 15])], destination_type=F32)
    assert not breaches
    assert found.value is not None
    np.testing.assert_array_equal(found.value, np.array([-1, 0, 1], np.float32))


@pytest.mark.parametrize("source", [U1, U3, U6])
def test_carried_integers_are_their_values(source: ElementType) -> None:
    x = np.array([0, 1, 2**source.bitwidth - 1], np.uint8)
    np.testing.assert_array_equal(specialized(x, source, F32), x.astype(np.float32))
    np.testing.assert_array_equal(specialized(x, source, U8), x)
    np.testing.assert_array_equal(specialized(x, source, I32), x.astype(np.int32))


def test_f8e8m0_is_the_nearest_power_of_two() -> None:
    # As in OpenVINO's core: ties round to the even exponent; zero and negative values become the lowest power.
    x = np.array([0, 0.4, 0.6, 1.5, 3, 6, 2.5, -4, np.inf, np.nan, 2.0**-127, 3e38], np.float32)
    lowest, highest = 2.0**-127, 2.0**127
    expected = [lowest, 0.5, 0.5, 2, 2, 8, 2, lowest, highest, np.nan, lowest, highest]
    found = cast(x, F32, F8E8M0)
    assert found.dtype == F8E8M0.dtype
    np.testing.assert_array_equal(found.astype(np.float64), expected)


def test_f4e2m1_saturates() -> None:
    x = np.array([0.4, 2.5, 5, 100, -100, np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(cast(x, F32, F4E2M1).astype(np.float32), [0.5, 2, 4, 6, -6, 6, 6])


@pytest.mark.parametrize("kind", [F32, STRING, NF4])
def test_a_node_with_nothing_to_convert_passes_its_input_on(kind: ElementType) -> None:
    x = np.array([1, 2]).astype(kind.dtype)
    assert cast(x, kind, kind) is x
    data = TensorType(kind, PartialShape([2]))
    for op, inputs in ((convert_1, [x]), (convert_like_1, [x, x])):
        assert op.specializer is not None
        specialized = op.specializer(NodeTypes((data,) * len(inputs), (data,), (None,) * len(inputs)))
        assert isinstance(specialized, PassThrough) and specialized.call(*inputs) is x


def test_convert_like_nf4() -> None:
    types = (tensor(F32, "2"), tensor(NF4, "1"))
    assert convert_like_1.specializer is not None
    fast = convert_like_1.specializer(NodeTypes(types, (tensor(NF4, "2"),), (None, None), {}))
    assert fast is not None
    np.testing.assert_array_equal(fast(np.array([-1, 1], np.float32), np.zeros(1, np.uint8)), [0, 15])


@pytest.mark.parametrize(
    ("target", "expected"),
    [("f8e4m3", [128, 8, 10, 127, 127, 127, 255]), ("f8e5m2", [148, 36, 37, 95, 96, 124, 252])],
)
def test_8_bit_floats_are_rounded_by_way_of_f16_as_openvino_rounds(target: str, expected: list[int]) -> None:
    values = np.float32([-0.000977019, 0.014646035, 0.02051364, 465, 480, 1e6, -1e9])
    kind = ElementType.by_name[target]
    for given in (values, values.astype(np.float64)):
        assert convert_1(given, destination_type=kind).view(np.uint8).tolist() == expected
    assert irexec.opset15.constant(values, dtype=kind).data.view(np.uint8).tolist() == expected
    assert irexec.op.Constant(kind, [7], values.tolist()).data.view(np.uint8).tolist() == expected
