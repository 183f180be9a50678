"""`in_range`: the limits of an input's values, in a rule (where they may be unknown) and in a kernel."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irexec.core.types import Dimension
from irexec.ops.rules.axes import in_range
from irexec.ops.spec.operator import ConstraintError, require


@pytest.mark.parametrize(
    "values",
    [
        None,
        2,
        Dimension(0, 9),
        [],
        [1, Dimension(-1), 3, None],
        (1, 2, 3),
        np.array(3),
        np.array([[1, 3]], np.uint64),
        np.zeros((0, 2), np.int64),
        np.array([1.0, 2.5]),
        np.array([1, 3], ml_dtypes.int4),
    ],
)
def test_values_within_the_limits(values: Any) -> None:
    assert in_range(require, "C1", "port", values, 1, 3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (0, "port is 0, expected 1 to 3"),
        ([1, 4, 5], "port[1] is 4, expected 1 to 3"),
        ([Dimension(-1), -1], "port[1] is -1, expected 1 to 3"),
        (np.array(4), "port is 4, expected 1 to 3"),
        (np.array([[1, 2], [3, 7]]), "port[1, 1] is 7, expected 1 to 3"),
        (np.array([2, 2**63], np.uint64), f"port[1] is {2**63}, expected 1 to 3"),
        (np.array([2, np.nan]), "port[1] is nan, expected 1 to 3"),
        (float("inf"), "port is inf, expected 1 to 3"),
    ],
)
def test_the_first_value_outside_is_named(values: Any, message: str) -> None:
    with pytest.raises(ConstraintError) as raised:
        in_range(require, "C1", "port", values, 1, 3)
    assert (raised.value.constraint, raised.value.port, raised.value.message) == ("C1", "port", message)


def test_a_limit_may_be_open_or_leave_one_value() -> None:
    assert in_range(require, "C1", "port", [10**9], 0)
    with pytest.raises(ConstraintError, match="port is -1, expected 0 or more"):
        in_range(require, "C1", "port", -1, 0, hint="a hint")
    with pytest.raises(ConstraintError, match=r"port is 1, expected 0, the only allowed value$"):
        in_range(require, "C1", "port", 1, 0, 0)


def test_a_rule_receives_whether_the_values_fit() -> None:
    found: list[str] = []

    def check(constraint: str, condition: bool | None, message: str, **details: Any) -> bool:
        if not condition:
            found.append(f"{constraint}: {message} ({details['allowed']})")
        return bool(condition)

    assert not in_range(check, "C1", "port", [3, -1], 0)
    assert found == ["C1: port[1] is -1, expected 0 or more (0 or more)"]
    with pytest.raises(ConstraintError, match=r"port\[0\] is 0, but the range from 0 to -1 is empty$"):
        in_range(require, "C1", "port", [0], 0, -1)
