"""Range-1 and -4."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64

range_1, range_4, eye = the("Range", 1), the("Range", 4), the("Eye", 9)

TYPES = ["f32", "f16", "bf16", "f64", "i8", "u8", "i16", "i32", "u32", "i64", "u64"]


def of(kind: str, value: float) -> np.ndarray:
    return np.array(value).astype(TYPE[kind])


TYPE = {kind: infer(eye, [tensor(I64, "")] * 3, output_type=kind)[0][0].element_type.dtype for kind in TYPES}


@pytest.mark.parametrize(
    ("start", "stop", "step", "kind", "expected"),
    [
        (2, 23, 3, "i32", [2, 5, 8, 11, 14, 17, 20]),
        (23, 2, -3, "i32", [23, 20, 17, 14, 11, 8, 5]),
        (1, 2.5, 0.5, "f32", [1, 1.5, 2]),
        (0.5, 3.7, 1.5, "i64", [0, 1, 2]),
        (-1.9, 2, 1, "i32", [-1, 0, 1]),
        (5, 1, 1, "i32", []),
    ],
)
def test_range_page_examples(start: float, stop: float, step: float, kind: str, expected: list) -> None:
    arrays = [np.array(v, np.float32) for v in (start, stop, step)]
    (result,) = run(range_4, *arrays, output_type=kind)
    assert (result.tolist(), result.dtype) == (expected, TYPE[kind])


@pytest.mark.parametrize("kind", ["boolean", "string"])
def test_c3_range_of_numbers_only(kind: str) -> None:
    assert "C3" in broken(range_4, scalar(0), scalar(3), scalar(1), output_type=kind)


@pytest.mark.parametrize("kind", TYPES)
def test_range_of_every_type(kind: str) -> None:
    (result,) = run(range_1, of(kind, 1), of(kind, 9), of(kind, 2))
    assert [float(v) for v in result] == [1, 3, 5, 7]
    (result,) = run(range_4, scalar(1), scalar(9), scalar(2), output_type=kind)
    assert [float(v) for v in result] == [1, 3, 5, 7]
    if not kind.startswith("u"):
        assert [float(v) for v in run(range_1, of(kind, 3), of(kind, -2), of(kind, -2))[0]] == [3, 1, -1]


def test_range_agrees_with_openvino() -> None:
    rng = np.random.default_rng(0)
    for kind in ("f32", "i32", "i64"):
        for _ in range(amount(4, 2)):
            step = rng.integers(1, 4) * (1 if rng.integers(2) else -1)
            start = rng.integers(-9, 10)
            arrays = [of(kind, v) for v in (start, start + step * rng.integers(0, 5) + rng.integers(0, 2), step)]
            np.testing.assert_array_equal(run(range_1, *arrays)[0], openvino(range_1, *arrays, fixed=[0, 1, 2])[0])
            ours = run(range_4, *arrays, output_type="f32")[0]
            np.testing.assert_array_equal(ours, openvino(range_4, *arrays, fixed=[0, 1, 2], output_type="f32")[0])


def test_range_of_64_bit_integers_is_exact() -> None:
    big = 2**63
    (result,) = run(range_1, *(np.array(v, np.uint64) for v in (big, big + 6, 3)))
    assert result.tolist() == [big, big + 3]
    assert run(range_1, scalar(2**53), scalar(2**53 + 3), scalar(1))[0].tolist() == [2**53, 2**53 + 1, 2**53 + 2]


def test_range_constraints() -> None:
    for op, attributes in ((range_1, {}), (range_4, {"output_type": "f32"})):
        assert "C1" in broken(op, ints(0), scalar(3), scalar(1), **attributes)
        refuses(op, "C2", scalar(0), scalar(3), scalar(0), **attributes)
    refuses(range_1, "C2", *(np.array(v) for v in (0.0, np.inf, 1.0)))
    refuses(range_4, "C2", *(np.array(v) for v in (0.0, 3.0, 0.5)), output_type="i32")


def test_range_shapes() -> None:
    (out,), _ = infer(range_1, [tensor(F32, "", 0), tensor(F32, "", 1), tensor(F32, "")])
    assert str(out) == "f32[?]"
    (out,), _ = infer(range_1, [tensor(F32, "", 0), tensor(F32, "", 1), tensor(F32, "", 0.25)])
    assert str(out) == "f32[4]"


def test_integers_beyond_64_bits_wrap() -> None:
    far = np.float32(2.0**70)
    result = irexec.opset4.range(far, np.float32(2.0**70 + 2.0**48), np.float32(2.0**47), output_type="i64")
    assert result.tolist() == [0, 1 << 47]


@pytest.mark.parametrize("kind", ["f32", "f16", "f64"])
def test_a_whole_start_takes_a_step_with_a_fraction(kind: str) -> None:
    up = irexec.opset4.range(np.int64(0), np.int64(2), np.float32(0.5), output_type=kind)
    assert up.tolist() == [0, 0.5, 1, 1.5]
    down = irexec.opset4.range(np.int32(1), np.float32(0), np.float32(-0.25), output_type=kind)
    assert down.tolist() == [1, 0.75, 0.5, 0.25]


def test_parts_of_a_long_range_follow_each_other() -> None:
    found = irexec.opset4.range(np.int64(-5), np.int64(5 << 19), np.int64(1), output_type="i32")
    np.testing.assert_array_equal(found, np.arange(-5, 5 << 19))
    halves = irexec.opset4.range(np.float32(0), np.float32(1 << 20), np.float32(0.5), output_type="f64")
    np.testing.assert_array_equal(halves, np.arange(1 << 21) / 2)
