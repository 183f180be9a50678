"""GridSample: compared with OpenVINO for modes, paddings and types, and edge cases."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

MODES = ["bilinear", "bicubic", "nearest"]
PADDINGS = ["zeros", "border", "reflection"]


def op() -> Operator:
    found = find("GridSample", "opset9")
    assert found is not None
    return found


def arrays(seed: int = 0, shape: tuple[int, ...] = (2, 3, 4, 5)) -> list[Any]:
    rng = np.random.default_rng(seed)
    grid = rng.uniform(-2.5, 2.5, (shape[0], 6, 7, 2))
    return [rng.normal(size=shape).astype(np.float32), grid.astype(np.float32)]


@pytest.mark.parametrize(("mode", "padding", "align"), list(itertools.product(MODES, PADDINGS, [False, True])))
def test_agrees_with_openvinos_core(mode: str, padding: str, align: bool) -> None:
    attributes = {"mode": mode, "padding_mode": padding, "align_corners": align}
    for shape in [(2, 3, 4, 5), (1, 1, 1, 1), (1, 2, 1, 6)]:
        inputs = arrays(1, shape)
        theirs = openvino(op(), *inputs, constants=True, **attributes)[0]
        np.testing.assert_allclose(run(op(), *inputs, **attributes)[0], theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("align", [False, True])
def test_the_corners_of_the_grid(align: bool) -> None:
    data = np.arange(6.0, dtype=np.float32).reshape(1, 1, 2, 3)
    grid = np.array([[[[-1, -1], [1, 1], [0, 0]]]], np.float32)
    ours = run(op(), data, grid, align_corners=align)[0].ravel()
    # On the page -1 and 1 are the centres of the outer pixels, or their outer borders.
    np.testing.assert_allclose(ours, [0, 5, 2.5] if align else [0, 5 / 4, 2.5])


def test_integers_are_rounded() -> None:
    data = np.array([[[[0, 1, 3]]]], np.int32)
    grid = np.array([[[[-0.5, 0], [0.5, 0], [0.4, 0]]]], np.float32)
    ours = run(op(), data, grid, align_corners=True)[0]
    assert ours.dtype == np.int32 and ours.ravel().tolist() == [0, 2, 2]
    assert run(op(), data.astype(np.bool_), grid)[0].dtype == np.bool_
    big = np.full((1, 1, 2, 2), 255, np.uint8)
    assert (run(op(), big, arrays(shape=(1, 1, 2, 2))[1], mode="bicubic", padding_mode="border")[0] == 255).all()


def test_f16_is_rounded_once() -> None:
    data, grid = arrays()
    ours = run(op(), data.astype(np.float16), grid)[0]
    wide = run(op(), data.astype(np.float16).astype(np.float32), grid)[0]
    np.testing.assert_array_equal(ours, wide.astype(np.float16))


@pytest.mark.parametrize(("mode", "padding"), list(itertools.product(MODES, PADDINGS)))
def test_positions_that_are_not_finite_do_not_fail(mode: str, padding: str) -> None:
    data, _ = arrays()
    grid = np.array([np.nan, np.inf, -np.inf, 1e30], np.float32).reshape(1, 2, 1, 2).repeat(2, 0)
    assert run(op(), data, grid, mode=mode, padding_mode=padding)[0].shape == (2, 3, 2, 1)


def test_c1_to_c3() -> None:
    def found(data: str, grid: str) -> set[str | None]:
        return {b.constraint for b in infer(op(), [tensor(F32, data), tensor(F32, grid)])[1]}

    assert found("2,3,4,5", "2,6,7,2") == set()
    assert found("3,4,5", "2,6,7,2") == {"C1"}
    assert found("2,3,4,5", "2,6,7,3") == {"C2"}
    assert found("2,3,4,5", "1,6,7,2") == {"C2"}
    assert found("2,3,0,5", "2,6,7,2") == {"C3"}
    with pytest.raises(ConstraintError):
        op()(np.zeros((1, 1, 0, 1), np.float32), np.zeros((1, 1, 1, 2), np.float32))
    assert run(op(), np.zeros((1, 1, 0, 1), np.float32), np.zeros((1, 0, 1, 2), np.float32))[0].size == 0


def test_partial_shapes() -> None:
    types = [tensor(F32, "?,3,?,5"), tensor(F32, "2,1..4,?,2")]
    assert str(infer(op(), types)[0][0]) == "f32[2,3,1..4,?]"
