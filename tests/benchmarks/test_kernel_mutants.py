"""Wrong kernels in benchmarks/kernel_mutants.py: the generated cases detect them, and pass the correct kernels."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.benchmark import BENCHMARKS, benchmark

from irexec.tools.conformance.case import operator_named

CASES = 40


@pytest.fixture
def campaign(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    module = benchmark("kernel_mutants")
    # The time limits would replace those of the tests.
    monkeypatch.setattr(module, "signal", SimpleNamespace(alarm=lambda seconds: None, SIGALRM=None))
    return module


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    ("operator", "change"),
    [
        ("OneHot-16", "negated condition: hot = "),
        ("Range-1", "dropped operand: return max(ceil((last - first) / by), 0)"),
        ("Range-4", "inverse operation: values: Array = number * step_bits + start_bits"),
        ("GatherND-8", "inverse operation: index = np.where(index < 0, index + limit, index)"),
        ("Interpolate-1", "4 + 1: plain = "),
        ("MulticlassNms-9", "dropped operand: images.append(found._replace(indices=(found.indices + (end - count))"),
    ],
)
def test_cases_notice_a_wrong_kernel(campaign, operator: str, change: str) -> None:
    found = operator_named(operator)
    cases = campaign.Cases(found, CASES)
    mutants = [
        (f, code) for f in campaign.functions_of(found) for what, code in campaign.mutants_of(f) if change in what
    ]
    assert mutants
    with np.errstate(all="ignore"):
        for function, code in mutants:
            assert campaign.is_killed(function, code, cases)
            assert not campaign.is_killed(function, function.__code__, cases)


def test_mutants_that_compute_the_same_have_a_reason(campaign) -> None:
    power = operator_named("Power-1")
    whats = [
        what for f in campaign.functions_of(power) for what, _ in campaign.mutants_of(f) if "odd = (b & 1)" in what
    ]
    assert [campaign.reason_of(power, what) for what in whats] == [
        "integers have no result for negative exponents, so that they are not judged"
    ] * len(whats)
    assert whats
