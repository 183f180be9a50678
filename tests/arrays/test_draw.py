"""Random values: of every element type."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.arrays.draw import draw
from irexec.types import ANY, F8E8M0, I32, NF4, ElementType


@pytest.mark.parametrize("kind", sorted(ANY, key=str), ids=str)
def test_every_element_type_can_be_drawn(kind: ElementType) -> None:
    array = draw(np.random.default_rng(0), kind, (50,))
    assert array.shape == (50,)
    assert array.dtype == kind.dtype
    if kind.dtype is not None and kind.bitwidth and kind.bitwidth < 8 and kind.is_carried:
        assert array.max() < 2**kind.bitwidth
    if kind.is_real and not kind.is_carried:
        assert np.isfinite(array.astype(np.float32)).all()


def test_drawn_values_stay_in_the_range_of_special_types() -> None:
    assert draw(np.random.default_rng(0), NF4, (9,)).max() < 16
    assert (draw(np.random.default_rng(0), F8E8M0, (9,)).astype(np.float32) > 0).all()
    assert draw(np.random.default_rng(0), I32, (9,)).min() >= 0
