"""Results do not depend on how arrays are stored: transposed, with gaps, reversed, or not aligned to their element
size.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.calls import Call, calls
from support.row_checks import LAYOUTS, laid_out

from irexec.ops.compute import elementwise
from irexec.ops.condition import select
from irexec.ops.spec.traits import Random


def results(call: Call) -> list[np.ndarray]:
    made = call.run()
    return list(made) if isinstance(made, (list, tuple)) else [made]


def as_f16(call: Call) -> Call:
    """Return the call with numbers of f16, many of them below the normal range; integers stay."""
    tiny = [a * np.float32(1e-5) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a for a in call.arrays]
    with np.errstate(over="ignore"):
        return call._replace(arrays=[a.astype(np.float16) if getattr(a, "dtype", 0) == np.float32 else a for a in tiny])


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_order_in_memory_changes_nothing(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Small arrays also take the code for many elements.
    monkeypatch.setattr(elementwise, "MANY", 1)
    monkeypatch.setattr(select, "_MANY", 1)
    compared = 0
    for known in calls():
        if Random in known.operator.traits:
            continue
        for call in (known, as_f16(known)):
            try:
                expected = results(call)
            except Exception:  # f16 is not legal here, or weights must be constants
                continue
            found = results(call._replace(arrays=[laid_out(array, layout) for array in call.arrays]))
            for own, other in zip(expected, found, strict=True):
                assert (own.dtype, own.shape) == (other.dtype, other.shape), call
                # Sums may be computed in another order.
                close = {"rtol": 1e-4, "atol": 1e-5} if own.dtype == np.float32 else {"rtol": 2e-3, "atol": 1e-7}
                if own.dtype.kind == "f":
                    np.testing.assert_allclose(other, own, **close, err_msg=str(call))
                else:
                    assert np.array_equal(other, own), call
            compared += 1
    assert compared > 500
