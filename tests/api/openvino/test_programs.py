"""The same programs with OpenVINO, and with irexec in its place, give the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")

from support.openvino_programs import PROGRAMS

import irexec


def assert_equal(mine: Any, theirs: Any) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs)
        for one, other in zip(mine, theirs, strict=True):
            assert_equal(one, other)
    elif isinstance(theirs, np.ndarray):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    else:
        assert mine == theirs


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_finds_the_same_with_irexec(name: str) -> None:
    assert_equal(PROGRAMS[name](irexec), PROGRAMS[name](openvino))


def test_there_are_programs_of_many_kinds() -> None:
    assert len(PROGRAMS) >= 29
