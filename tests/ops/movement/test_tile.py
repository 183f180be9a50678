"""Tensors with very many axes."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import ints, the
from support.oracle import infer, tensor

from irexec.core.types import F32, I64

tile = the("Tile", 1)


def test_more_axes_than_an_array_can_have_are_refused_before_it_runs() -> None:
    (made,), _ = infer(tile, [tensor(F32, "2,3"), tensor(I64, "256")])
    assert made.rank == 256


@pytest.mark.parametrize(("type", "version"), [("Tile", 1), ("DepthToSpace", 1), ("SpaceToDepth", 1)])
def test_as_many_axes_as_an_array_can_have(type: str, version: int) -> None:
    """No intermediate array has more axes than the result."""
    data = np.ones((1,) * 60 + (2, 3), np.float32)
    if type == "Tile":
        assert the(type, version)(data, ints(*[1] * 61, 2)).shape == (*(1,) * 60, 2, 6)
    else:
        assert the(type, version)(data, block_size=1, mode="blocks_first").shape == data.shape
