"""Interpolate: compared with OpenVINO for modes and attributes, with the page, and edge cases."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

import irexec
from irexec.core.types import F32, I64
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator

COORDINATES = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
ROUNDINGS = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]
SIZES = [(7, 3), (2, 9), (1, 1), (8, 10)]


def op_of(opset: int) -> Operator:
    op = find("Interpolate", f"opset{opset}")
    assert op is not None
    return op


def image(seed: int = 0, shape: tuple[int, ...] = (1, 2, 4, 5), dtype: Any = np.float32) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def ints(*values: int) -> Any:
    return np.array(values, np.int64)


@pytest.mark.parametrize(("coordinates", "rounding"), list(itertools.product(COORDINATES, ROUNDINGS)))
def test_nearest_agrees_with_openvino(coordinates: str, rounding: str) -> None:
    for size in SIZES:
        arrays = (image(), ints(*size), ints(2, 3))
        attributes = {"mode": "nearest", "shape_calculation_mode": "sizes", "nearest_mode": rounding}
        attributes["coordinate_transformation_mode"] = coordinates
        (ours,), (theirs,) = run(op_of(11), *arrays, **attributes), openvino(op_of(11), *arrays, **attributes)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("mode", ["linear", "linear_onnx", "cubic"])
@pytest.mark.parametrize("coordinates", COORDINATES)
def test_weighted_modes_agree_with_openvino(mode: str, coordinates: str) -> None:
    for size in SIZES:
        arrays = (image(), ints(*size), ints(2, 3))
        attributes = {"mode": mode, "shape_calculation_mode": "sizes", "coordinate_transformation_mode": coordinates}
        (ours,), (theirs,) = run(op_of(11), *arrays, **attributes), openvino(op_of(11), *arrays, **attributes)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["bilinear_pillow", "bicubic_pillow"])
@pytest.mark.parametrize("coefficient", [-0.5, -0.75])
@pytest.mark.parametrize("dtype", [np.float32, np.uint8, np.int8])
def test_pillow_modes_agree_with_openvino(mode: str, coefficient: float, dtype: Any) -> None:
    for size in [*SIZES, (4, 9), (2, 5)]:
        data = (image() * 50 + (0 if dtype != np.uint8 else 128)).astype(dtype)
        arrays = (data, ints(*size), ints(2, 3))
        attributes = {"mode": mode, "shape_calculation_mode": "sizes", "cube_coeff": coefficient}
        theirs = openvino(op_of(11), *arrays, constants=True, **attributes)
        np.testing.assert_allclose(run(op_of(11), *arrays, **attributes)[0], theirs[0], rtol=1e-4, atol=1e-4)


def test_linear_with_antialias_agrees_with_openvinos_core() -> None:
    # The CPU plugin deviates from the page here.
    for size in [(2, 3), (3, 9), (1, 2)]:
        arrays = (image(), ints(*size), ints(2, 3))
        attributes = {"mode": "linear", "shape_calculation_mode": "sizes", "antialias": True}
        theirs = openvino(op_of(11), *arrays, constants=True, **attributes)
        np.testing.assert_allclose(run(op_of(11), *arrays, **attributes)[0], theirs[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scales", [(1.5, 2.0), (0.7, 0.6), (2.2, 0.45)])
@pytest.mark.parametrize("mode", ["nearest", "linear", "linear_onnx", "cubic"])
def test_scales_and_pads_of_opset_4(scales: tuple[float, float], mode: str) -> None:
    arrays = (image(shape=(1, 2, 9, 8)), ints(0, 0), np.array(scales, np.float32), ints(2, 3))
    attributes = {"mode": mode, "shape_calculation_mode": "scales"}
    attributes |= {"pads_begin": [0, 0, 1, 0], "pads_end": [0, 0, 0, 2]}
    (ours,), (theirs,) = run(op_of(4), *arrays, **attributes), openvino(op_of(4), *arrays, **attributes)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("align", [False, True])
def test_opset_1_agrees_with_openvino(mode: str, align: bool) -> None:
    for shape, axes in [((1, 2, 4, 5), [2, 3]), ((2, 4, 5), [1, 2]), ((1, 1, 2, 3, 4), [2, 3, 4])]:
        sizes = ints(*(s + 2 for s in range(len(axes))))
        attributes: dict[str, Any] = {"mode": mode, "axes": axes, "align_corners": align}
        ours = run(op_of(1), image(shape=shape), sizes, **attributes)[0]
        theirs = openvino(op_of(1), image(shape=shape), sizes, **attributes)[0]
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def page_linear(data: Any, sizes: Any, antialias: bool) -> Any:
    """Return the result of the page's loop for `linear` with half_pixel, over all axes."""
    scales = [t / s for t, s in zip(sizes, data.shape, strict=True)]
    a = [s if antialias and min(scales) < 1 else 1.0 for s in scales]
    reach = [2 if s > 1 else int(np.ceil(2 / x)) for s, x in zip(scales, a, strict=True)]
    result = np.zeros(sizes)
    for at in np.ndindex(*sizes):
        centre = [(c + 0.5) / s - 0.5 for c, s in zip(at, scales, strict=True)]
        total = weights = 0.0
        for index in itertools.product(*(range(-r, r + 1) for r in reach)):
            inner = [round(c) + i for c, i in zip(centre, index, strict=True)]
            if all(0 <= i < n for i, n in zip(inner, data.shape, strict=True)):
                w = np.prod(a) * np.prod(
                    [max(0, 1 - abs(x * (c - i))) for x, c, i in zip(a, centre, inner, strict=True)]
                )
                weights, total = weights + w, total + w * data[tuple(inner)]
        result[at] = total / weights if weights else 0
    return result


