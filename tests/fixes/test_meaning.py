"""Mutants of models of every kind, and their safe fixes: OpenVINO and irexec read the same before and after."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("openvino")
sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from fixes_meaning import in_children


def test_no_safe_fix_changes_a_meaning() -> None:
    """In a child process, because OpenVINO ends the process for some mutants."""
    outcomes = list(in_children(list(range(200)), ()))
    assert [outcome.number for outcome in outcomes] == list(range(200))
    assert not [(outcome.number, outcome.changed) for outcome in outcomes if outcome.changed]
    kinds = Counter(outcome.kind for outcome in outcomes)
    assert kinds["the same after"] > 20
    assert kinds["died"] < 10
