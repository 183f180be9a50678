"""Patterns of tokenizers that a model brings: bounded when they are compiled, and stopped by the time limit."""

from __future__ import annotations

import pytest

from irexec import IRError
from irexec.core.diagnostics.deadline import time_limit
from irexec.ops.spec.operator import ConstraintError
from irexec.ops.tokenizers.patterns import _expanded, pattern

pytest.importorskip("regex")


@pytest.mark.parametrize(
    "text", ["((a{1000}){1000}){1000}", "(?:[ab]{9999}){9999}", "((((a{99}){99}){99}){99}){99}", r"(\){2}{999}){9999}"]
)
def test_repeats_of_repeats(text: str) -> None:
    with pytest.raises(ConstraintError, match="states"):
        pattern(text.encode(), "C4")


@pytest.mark.parametrize(
    ("text", "size"),
    [("abc", 3), ("a{3}", 3), ("(ab){3}", 9), (r"\{3}", 3), ("[(]{2}", 2), (r"\p{N}{1,3}", 6), ("((", 1), ("a{,4}", 4)],
)
def test_the_size(text: str, size: int) -> None:
    assert _expanded(text) == size


def test_the_limit_of_states() -> None:
    """262,144, which a pattern reaches in a few MB of memory."""
    assert _expanded("a{262144}") == 1 << 18
    assert list(pattern(b"(?:a{500}){500}", "C4").matches(b"a")) == []
    with pytest.raises(ConstraintError, match="more than 262144 states"):
        pattern(b"a{262145}", "C4")


@pytest.mark.parametrize("work", ["matches", "replaced"])
def test_backtracking_ends_at_the_limit(work: str) -> None:
    found, raw = pattern(b"(a|aa)+$", "C4"), b"a" * 60 + b"!"
    with pytest.raises(IRError, match="while matching a pattern"), time_limit(0.5):
        list(found.matches(raw)) if work == "matches" else found.replaced(raw, b"", everywhere=True)
