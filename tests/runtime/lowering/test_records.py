"""Records for compiled code: their numbers, and the references that keep the addressed memory alive."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from irexec.runtime.lowering.llvm.memory import Records, begin

ARRAYS = {
    "contiguous": np.arange(6.0),
    "a matrix that lies transposed": np.arange(6.0).reshape(2, 3).T,
    "backwards": np.arange(6.0)[::-1],
    "columns": np.arange(12.0).reshape(3, 4)[:, 1::2],
    "read-only": np.broadcast_to(np.float64(3), (2, 3)),
    "at an odd byte": np.frombuffer(b"\0" + np.arange(3.0).tobytes(), np.float64, offset=1),
    "a scalar": np.array(4.0),
    "empty": np.empty((0, 3)),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_an_array_represents_the_address_of_its_first_element(array: np.ndarray) -> None:
    assert begin(array) == array.ctypes.data
    assert Records.of([[1, array]]).numbers.tolist() == [[1, array.ctypes.data]]


def test_the_fields_of_records() -> None:
    inner = Records(np.arange(3))
    records = Records.named(("one", "two"), [{"two": 2, "one": inner}, {"one": 3, "two": 4}])
    assert records.numbers.tolist() == [[inner.address, 2], [3, 4]]
    assert (len(records), records.stride, records.address) == (2, 16, records.numbers.ctypes.data)
    filled = records.filled(5)
    assert filled.numbers.tolist() == [[5, 2], [3, 4]] and records.numbers[0, 0] == inner.address
    assert len(Records.of([])) == 0


def test_records_keep_the_arrays_to_which_they_point() -> None:
    first, second, third = np.arange(3), np.arange(4), np.arange(5)
    kept = [weakref.ref(array) for array in (first, second, third)]
    layer = Records.of([[first, 0, Records.of([[second]])]]).filled(0, third)
    outer: Records | None = Records.of([[layer]])
    del first, second, third, layer
    gc.collect()
    assert all(array() is not None for array in kept)
    del outer
    gc.collect()
    assert not any(array() is not None for array in kept)
