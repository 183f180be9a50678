"""Gather of tables that are not aligned."""

from __future__ import annotations

import tracemalloc

import numpy as np
from support.cases import ints, scalar, the

gather_8 = the("Gather", 8)


def test_of_an_unaligned_table_only_what_is_asked_for_is_read() -> None:
    table = np.arange(40_000, dtype=np.float32).reshape(2000, 20)
    unaligned = np.frombuffer(b"\0" + table.tobytes(), np.float32, offset=1).reshape(table.shape)
    index, out = ints(3, 1999, -1, 0).reshape(2, 2), np.empty((2, 2, 20), np.float32)
    tracemalloc.start()
    try:
        found = gather_8(unaligned, index, scalar(0))
        assert gather_8(unaligned, index, scalar(0), out=out) is out
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < table.nbytes / 4
    np.testing.assert_array_equal(found, table[index])
    np.testing.assert_array_equal(out, table[index])
    # Along the last axis, from a part of the table, and for each image from its own.
    np.testing.assert_array_equal(gather_8(unaligned, ints(19, -20), scalar(1)), table[:, [19, 0]])
    np.testing.assert_array_equal(gather_8(unaligned[:, ::2], index, scalar(0)), table[index][..., ::2])
    images, picks = unaligned.reshape(2, 1000, 20), ints(1, 999).reshape(2, 1)
    np.testing.assert_array_equal(
        gather_8(images, picks, scalar(1), batch_dims=1)[:, 0], table.reshape(2, 1000, 20)[[0, 1], [1, 999]]
    )
