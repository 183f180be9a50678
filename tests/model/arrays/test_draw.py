"""Random values of every element type."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.core.types import ANY, F8E8M0, I32, NF4, ElementType
from irexec.model.arrays.draw import draw, most_drawn


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


@pytest.mark.parametrize("kind", ["f32", "f16", "i32", "u4", "boolean", "string"])
def test_large_arrays_are_drawn_in_blocks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    type = ElementType.by_name[kind]
    whole = draw(np.random.default_rng(0), type, (7, 9))
    monkeypatch.setattr("irexec.model.arrays.draw._BLOCK", 10)
    blocks = draw(np.random.default_rng(0), type, (7, 9))
    assert (blocks.dtype, blocks.tolist()) == (whole.dtype, whole.tolist())


def test_what_is_drawn_is_bounded_by_what_the_process_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irexec.model.arrays.draw.memory", lambda: 1 << 40)
    assert most_drawn() == 1 << 31
    monkeypatch.setattr("irexec.model.arrays.draw.memory", lambda: 1 << 30)
    assert most_drawn() == 1 << 27