@pytest.mark.parametrize("antialias", [False, True])
def test_linear_follows_the_page(antialias: bool) -> None:
    for shape, sizes in [((5, 7), (3, 9)), ((4, 3, 2), (2, 2, 5)), ((9,), (2,))]:
        data = image(shape=shape, dtype=np.float64)
        attributes = {"mode": "linear", "shape_calculation_mode": "sizes", "antialias": antialias}
        ours = run(op_of(11), data, ints(*sizes), **attributes)[0]
        np.testing.assert_allclose(ours, page_linear(data, sizes, antialias), rtol=1e-12)


def test_axes_in_any_order() -> None:
    data = image(shape=(3, 4, 5, 6))
    attributes = {"mode": "cubic", "shape_calculation_mode": "sizes"}
    one = run(op_of(11), data, ints(7, 2), ints(3, 1), **attributes)[0]
    other = run(op_of(11), data, ints(2, 7), ints(1, 3), **attributes)[0]
    np.testing.assert_array_equal(one, other)
    assert one.shape == (3, 2, 5, 7)


def test_tf_half_pixel_shifts_an_axis_whose_extent_stays() -> None:
    # As the page's formula specifies; OpenVINO does not change such an axis.
    data = np.arange(4, dtype=np.float32)
    attributes = {"mode": "linear_onnx", "shape_calculation_mode": "sizes"}
    ours = run(op_of(11), data, ints(4), **attributes, coordinate_transformation_mode="tf_half_pixel_for_nn")[0]
    np.testing.assert_array_equal(ours, [0.5, 1.5, 2.5, 3])


@pytest.mark.parametrize("mode", ["linear", "linear_onnx", "cubic"])
def test_integers_are_rounded_half_to_even(mode: str) -> None:
    data = np.array([0, 1, 2, 3, 250], np.uint8)
    attributes = {"mode": mode, "shape_calculation_mode": "sizes"}
    exact = run(op_of(11), data.astype(np.float64), ints(11), **attributes)[0]
    ours = run(op_of(11), data, ints(11), **attributes)[0]
    np.testing.assert_array_equal(ours, np.clip(np.rint(exact), 0, 255).astype(np.uint8))
    big = np.array([-(2**63), 2**63 - 1], np.int64)
    assert run(op_of(11), big, ints(2), **attributes)[0][1] == 2**63 - 1


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    data = image().astype(dtype)
    for mode in ("linear", "cubic", "bicubic_pillow"):
        attributes = {"mode": mode, "shape_calculation_mode": "sizes"}
        ours = run(op_of(11), data, ints(7, 3), ints(2, 3), **attributes)[0]
        wide = run(op_of(11), data.astype(np.float32), ints(7, 3), ints(2, 3), **attributes)[0]
        assert ours.dtype == dtype
        np.testing.assert_array_equal(ours.astype(np.float32), wide.astype(dtype).astype(np.float32))


