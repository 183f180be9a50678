"""CumProd of ONNX."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracle import run

import irexec
from irexec.ops.onnx.cumulative_product import cum_prod_26


@pytest.mark.parametrize(
    ("exclusive", "reverse", "expected"),
    [(False, False, [1, 2, 6]), (True, False, [1, 1, 2]), (False, True, [6, 6, 3]), (True, True, [6, 3, 1])],
)
def test_running_products(exclusive: bool, reverse: bool, expected: list[int]) -> None:
    options = {"exclusive": exclusive, "reverse": reverse}
    assert run(cum_prod_26, np.array([1, 2, 3]), np.array(0), **options)[0].tolist() == expected
    rows = np.array([[1, 2, 3], [1, 2, 3]], np.float16)
    assert run(cum_prod_26, rows, np.array(-1), **options)[0].tolist() == [expected, expected]
    assert run(cum_prod_26, rows[:, :0], np.array(1), **options)[0].shape == (2, 0)


@pytest.mark.parametrize("axis", [1, -2])
def test_running_products_c1_axis(axis: int) -> None:
    with pytest.raises(irexec.IRError):
        irexec.onnx26.cum_prod(np.ones(3), np.array(axis))
