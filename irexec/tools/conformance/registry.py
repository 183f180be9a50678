"""The register of graph patterns: functions that build a graph, with the choices of their parameters."""

from __future__ import annotations

from collections.abc import Callable

Pattern = Callable[..., None]
PATTERNS: dict[str, tuple[Pattern, dict[str, tuple[str, ...]]]] = {}
"""The function of each pattern and the choices of its parameters, by name."""


def pattern(**choices: tuple[str, ...]) -> Callable[[Pattern], Pattern]:
    """Register a pattern: `f(graph, *, parameters)`, called with one choice for each parameter; the first choice is the
    default.
    """

    def register(function: Pattern) -> Pattern:
        PATTERNS[f"graph.{function.__name__}"] = function, choices
        return function

    return register
