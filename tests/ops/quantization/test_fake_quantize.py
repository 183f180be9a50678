"""FakeQuantize: the page's expression, OpenVINO, broadcasting, blocks, limits in reverse order."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.diagnostics import IRError
from irexec.core.types import F32, F64, I32
from irexec.ops.compute.elementwise import BLOCK
from irexec.ops.quantization.fake_quantize import fake_quantize_1
from irexec.ops.spec.operator import ConstraintError


def by_the_page(x: np.ndarray, limits: list[np.ndarray], levels: int) -> np.ndarray:
    """Return the result of the page's expression, element by element, in f64."""
    low, high, output_low, output_high = (np.broadcast_to(a, x.shape).astype(np.float64) for a in limits)
    result = np.empty(x.shape)
    for i in np.ndindex(x.shape):
        if x[i] <= min(low[i], high[i]):
            result[i] = output_low[i]
        elif x[i] > max(low[i], high[i]):
            result[i] = output_high[i]
        else:
            level = round((float(x[i]) - low[i]) / (high[i] - low[i]) * (levels - 1))
            result[i] = level / (levels - 1) * (output_high[i] - output_low[i]) + output_low[i]
    return result


def limits(*shapes: tuple[int, ...], seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    low, high = -rng.uniform(1, 2, shapes[0]), rng.uniform(1, 2, shapes[1])
    return [a.astype(np.float32) for a in (low, high, low * 3, high[...] * 5 if shapes[0] != shapes[1] else high * 5)]


SHAPES = [((), ()), ((1,), (1,)), ((3, 1), (3, 1)), ((2, 3, 4), (1,)), ((4,), (2, 1, 1)), ((1, 3, 1), ())]


@pytest.mark.parametrize(("low", "high"), SHAPES)
@pytest.mark.parametrize("levels", [2, 5, 256])
def test_the_page_s_expression(low: tuple[int, ...], high: tuple[int, ...], levels: int) -> None:
    x = np.random.default_rng(levels).uniform(-3, 3, (2, 3, 4)).astype(np.float32)
    bounds = limits(low, high)
    found = run(fake_quantize_1, x, *bounds, levels=levels)[0]
    np.testing.assert_allclose(found, by_the_page(x, bounds, levels), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(), (1, 3, 1, 1)])
def test_agrees_with_openvino(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(-3, 3, (2, 3, 4, 5)).astype(np.float32)
    bounds = limits(shape, shape)
    expected = openvino(fake_quantize_1, x, *bounds, levels=16)[0]
    np.testing.assert_allclose(run(fake_quantize_1, x, *bounds, levels=16)[0], expected, rtol=1e-5, atol=1e-5)


def test_halves_go_to_the_even_level() -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, 3.5, 4.5], np.float32)
    bounds = [np.array(v, np.float32) for v in (0, 4, 0, 4)]
    np.testing.assert_array_equal(run(fake_quantize_1, x, *bounds, levels=5)[0], [0, 2, 2, 0, 4, 4])


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.5), (1, -1)])
def test_limits_that_are_equal_or_the_wrong_way_round(low: float, high: float) -> None:
    x = np.linspace(-2, 2, 41).astype(np.float32)
    bounds = [np.array([v], np.float32) for v in (low, high, -3, 7)]
    found = run(fake_quantize_1, x, *bounds, levels=4)[0]
    np.testing.assert_allclose(found, by_the_page(x, bounds, 4), rtol=1e-6)
    mixed = [np.array([low, -1], np.float32), np.array([high, 1], np.float32), bounds[2], bounds[3]]
    pairs = np.stack([x, x], 1)
    np.testing.assert_allclose(
        run(fake_quantize_1, pairs, *mixed, levels=4)[0], by_the_page(pairs, mixed, 4), rtol=1e-5
    )


