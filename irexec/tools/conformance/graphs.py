"""Cases of graphs: patterns that runtimes fuse, with random contexts and near misses.

    graph.layer_norm/f32/r5/near=axis/inner=read/sequence/seed7

A pattern has parameters with choices; see patterns.py.
"""

from __future__ import annotations

import zlib
from functools import partial

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.types import ElementType
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.loops import PATTERNS as WITH_BODIES
from irexec.tools.conformance.names import KINDS, GraphName, UnreadableName
from irexec.tools.conformance.patterns import build, texts

TYPES = ("f32", "f32", "f32", "f16", "bf16")
_ATTEMPTS = 6
_WORDS = (
    ("inner=read", 0.2), ("turned", 0.15), ("twice", 0.1), ("requests", 0.04), ("cache", 0.05), ("reset", 0.3),
    ("one-thread", 0.05),
)  # fmt: skip
"""The words of names, each with its share of the cases."""


PATTERNS = {name: (partial(build, name), choices) for name, (choices, _) in texts().patterns.items()} | WITH_BODIES
"""The function of each pattern, and the choices of its parameters, of which the first is the default."""


def patterns() -> tuple[str, ...]:
    """Return the names of all patterns."""
    return tuple(sorted(PATTERNS))


def draw_graph(pattern: str, seed: int, index: int) -> Case | None:
    """Return the case number `index` of a pattern; None if irexec accepts none of the drawn graphs."""
    _, choices = PATTERNS[pattern]
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, zlib.crc32(pattern.encode()), index, attempt])
        chosen = {key: _chosen(rng, options) for key, options in choices.items()}
        kind, base = str(rng.choice(KINDS)), str(rng.choice(TYPES))
        words = [word for word, share in _WORDS if rng.random() < share]
        words += ["default"] if base == "f32" and rng.random() < 0.05 else []
        name = GraphName(pattern, ElementType.by_name[base], chosen, tuple(words), kind, int(rng.integers(1000)))
        try:
            return graph_case(str(name))
        except (IRError, ValueError, TypeError, IndexError):
            continue
    return None


def _chosen(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[0] if rng.random() < 0.3 else str(rng.choice(options))


def graph_case(text: str) -> Case:
    """Return the case of a name. Raises UnreadableName, and IRError if irexec does not accept the graph."""
    if text.partition("/")[0] not in PATTERNS:
        raise UnreadableName(f"{text!r} is not the name of a graph")
    name = GraphName.parse(text)
    function, choices = PATTERNS[name.pattern]
    chosen = usual_choices(name.pattern) | {key: value for key, value in name.choices.items() if key in choices}
    wrong = next((key for key, value in chosen.items() if value not in choices[key]), None)
    if wrong is not None:
        raise UnreadableName(f"{wrong}={chosen[wrong]} in {text!r}: expected one of {', '.join(choices[wrong])}")
    graph = Graph(name)
    function(graph, **chosen)
    facts = {f"attribute {key}": value for key, value in chosen.items()} | {"type": name.base.name}
    return graph.case(text, facts | ({"inner": "read"} if name.reads_inner else {}))


def usual_choices(pattern: str) -> dict[str, str]:
    """Return the default of each parameter."""
    return {key: options[0] for key, options in PATTERNS[pattern][1].items()}
