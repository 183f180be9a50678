"""Hostile calls of all operators: ragged lists, dates, foreign byte orders, huge numbers, wrong ranks, missing inputs.

A seeded sample of the calls of benchmarks/hostile_operators.py: a call returns a result, or raises an IRError that
names the error and is not about a failed kernel or shape rule.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from support.amounts import amount
from support.calls import Call, calls
from support.hostile import hostile

import irexec

if sys.platform != "linux":
    pytest.skip("the memory that a process may take is limited by Linux alone", allow_module_level=True)
import resource

CALLS_PER_OPERATOR = amount(16, 6)
ROOM = 1 << 30
# The codes of a failed kernel, and of a result that differs from the inferred type.
CONFESSIONS = {"O006", "O007"}


@pytest.fixture(autouse=True)
def limited() -> Iterator[None]:
    """Limit the memory: some calls request gigabytes, which must not be filled."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    own = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (own + ROOM, before[1]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def escape(call: Call) -> str | None:
    """Return a description of the unexpected outcome of a call; None if the outcome is expected."""
    try:
        call.run()
    except irexec.IRError as error:
        found = {d.code for d in error.report.errors}
        return str(error) if not found or found & CONFESSIONS else None
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("part", range(8))
def test_only_results_and_irerrors_are_returned(part: int) -> None:
    legal = calls()
    escapes = {}
    for number in range(part, len(legal), 8):
        for attempt in range(CALLS_PER_OPERATOR):
            call = hostile(np.random.default_rng((1, number, attempt)), legal[number])
            if (found := escape(call)) is not None:
                escapes[number, attempt] = f"{str(call)[:200]}: {found[:200]}"
    assert escapes == {}


def test_the_sample_is_not_refused_altogether() -> None:
    """Many of the calls are unusual, but valid."""
    computed = 0
    for number, legal in enumerate(calls()[:200]):
        try:
            hostile(np.random.default_rng((2, number)), legal).run()
            computed += 1
        except irexec.IRError:
            continue
    assert computed > 40
