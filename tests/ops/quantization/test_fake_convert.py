"""FakeConvert: the page's expression, OpenVINO's core, overflow, constraints."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.quantization.fake_convert import fake_convert_13
from irexec.ops.spec.operator import ConstraintError

KINDS = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(), (3, 1), (2, 3, 4)])
def test_the_page_s_expression(kind: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-50, 50, (2, 3, 4)).astype(np.float32)
    scale, shift = (rng.uniform(0.5, 2, shape).astype(np.float32) for _ in range(2))
    moved = (x * scale - shift).astype(KINDS[kind]).astype(np.float32)
    found = run(fake_convert_13, x, scale, shift, destination_type=kind)[0]
    np.testing.assert_allclose(found, (moved + shift) / scale, rtol=1e-6)
    without = run(fake_convert_13, x, scale, None, destination_type=kind)[0]
    np.testing.assert_allclose(without, (x * scale).astype(KINDS[kind]).astype(np.float32) / scale, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_agrees_with_the_core(kind: str, dtype: type) -> None:
    x = np.array([0, 0.1, 1.1, 17, 240, 448, 500, 1e4, 57344, -6e4, 0.02]).astype(dtype)
    scale, shift = np.array([0.5], dtype), np.array([0.25], dtype)
    moved = [] if dtype is ml_dtypes.bfloat16 else [(x, scale, shift)]  # the core rounds bf16 after every step
    for inputs in ((x, np.ones(1, dtype)), *moved):
        found = run(fake_convert_13, *inputs, destination_type=kind)[0].astype(np.float32)
        expected = openvino(fake_convert_13, *inputs, constants=True, destination_type=kind)[0].astype(np.float32)
        np.testing.assert_allclose(found, expected, rtol=2e-2 if dtype is ml_dtypes.bfloat16 else 1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("kind", "greatest"), [("f8e4m3", 448), ("f8e5m2", 57344)])
def test_what_lies_beyond_becomes_the_greatest_number(kind: str, greatest: float) -> None:
    x = np.array([1e6, -1e6, np.inf, -np.inf, np.nan], np.float32)
    with np.errstate(all="warn"):
        found = run(fake_convert_13, x, np.ones((), np.float32), destination_type=kind)[0]
    np.testing.assert_array_equal(found, [greatest, -greatest, greatest, -greatest, np.nan])


def test_denormals_are_rounded_to_nearest() -> None:
    # OpenVINO's core truncates: 0.0029 becomes 2**-9, although it is halfway to the even number 2**-8.
    x = np.array([2.0**-9 * 1.5, 2.0**-10, 2.0**-10 * 1.01], np.float32)
    found = run(fake_convert_13, x, np.ones((), np.float32), destination_type="f8e4m3")[0]
    np.testing.assert_array_equal(found, [2.0**-8, 0, 2.0**-9])


@pytest.mark.parametrize(("constraint", "ports"), [("C1", (1,)), ("C2", (2,))])
def test_c1_c2_scale_and_shift_broadcast_into_data(constraint: str, ports: tuple[int, ...]) -> None:
    for shape in ("5", "1,2,3"):
        types = [tensor(F32, "2,3"), tensor(F32, "1"), tensor(F32, "1")]
        for port in ports:
            types[port] = tensor(F32, shape)
        found = [b.constraint for b in infer(fake_convert_13, types, destination_type="f8e4m3")[1]]
        assert found == [constraint, "C3"]
        arrays = [np.ones([int(d) for d in t.shape.to_shape()], np.float32) for t in types]
        with pytest.raises(ConstraintError):
            fake_convert_13(*arrays, destination_type="f8e4m3")


def test_c3_shift_has_the_shape_of_scale() -> None:
    types = [tensor(F32, "2,3"), tensor(F32, "2,1"), tensor(F32, "1,3")]
    assert [b.constraint for b in infer(fake_convert_13, types, destination_type="f8e5m2")[1]] == ["C3"]


def test_destination_type_is_one_of_two() -> None:
    assert fake_convert_13.parse_attributes({"destination_type": "f16"})[1][0].code == "D005"
    assert fake_convert_13.parse_attributes({})[1][0].code == "D002"


def test_between_two_numbers_the_rounding_is_undefined() -> None:
    """0.96875 is halfway between 0.9375 and 1; a neighbouring number may first be rounded to f16."""
    data = np.array([0.96875, 0.96876, 0.95, 1.0, np.inf], np.float32)
    found = fake_convert_13.oracle.undefined(data, np.ones((), np.float32), None, destination_type="f8e4m3")
    assert isinstance(found, tuple) and found[0].tolist() == [True, True, False, False, False]