def test_area_is_the_mean_of_what_is_covered() -> None:
    data = image(shape=(1, 1, 6, 4))
    ours = run(op_of(1), data, ints(3, 2), axes=[2, 3], mode="area")[0]
    np.testing.assert_allclose(ours, data.reshape(1, 1, 3, 2, 2, 2).mean((3, 5)), rtol=1e-5)
    part = run(op_of(1), np.array([1.0, 2, 4]), ints(2), axes=[0], mode="area")[0]
    np.testing.assert_allclose(part, [(1 + 2 * 0.5) / 1.5, (2 * 0.5 + 4) / 1.5])


def test_opset_1_pads_the_axes_only() -> None:
    # The page specifies a scalar for all spatial dimensions; OpenVINO pads the first dimension.
    data = image(shape=(1, 1, 2, 2))
    attributes = {"axes": [2, 3], "mode": "nearest", "align_corners": False}
    ours = run(op_of(1), data, ints(4, 4), **attributes, pads_begin=[1], pads_end=[1])[0]
    np.testing.assert_array_equal(ours, np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1))))


def test_fast_enlargement_by_integers_gives_the_results_of_the_gather() -> None:
    data = image(shape=(2, 3, 4, 5))
    attributes = {"mode": "nearest", "shape_calculation_mode": "scales", "coordinate_transformation_mode": "asymmetric"}
    ours = run(op_of(11), data, np.array([2, 3], np.float32), ints(2, 3), **attributes, nearest_mode="floor")[0]
    np.testing.assert_array_equal(ours, data.repeat(2, 2).repeat(3, 3))


def test_the_result_is_not_a_view_of_the_input() -> None:
    data = image()
    for mode in ("nearest", "linear", "bilinear_pillow"):
        result = op_of(11)(data, ints(4, 5), ints(2, 3), mode=mode, shape_calculation_mode="sizes")
        assert not np.shares_memory(result, data)
        np.testing.assert_array_equal(result, data)


def breaches(shape: str, given: Any, axes: Any, **attributes: Any) -> set[str | None]:
    given = np.asarray(given)
    kind = F32 if given.dtype.kind == "f" else I64
    types = [tensor(F32, shape), tensor(kind, ",".join(map(str, given.shape)), given)]
    types.append(tensor(I64, ",".join(map(str, np.shape(axes))), axes))
    attributes = {"mode": "nearest", "shape_calculation_mode": "sizes"} | attributes
    return {b.constraint for b in infer(op_of(11), types, **attributes)[1]}


def test_c1_lists_are_1d() -> None:
    assert "C1" in breaches("2,3", [[4, 5]], [0, 1])
    assert "C1" in breaches("2,3", [4], 0)


def test_c2_axes_are_distinct_and_inside() -> None:
    assert breaches("2,3", [4, 5], [0, 2]) == {"C2"}
    assert breaches("2,3", [4, 5], [1, 1]) == {"C2"}
    assert breaches("2,3", [4, 5], [0, -1]) == {"C2"}
    with pytest.raises(ConstraintError):
        op_of(11)(image(), ints(1), ints(4), mode="nearest", shape_calculation_mode="sizes")


def test_c3_one_size_per_axis() -> None:
    assert breaches("2,3", [4], [0, 1]) == {"C3"}
    with pytest.raises(ConstraintError):
        op_of(11)(image(), ints(1), mode="nearest", shape_calculation_mode="sizes")


def test_c4_not_negative() -> None:
    assert breaches("2,3", [4, -1], [0, 1]) == {"C4"}
    assert breaches("2,3", [4.0, -1.0], [0, 1], shape_calculation_mode="scales") == {"C4"}
    with pytest.raises(ConstraintError):
        op_of(11)(image(), ints(-1), ints(1), mode="nearest", shape_calculation_mode="sizes")


def test_c5_type_of_sizes() -> None:
    assert breaches("2,3", [4.0, 1.0], [0, 1]) == {"C5"}
    assert breaches("2,3", [4, 1], [0, 1], shape_calculation_mode="scales") == {"C5"}


def test_c6_pillow_takes_two_axes() -> None:
    assert breaches("2,3", [4], [0], mode="bilinear_pillow") == {"C6"}


def test_c5_of_opset_1_pads_for_other_axes() -> None:
    with pytest.raises(ConstraintError):
        op_of(1)(image(), ints(4), axes=(3,), mode="nearest", pads_begin=(0, 1, 0, 0))


