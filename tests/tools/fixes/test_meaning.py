"""Mutants of models of every kind, and their safe fixes: OpenVINO and irexec read the same model before and after."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from support.amounts import amount

pytest.importorskip("openvino")
sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from fixes_meaning import in_children


def test_no_safe_fix_changes_a_meaning() -> None:
    """In a child process, because OpenVINO terminates the process for some mutants."""
    numbers = list(range(amount(200, 15)))
    outcomes = list(in_children(numbers, ()))
    assert [outcome.number for outcome in outcomes] == numbers
    assert not [(outcome.number, outcome.changed) for outcome in outcomes if outcome.changed]
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert kinds["the same after"] > len(numbers) / 10
    assert kinds["died"] < len(numbers) / 20
