"""Memory in large pages: it begins where such a page does, and is as much as was asked for."""

from __future__ import annotations

import numpy as np
import pytest

from irexec.ops.compute.pages import uninitialised

LARGE = 1 << 21


@pytest.mark.parametrize("nbytes", [0, 1, 4096, LARGE // 2 - 1])
def test_what_would_leave_most_of_a_page_unused_lies_anywhere(nbytes: int) -> None:
    memory = uninitialised(nbytes)
    assert (memory.size, memory.base) == (nbytes, None)


@pytest.mark.parametrize("nbytes", [LARGE // 2, LARGE, LARGE + 1, 5 * LARGE - 64])
def test_more_begins_with_a_page_and_has_the_last_one_for_itself(nbytes: int) -> None:
    memory = uninitialised(nbytes)
    assert memory.dtype == np.uint8 and memory.shape == (nbytes,)
    start = memory.ctypes.data
    assert start % LARGE == 0
    whole = memory.base
    assert isinstance(whole, np.ndarray)
    # NumPy asks for large pages from 4 MiB on, and the system gives them where all of one belongs to the piece.
    assert whole.nbytes >= 1 << 22
    assert whole.ctypes.data <= start and start + -(-nbytes // LARGE) * LARGE <= whole.ctypes.data + whole.nbytes
    memory[:] = 7
    assert (memory == 7).all()
