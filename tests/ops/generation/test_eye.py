"""Eye-9."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import broken, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import I64

range_1, range_4, eye = the("Range", 1), the("Range", 4), the("Eye", 9)


def test_eye_page_examples() -> None:
    (result,) = run(eye, scalar(3), scalar(4), scalar(2), output_type="i32")
    assert result.tolist() == [[0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    (result,) = run(eye, ints(3), ints(4), ints(-1), output_type="i32")
    assert result.tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]]
    (result,) = run(eye, scalar(2), scalar(2), scalar(5), ints(1, 2), output_type="f16")
    assert (result.shape, result.dtype, result.any()) == ((1, 2, 2, 2), np.dtype(np.float16), False)


@pytest.mark.parametrize("kind", ["f32", "i32", "i64", "u8", "i8", "f16", "bf16", "f64"])
def test_eye_agrees_with_openvino(kind: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        arrays = [scalar(v) for v in (*rng.integers(0, 5, 2), rng.integers(-6, 7))]
        batch = [rng.integers(1, 3, 2)] if rng.integers(2) else []
        (result,) = run(eye, *arrays, *batch, output_type=kind)
        expected = np.eye(*(int(a) for a in arrays[:2]), int(arrays[2].clip(-5, 5)))
        np.testing.assert_array_equal(result.astype(float), np.broadcast_to(expected, result.shape))
        if kind in ("f32", "i32"):
            theirs = openvino(eye, *arrays, *batch, fixed=[0, 1, 2, 3], output_type=kind)[0]
            np.testing.assert_array_equal(result, theirs)


def test_eye_constraints() -> None:
    three = scalar(3)
    assert "C1" in broken(eye, ints(1, 2), three, three, output_type="f32")
    refuses(eye, "C2", scalar(-1), three, three, output_type="f32")
    refuses(eye, "C2", three, three, three, ints(-1), output_type="f32")
    assert "C3" in broken(eye, three, three, three, three, output_type="f32")
    assert "C4" in broken(eye, three, three, three, output_type="string")
    (out,), _ = infer(eye, [tensor(I64, ""), tensor(I64, "", 4), tensor(I64, ""), tensor(I64, "2")], output_type="i8")
    assert str(out) == "i8[?,?,?,4]"
