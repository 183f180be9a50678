"""Results do not depend on the number of threads: every operator version, divided however little work there is."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
import pytest
from support.calls import Call, calls

from irexec.ops.compute import parallel

COUNTS = (1, 2, 8)
Bits = list[tuple[object, ...]]


@pytest.fixture
def dividing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """All work is worth several threads."""
    for call in calls():
        bits(call)  # What it needs is imported.
    for name, module in list(sys.modules.items()):
        if name.startswith("irexec.ops"):
            for threshold in ("WORTH_PRODUCTS", "WORTH_BYTES"):
                if hasattr(module, threshold):
                    monkeypatch.setattr(module, threshold, 1)
    yield
    parallel.set_num_threads(None)


def bits(call: Call) -> Bits:
    """The results of a call, comparable bit by bit."""
    operator = call.operator
    attributes, _ = operator.parse_attributes(call.attributes)
    with np.errstate(all="ignore"):
        results = operator.kernel(*call.arrays, **operator.bind(attributes))
    arrays = [np.asarray(r) for r in (results if isinstance(results, (tuple, list)) else [results])]
    return [(a.dtype.str, a.shape, a.tolist() if a.dtype.kind == "T" else a.tobytes()) for a in arrays]


def test_results_are_the_same_for_1_2_and_8_threads(dividing: None) -> None:
    found: dict[int, list[Bits]] = {}
    same = [call for call in calls() if call.operator.tolerance.kind != "random"]
    for count in COUNTS:
        parallel.set_num_threads(count)
        found[count] = [bits(call) for call in same]
    differing = {call.operator for n, call in enumerate(same) if any(found[c][n] != found[1][n] for c in COUNTS)}
    # Its products are BLAS's, which adds up in an order that follows from what it is given at once.
    assert {operator.type for operator in differing} <= {"ScaledDotProductAttention"}
    exact = {call.operator for call in same if call.operator.tolerance.kind == "exact"}
    assert len(exact) > 100 and not exact & differing
