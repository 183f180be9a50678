"""GRUCell and GRUSequence: rounding, biases."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.oracle import run
from support.recurrent import breaches, cell_shapes, op_of, sequence_arrays, sequence_shapes


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: Any) -> None:
    rng = np.random.default_rng(1)
    narrow = [
        a if a.dtype == np.int64 else a.astype(dtype) for a in sequence_arrays(rng, "GRU", 2, 6, 3, 4, 1, [6, 4], 3)
    ]
    wide = [a if a.dtype == np.int64 else a.astype(np.float32) for a in narrow]
    attributes = {"hidden_size": 4, "direction": "reverse"}
    op = op_of("GRUSequence")
    for a, b in zip(run(op, *narrow, **attributes), run(op, *wide, **attributes), strict=True):
        assert a.dtype == dtype
        np.testing.assert_array_equal(a.astype(np.float32), b.astype(dtype).astype(np.float32))


def test_gru_c7_c8_a_fourth_bias_with_linear_before_reset() -> None:
    cell, sequence = cell_shapes("GRU"), sequence_shapes("GRU")
    assert breaches("GRUCell", cell, hidden_size=4, linear_before_reset=True) == {"C7"}
    assert breaches("GRUCell", [*cell[:-1], "16"], hidden_size=4, linear_before_reset=True) == set()
    attributes: dict[str, Any] = {"hidden_size": 4, "direction": "forward", "linear_before_reset": True}
    assert breaches("GRUSequence", sequence, **attributes) == {"C8"}
    assert breaches("GRUSequence", [*sequence[:-1], "1,16"], **attributes) == set()
