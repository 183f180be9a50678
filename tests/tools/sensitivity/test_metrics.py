"""Metrics of results: the four kinds, and invalid metrics."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from irexec.core.types import Array
from irexec.tools.sensitivity.metrics import BadMetric, metric_named, noise_of

pytestmark = pytest.mark.any_python


def results(*arrays: object) -> list[dict[str, Array]]:
    return [{"y": np.array(array, np.float32)} for array in arrays]


RIGHT = results([[3.0, 1.0], [0.0, 4.0]], [[1.0, 2.0]])


def test_noise_is_relative_to_all_inputs() -> None:
    assert noise_of(RIGHT, RIGHT) == 0
    other = results([[3.0, 1.0], [0.0, 4.0]], [[1.0, 3.0]])
    assert noise_of(RIGHT, other) == pytest.approx(1 / 31)
    assert metric_named("snr").score(RIGHT, other).metric == pytest.approx(10 * math.log10(31))


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_is_infinite_noise(value: float) -> None:
    other = results([[3.0, 1.0], [0.0, value]], [[1.0, 2.0]])
    assert math.isinf(noise_of(RIGHT, other))
    assert metric_named("snr").score(RIGHT, other).metric == -math.inf
    assert noise_of(other, other) == 0


def test_top1_and_cosine() -> None:
    other = results([[3.0, 1.0], [5.0, 4.0]], [[1.0, 2.0]])
    assert metric_named("top1").score(RIGHT, other).metric == pytest.approx(2 / 3)
    images = [{"y": np.moveaxis(np.eye(3, dtype=np.float32)[None, None], -1, 1)}]
    assert metric_named("top1").score(images, images).metric == 1
    assert metric_named("cosine").score(RIGHT, RIGHT).metric == pytest.approx(1)
    assert metric_named("cosine").score(RIGHT, results([[-3, -1], [0, -4]], [[-1, -2]])).metric == pytest.approx(-1)


def test_a_function_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def same(expected, found):\n    return sum((a['y'] == b['y']).all() for a, b in zip(expected, found))\n"
        "def wrong(expected, found):\n    raise KeyError('z')\n"
        "def none(expected, found):\n    return float('nan')\n"
    )
    assert metric_named(f"{file}:same").score(RIGHT, RIGHT).metric == 2
    for name, message in (("wrong", "raises KeyError"), ("none", "returns NaN")):
        with pytest.raises(BadMetric, match=message):
            metric_named(f"{file}:{name}").score(RIGHT, RIGHT)


@pytest.mark.parametrize(
    ("name", "message"), [("psnr", "neither snr"), ("no.py:f", "no such file"), ("{}:g", "no function 'g'")]
)
def test_names_that_are_not_metrics(name: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "empty.py"
    file.write_text("")
    with pytest.raises(BadMetric, match=message):
        metric_named(name.format(file))