def test_c7_nothing_to_interpolate() -> None:
    assert breaches("0,3", [4], [0]) == {"C7"}
    with pytest.raises(ConstraintError):
        op_of(11)(image(shape=(0,)), ints(1), mode="linear", shape_calculation_mode="sizes")
    assert (
        run(op_of(11), image(shape=(3, 2)), ints(0), ints(0), mode="cubic", shape_calculation_mode="sizes")[0].size == 0
    )


def test_partial_shapes() -> None:
    attributes: dict[str, Any] = {"mode": "nearest", "shape_calculation_mode": "scales", "pads_end": [0, 2]}
    types = [tensor(F32, "?,3,1..4"), tensor(F32, "1", [1.5]), tensor(I64, "1", [2])]
    assert str(infer(op_of(11), types, **attributes)[0][0].shape) == "[?,5,1..6]"
    types[1] = tensor(F32, "1")
    assert str(infer(op_of(11), types, **attributes)[0][0].shape) == "[?,5,?]"
    types[2] = tensor(I64, "?")
    assert str(infer(op_of(11), types, **attributes)[0][0].shape) == "[?,?,?]"


@pytest.mark.parametrize("mode", ["bilinear_pillow", "bicubic_pillow", "linear", "nearest"])
def test_an_axis_may_become_empty(mode: str) -> None:
    result = run(op_of(11), image(shape=(3, 2)), ints(0, 4), ints(0, 1), mode=mode, shape_calculation_mode="sizes")[0]
    assert result.shape == (0, 4)


@pytest.mark.parametrize("mode", ["nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"])
@pytest.mark.parametrize("extent", [(3, 50), (50, 50), (50, 20), (25, 50)])
def test_a_long_axis_is_resampled_in_parts(mode: Any, extent: tuple[int, int], monkeypatch) -> None:
    x = image(shape=(1, 1, extent[0], 4))
    attributes = {"mode": mode, "shape_calculation_mode": "sizes", "antialias": mode == "linear"}
    arguments = (x, np.array([extent[1], 5]), np.array([2, 3]))
    whole = irexec.opset11.interpolate(*arguments, **attributes)
    monkeypatch.setattr("irexec.ops.image.resampling.BLOCK", 7)
    np.testing.assert_allclose(irexec.opset11.interpolate(*arguments, **attributes), whole, rtol=1e-6, atol=1e-6)


def test_as_many_pads_as_axes_are_theirs() -> None:
    x = image()
    attributes = {"axes": (2, 3), "mode": "nearest", "align_corners": False}
    target = np.array([12, 14])
    by_axis = irexec.opset1.interpolate(x, target, {**attributes, "pads_begin": (2, 1), "pads_end": (0, 1)})
    in_full = irexec.opset1.interpolate(x, target, {**attributes, "pads_begin": (0, 0, 2, 1), "pads_end": (0, 0, 0, 1)})
    np.testing.assert_array_equal(by_axis, in_full)


PADDED_MODES = ["nearest", "linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"]


@pytest.mark.parametrize("mode", PADDED_MODES)
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("axes", [(2, 3), (1, 3), (3, 0)])
def test_pads_are_zeros_around_the_image(mode: str, antialias: bool, axes: tuple[int, int]) -> None:
    interpolate: Any = irexec.opset11.interpolate
    rng = np.random.default_rng(3)
    for dtype in (np.float32, np.uint8):
        image = rng.integers(1, 200, (2, 1, 4, 5)).astype(dtype)
        begin, end = rng.integers(0, 4, (2, 4)).tolist()
        around = np.pad(image, list(zip(begin, end, strict=True)))
        for sizes in ([3, 9], [around.shape[axes[0]], 7], [12, 2]):
            given = (np.int64(sizes), mode, "sizes")
            made = interpolate(image, *given, begin, end, antialias=antialias, axes=np.int64(axes))
            same = interpolate(around, *given, [0] * 4, [0] * 4, antialias=antialias, axes=np.int64(axes))
            np.testing.assert_array_equal(made, same)


def test_pads_take_memory_for_what_is_read_of_them_alone() -> None:
    image = np.ones((1, 1, 8, 8), np.float32)
    call: Any = irexec.opset11.interpolate
    made = call(image, np.int64([4]), "linear", "sizes", [0, 0, 1 << 30, 0], [0] * 4, axes=np.int64([2]))
    assert made.shape == (1, 1, 4, 8) and not made.any()