@pytest.mark.parametrize("shape", [(1, 3, 1, 1), (1, 1, 1, 7), (2, 1, 1, 1), (1,)])
def test_large_tensors_in_blocks(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).uniform(-3, 3, (2, 3, BLOCK // 7 + 5, 7)).astype(np.float32)
    bounds = limits(shape, shape)
    low, high, output_low, output_high = bounds
    level = np.clip(np.rint((x - low) / (high - low) * np.float32(254)), 0, 254)
    expected = level * ((output_high - output_low) / 254) + output_low
    found = run(fake_quantize_1, x, *bounds, levels=255)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    strided = np.empty(x.shape[::-1], np.float32).T
    np.testing.assert_array_equal(fake_quantize_1(x, *bounds, levels=255, out=strided), found)
    assert fake_quantize_1(x, *bounds, levels=255, out=x) is x
    np.testing.assert_array_equal(x, found)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_round_once(dtype: type) -> None:
    x = np.random.default_rng(0).uniform(-3, 3, (3, 500)).astype(dtype)
    bounds = [a.astype(dtype) for a in limits((3, 1), (3, 1))]
    wide = fake_quantize_1(x.astype(np.float32), *(a.astype(np.float32) for a in bounds), levels=256).astype(dtype)
    found = run(fake_quantize_1, x, *bounds, levels=256)[0]
    np.testing.assert_array_equal(found.astype(np.float32), wide.astype(np.float32))


@pytest.mark.filterwarnings("error")
def test_specials_and_nothing() -> None:
    x = np.array([np.inf, -np.inf, 1e38, np.nan], np.float32)
    bounds = [np.array(v, np.float32) for v in (-1, 1, -2, 2)]
    with np.errstate(all="warn"):
        np.testing.assert_array_equal(run(fake_quantize_1, x, *bounds, levels=3)[0], [2, -2, 2, np.nan])
        assert run(fake_quantize_1, np.zeros((2, 0), np.float32), *bounds, levels=3)[0].shape == (2, 0)


def test_pdpd() -> None:
    x = np.random.default_rng(0).uniform(-3, 3, (2, 3, 4)).astype(np.float32)
    bounds = limits((2, 3), (2, 3))
    found = run(fake_quantize_1, x, *bounds, levels=9, auto_broadcast="pdpd")[0]
    np.testing.assert_allclose(found, by_the_page(x, [a[:, :, None] for a in bounds], 9), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "mode"), list(itertools.product(["5", "2,3,4,1", "1,1,2,3,4"], ["numpy", "pdpd", "none"]))
)
def test_c1_limits_broadcast_into_x(shape: str, mode: str) -> None:
    good = tensor(F32, "")
    types = [tensor(F32, "2,3,4"), good, tensor(F32, shape), good, good]
    _, breaches = infer(fake_quantize_1, types, levels=4, auto_broadcast=mode)
    if (shape, mode) == ("2,3,4,1", "pdpd"):
        assert not breaches  # trailing ones of b are not counted
        return
    assert [(b.constraint, b.port) for b in breaches] == [("C1", "input_high")]
    arrays = [np.ones([int(d) for d in s.split(",") if d], np.float32) for s in ("2,3,4", "", shape, "", "")]
    with pytest.raises(ConstraintError):
        fake_quantize_1(*arrays, levels=4, auto_broadcast=mode)


def test_c1_limits_of_a_higher_rank_are_refused() -> None:
    """The page requires limits that broadcast to the shape of x. OpenVINO infers this shape, but some of its layers
    return the higher rank.
    """
    x, limit = np.float32([[0.2, 1, 2], [3, 4, 5]]), np.zeros((1, 1, 1, 1), np.float32)
    with pytest.raises(IRError, match=r"input_low \[1,1,1,1\] does not broadcast into x"):
        irexec.opset13.fake_quantize(x, limit, limit + 4, limit, limit + 4, 5)
    runtime = pytest.importorskip("openvino")
    port = runtime.opset13.parameter([2, 3], np.float32)
    per_column = np.float32([[[[0, 1, 2]]]])
    node = runtime.opset13.fake_quantize(port, limit, limit + 4, per_column, limit + 4, 2)
    assert list(node.shape) == [2, 3]
    model = runtime.Model([runtime.opset13.add(node, np.float32(1))], [port], "m")
    assert runtime.compile_model(model, "CPU")(x)[0].shape == (1, 1, 2, 3)


def test_levels_are_two_or_more() -> None:
    _, problems = fake_quantize_1.parse_attributes({"levels": "1"})
    assert len(problems) == 1
    _, problems = fake_quantize_1.parse_attributes({})
    assert [(p.code, p.defined) for p in problems] == [("D002", False)]  # OpenVINO then uses 0 levels.


def test_types() -> None:
    assert [b.code for b in infer(fake_quantize_1, [tensor(I32, "2")] + [tensor(F32, "")] * 4, levels=2)[1]] == ["O002"]
    assert infer(fake_quantize_1, [tensor(F64, "2")] + [tensor(F32, "")] * 4, levels=2)[1][0].code == "O003"
    [found], _ = infer(fake_quantize_1, [tensor(F32, "?,3")] + [tensor(F32, "")] * 4, levels=2)
    assert str(found.shape) == "[?,3]"
