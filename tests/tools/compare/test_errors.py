"""The permitted difference between two correct results, and the difference between two arrays."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.core.types import Array
from irexec.model.arrays import units
from irexec.ops.spec.operator import rounded
from irexec.tools.compare.errors import measure, off, off_typical, percent
from irexec.tools.compare.judge import judged, measured
from irexec.tools.compare.tolerances import tolerance_of

F = np.float32


@pytest.mark.parametrize("channels, size", [(3, 1), (64, 3), (512, 3)])
def test_the_tolerance_of_a_sum_grows_with_the_root_of_its_terms(channels: int, size: int) -> None:
    x = ops.parameter([-1, channels, 16, 16], F, name="x")
    weights = np.zeros((8, channels, size, size), F)
    node = ops.convolution(x, weights, [1, 1], [0, 0], [0, 0], [1, 1])
    assert tolerance_of(node).ulp == pytest.approx(8 * math.sqrt(channels * size * size))


@pytest.mark.by_hand(0)
def test_a_sum_in_another_order_is_within_its_tolerance() -> None:
    """4608 products in f32 added in order, compared with the sum in f64: the tolerance is some deviations, not the
    worst case.
    """
    rng = np.random.default_rng(0)
    a, b = rng.normal(0, 1, (2, 2000, 4608)).astype(F)
    exact = np.sum(a.astype(np.float64) * b, 1).astype(F)
    one_by_one = np.cumsum(a * b, 1, dtype=F)[:, -1]
    typical = float(np.sqrt(np.mean(exact.astype(np.float64) ** 2)))
    units = float(np.abs(exact.astype(np.float64) - one_by_one).max()) / float(np.spacing(F(typical)))
    assert 4 < units < 8 * math.sqrt(4608)


def resized(x: Any, width: int, mode: str, corners: str = "align_corners") -> Any:
    """Return `x` [1, 1, height, n] resized to `width` along the last axis."""
    return ops.interpolate(
        x, np.int64([width]), np.int64([3]), mode=mode, shape_calculation_mode="sizes",
        coordinate_transformation_mode=corners, pads_begin=[0], pads_end=[0],
    )  # fmt: skip


def test_the_tolerance_of_what_lies_between_grows_with_the_extent() -> None:
    x, open_x = ops.parameter([1, 1, 8, 500], F, name="x"), ops.parameter([1, 1, 8, -1], F, name="x")
    node, open_node = resized(x, 750, "linear_onnx"), resized(open_x, 750, "linear_onnx")
    assert tolerance_of(node).ulp == 8 * 500
    assert tolerance_of(resized(x, 750, "nearest")).ulp == 0
    known = {open_node.inputs[0]: np.zeros((1, 1, 8, 20), F), open_node.outputs[0]: np.zeros((1, 1, 8, 750), F)}
    assert tolerance_of(open_node, known).ulp == 8 * 20


@pytest.mark.parametrize("corners", ["align_corners", "half_pixel", "asymmetric"])
@pytest.mark.parametrize("n", [16, 300])
def test_places_in_f64_are_within_the_tolerance(corners: str, n: int) -> None:
    """White noise, in which neighbouring elements are independent."""
    x = np.random.default_rng(n).normal(0, 1, (1, 1, 8, n)).astype(F)
    for width in (int(0.37 * n), int(1.7 * n), int(3.3 * n)):
        target, wide = np.arange(width, dtype=np.float64), x.astype(np.float64)
        places = {
            "align_corners": target * (n - 1) / (width - 1),
            "half_pixel": (target + 0.5) * n / width - 0.5,
            "asymmetric": target * n / width,
        }[corners].clip(0, n - 1)
        low = places.astype(np.int64)
        weight, high = places - low, np.minimum(low + 1, n - 1)
        exact = wide[..., low] * (1 - weight) + wide[..., high] * weight
        units = np.abs(resized(x, width, "linear_onnx", corners) - exact).max() / np.spacing(F(1))
        assert units < 8 * n


def test_what_cancels_on_the_way_is_counted_in_units_of_what_cancels() -> None:
    """exp(x) - 1 as written, compared with expm1: near 0 its correct error is up to one unit of 1."""
    x = np.random.default_rng(0).normal(0, 1e-3, 1000).astype(F)
    elu = ops.elu(ops.parameter([1000], F, name="x"), 1.0)
    printed = np.where(x > 0, x, np.exp(x) - F(1)).astype(F)

    right = [ops.elu(x, 1.0)]
    error, agrees = measured(right, [printed], tolerance_of(elu))
    assert agrees and error.ulp <= 1
    assert not measured(right, [printed], rounded(8))[1]


def test_what_is_quantized_is_counted_in_units_of_the_limits() -> None:
    limits = [np.float32(value) for value in (-2, 2, -300, 500)]
    node = ops.fake_quantize(ops.parameter([4], F, name="x"), *limits, levels=256)
    assert tolerance_of(node).least == 500


def test_changes_of_two_inputs_that_cancel_are_also_tried_the_other_way() -> None:
    """The remainder of two numbers that grow together hardly changes; the formula a - b * q rounds b * q."""
    rng = np.random.default_rng(0)
    a, b = rng.uniform(100, 400, 500).astype(np.float32), rng.uniform(0.2, 0.4, 500).astype(np.float32)
    formula = a - b * np.trunc(a / b)
    keep = np.abs(formula - np.fmod(a, b)) < 0.1
    a, b, formula = a[keep], b[keep], formula[keep]
    ports = [ops.parameter([a.size], np.float32, name=name) for name in "ab"]
    model = irexec.Model([ops.mod(*ports)], ports, "remainder")
    assert judged(model, [[a, b]], [formula], rounded(4))[1]
    assert not judged(model, [[a, b]], [formula + np.float32(0.01)], rounded(4))[1]


def test_a_small_element_counts_in_units_of_a_typical_one() -> None:
    one, other = F([1e-9, 1, -1]), F([2e-9, 1, -1])
    assert measure(one, other).ulp < 0.1
    assert measure(one, other).relative < 1e-8


def naive(a: Array, b: Array) -> tuple[float, float, float]:
    """Return the largest error in units, relative and absolute, computed directly."""
    apart = np.abs(a.astype(np.float64) - b)
    units = apart / np.spacing(np.maximum(np.abs(a), typical(a)).astype(F)).astype(np.float64)
    return float(units.max()), float((apart / np.maximum(np.abs(a), typical(a))).max()), float(apart.max())


def typical(a: Array) -> Array:
    """Return the smaller of the root mean squares of a row and of a column."""
    squares = a.astype(np.float64) ** 2
    return np.minimum(np.sqrt(squares.mean(0, keepdims=True)), np.sqrt(squares.mean(1, keepdims=True)))


def test_measuring_in_blocks_is_measuring() -> None:
    rng = np.random.default_rng(0)
    a = rng.normal(0, 1, (700, 1000)).astype(F)
    b = (a * (1 + rng.normal(0, 1e-6, a.shape))).astype(F)
    found = measure(a, b)
    assert (found.ulp, found.relative, found.absolute) == pytest.approx(naive(a, b))
    assert found.at is not None
    units = np.abs(a.astype(np.float64) - b) / np.spacing(np.maximum(np.abs(a), typical(a)).astype(F))
    assert units[found.at] == units.max()


MASKED = float(np.finfo(F).min)


@pytest.mark.parametrize("masked", [MASKED, -65504.0, -1e9, -np.inf])
@pytest.mark.parametrize("shape", [(1, 2, 9, 9), (4, 12, 12), (9, 9), (64,)])
def test_a_mask_does_not_measure_what_is_not_masked(masked: float, shape: tuple[int, ...]) -> None:
    """Scores that are wrong by a factor of 3 are off by 200 %, whatever the value of the mask."""
    scores = np.random.default_rng(0).normal(0, 1, shape).astype(F)
    mask = np.triu(np.full(shape[-2:], True), 1) if len(shape) > 1 else np.arange(64) % 3 == 1
    right, wrong = np.where(mask, F(masked), scores), np.where(mask, F(masked), scores * F(3))
    found = measure(right, wrong)
    assert 1 < found.relative < 30
    assert found.ulp > 1e6
    assert not measured([right], [wrong], rounded(64))[1]
    slightly = np.where(mask, F(masked), scores * F(1 + 2e-7))
    assert measured([right], [slightly], rounded(4))[1]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_small_channels_are_not_measured_by_large_ones(axis: int) -> None:
    rng = np.random.default_rng(1)
    scales = np.float64([1e-6, 1, 1e6]).reshape([3 if k == axis else 1 for k in range(3)])
    right = (rng.normal(0, 1, [3 if k == axis else 20 for k in range(3)]) * scales).astype(F)
    wrong = np.where(scales == 1e-6, right * F(1.5), right)
    assert 0.4 < measure(right, wrong).relative < 2


def test_sums_of_few_elements_and_of_none_are_measured() -> None:
    assert measure(F([]), F([])).ulp == 0
    assert measure(F([0, 0]), F([0, 1e-3])).relative == np.inf
    assert measure(np.float32(2), np.float32(3)).relative == pytest.approx(0.5)


@pytest.mark.parametrize("reference", [np.nan, np.inf, 1.0])
@pytest.mark.parametrize("other", [-np.inf, np.nan, 2.0])
def test_what_is_infinitely_far_apart_is_so_in_every_measure(reference: float, other: float) -> None:
    found = measure(F([reference]), F([other]))
    if np.isnan(reference) and np.isnan(other):
        assert not found
    elif (reference, other) == (1.0, 2.0):
        assert found.relative == found.absolute == 1
    else:
        assert found.ulp == found.relative == found.absolute == np.inf


def test_measuring_large_arrays_takes_little_memory() -> None:
    a = np.ones((4000, 1000), F)
    b = a + F(1e-6)
    tracemalloc.start()
    measure(a, b)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2 * a.nbytes


def test_large_numbers_have_a_typical_one() -> None:
    a = np.full(8, 1e300)
    assert measure(a, a * (1 + 1e-10)).relative == pytest.approx(1e-10, rel=1e-3)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (1.4, "140 %"),
        (0.005, "0.5 %"),
        (1.2e-6, "0.00012 %"),
        (1e300, "1e302 %"),
        (8.9e-16, "8.9e-14 %"),
        (0.0, "0 %"),
        (1.7e308, "1.8e308 %"),
    ],
)
def test_percentages_have_two_digits_at_any_magnitude(part: float, text: str) -> None:
    assert percent(part) == text


@pytest.mark.parametrize("shape", [(), (1,), (2, 1)])
def test_64_bit_integers_are_as_far_apart_as_they_are(shape: tuple[int, ...]) -> None:
    a, b = np.full(shape, 2**62 + 1, np.int64), np.full(shape, -(2**62), np.int64)
    found = units.apart(a, b)
    assert found.shape == shape and found.dtype == np.float64 and np.all(found == 2.0**63)


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        (0.0, 0.5, "off by 0.5 near 0"),
        (1e-45, 0.25, "off by 0.25 near 0"),
        (1e-44, 3e-44, "14 ulp off"),
        (2.0, 3.0, "50 % off"),
        (1.0, 60.0, "5900 % off"),
    ],
)
def test_errors_of_practically_nothing_are_not_percentages(ours: float, theirs: float, text: str) -> None:
    assert off(measure(np.float32([ours]), np.float32([theirs]))) == text


@pytest.mark.parametrize(
    ("ours", "theirs", "found", "expected"),
    [
        ([1, 2, 3], [1, 2.5, 3.1], "2.5", "2"),
        ([0.5, 0.25], [0.5, np.nextafter(F(0.25), F(1))], "0.25000003", "0.25"),
        ([1, 2], [1, 2], "", ""),
    ],
)
def test_an_error_has_both_values_of_the_largest_difference(ours: Any, theirs: Any, found: str, expected: str) -> None:
    error = measure(np.array(ours, F), np.array(theirs, F))
    assert (error.found, error.expected) == (found, expected)


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        ([1, 2, 2], [1, 2, 3], "50 % off"),
        ([4, 4, 4, 4, 4, 4, 4, 1], [4, 4, 4, 4, 4, 4, 4, 1.5], "off by 13 % of typical values"),
    ],
)
def test_a_percentage_of_typical_values_differs_from_that_of_the_element(ours: Any, theirs: Any, text: str) -> None:
    assert off_typical(measure(np.array(ours, F), np.array(theirs, F))) == text
