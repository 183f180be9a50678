"""The texts of patterns: each row and condition names a choice that there is, and each parameter is used."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from irexec.tools.conformance.graphs import KINDS, draw_graph, patterns
from irexec.tools.conformance.patterns import Line, texts

pytestmark = pytest.mark.any_python


def named(lines: list[Line]) -> Iterator[tuple[str, str]]:
    """Yield the choices that lines name, with the name of the parameter."""
    for text, below in lines:
        for condition in re.findall(r"(?:when|unless) (\w+: .*)", text):
            for part in condition.split(", "):
                name, _, choices = part.partition(": ")
                yield from ((name, choice) for choice in choices.split(" | "))
        if (found := re.search(r"(?:^|= )by (\w+)$", text)) is not None:
            for row in below:
                yield from ((found[1], choice) for choice in row.text.partition(":")[0].split(" | "))
        yield from named(below)


@pytest.mark.parametrize("name", sorted(texts().patterns))
def test_lines_name_choices_that_there_are(name: str) -> None:
    choices, lines = texts().patterns[name]
    for parameter, choice in named(lines):
        if parameter in choices:
            assert choice in (*choices[parameter], "else"), f"{parameter}: {choice}"


@pytest.mark.parametrize("name", sorted(texts().patterns))
def test_each_parameter_is_used(name: str) -> None:
    choices, lines = texts().patterns[name]
    words = str(lines)
    for parameter in choices:
        assert re.search(rf"\b{parameter}\b", words), parameter


def test_a_pattern_with_any_choices_is_drawn() -> None:
    kinds = set()
    for name in patterns():
        found = [case for index in range(3) if (case := draw_graph(name, 7, index)) is not None]
        assert found, name
        kinds |= {case.kind for case in found}
    assert kinds == set(KINDS)
