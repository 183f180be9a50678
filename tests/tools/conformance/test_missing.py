"""Optional inputs that no call of the table has, and images with values from 0 to 255."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import F32
from irexec.tools.conformance.case import operator_named
from irexec.tools.conformance.drawing import draw, profiles_of
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.missing import missing_input

pytestmark = pytest.mark.any_python


@pytest.mark.parametrize(
    ("name", "port"),
    [("LSTMCell-1", "/p="), ("GroupConvolutionBackpropData-1", "/output_shape="), ("Eye-9", "/batch_shape=")],
)
def test_drawn_cases_have_every_optional_input(name: str, port: str) -> None:
    operator = operator_named(name)
    assert missing_input(operator) == len(operator.inputs) - 1
    names = [case.name for number in range(40) if (case := draw(operator, 0, number)) is not None]
    assert 0 < sum(port in name for name in names) < len(names)


def test_an_operator_whose_calls_have_every_input_misses_none() -> None:
    assert missing_input(operator_named("Gather-8")) is None and missing_input(operator_named("Concat-1")) is None


def test_images_have_pixels_and_positions_do_not() -> None:
    assert "pixels" in profiles_of(operator_named("GridSample-9"), F32)
    pixels, grid = case_named("GridSample-9/f32/data=[1,1,9,9]/grid=[1,5,5,2]/data-pixels/seed1").inputs[0]
    assert pixels.min() >= 0 and 200 < pixels.max() <= 255 and np.abs(grid).max() < 20
    y, uv = case_named("NV12toRGB-8/u8/arg=[1,8,8,1]/uv=[1,4,4,2]/data-pixels/seed1").inputs[0]
    assert y.max() > 200 and uv.max() > 200
