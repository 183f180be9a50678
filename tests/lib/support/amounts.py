"""How much random campaigns draw: all of it in CI, and less in a run by hand, which draws from the same seeds."""

from __future__ import annotations

import os

IN_CI = os.environ.get("CI") == "true"


def amount(in_ci: int, otherwise: int) -> int:
    """The number of cases to draw."""
    assert 0 < otherwise <= in_ci
    return in_ci if IN_CI else otherwise
