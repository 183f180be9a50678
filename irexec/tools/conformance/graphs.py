"""Cases of graphs: patterns that runtimes fuse, with random contexts and near misses.

    graph.layer_norm/f32/r5/near=axis/inner=read/sequence/seed7

A pattern has parameters with choices; see patterns.py.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from functools import partial

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.loops import PATTERNS as WITH_BODIES
from irexec.tools.conformance.names import RECIPE, UnreadableName, without_recipe
from irexec.tools.conformance.patterns import build, texts

KINDS = ("static", "dynamic", "sequence")
TYPES = ("f32", "f32", "f32", "f16", "bf16")
_SEED = re.compile(r"seed(\d+)")
_ATTEMPTS = 6
_FLAGS = (("twice", 0.1), ("requests", 0.04), ("cache", 0.05), ("reset", 0.3), ("one-thread", 0.05))
"""The ways in which a graph is run, each with its share of the cases."""


PATTERNS = {name: (partial(build, name), choices) for name, (choices, _) in texts().patterns.items()} | WITH_BODIES
"""The function of each pattern, and the choices of its parameters, of which the first is the default."""


def patterns() -> tuple[str, ...]:
    """Return the names of all patterns."""
    return tuple(sorted(PATTERNS))


def draw_graph(name: str, seed: int, index: int) -> Case | None:
    """Return the case number `index` of a pattern; None if irexec accepts none of the drawn graphs."""
    _, choices = PATTERNS[name]
    for attempt in range(_ATTEMPTS):
        rng = np.random.default_rng([seed, zlib.crc32(name.encode()), index, attempt])
        chosen = {key: _chosen(rng, options) for key, options in choices.items()}
        kind = str(rng.choice(KINDS))
        base = str(rng.choice(TYPES))
        inner = ("/inner=read" if rng.random() < 0.2 else "") + ("/turned" if rng.random() < 0.15 else "")
        default = "".join(f"/{flag}" for flag, share in _FLAGS if rng.random() < share)
        default += "/default" if base == "f32" and rng.random() < 0.05 else ""
        text = "/".join([name, base, RECIPE, *(f"{key}={value}" for key, value in chosen.items())])
        text += f"{inner}{default}/{kind}/seed{int(rng.integers(1000))}"
        try:
            return graph_case(text)
        except (IRError, ValueError, TypeError, IndexError):
            continue
    return None


def _chosen(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    return options[0] if rng.random() < 0.3 else str(rng.choice(options))


def graph_case(text: str) -> Case:
    """Return the case of a name. Raises UnreadableName, and IRError if irexec does not accept the graph."""
    if text.partition("/")[0] not in PATTERNS:
        raise UnreadableName(f"{text!r} is not the name of a graph")
    name, *parts = without_recipe(text).split("/")
    if len(parts) < 3:
        raise UnreadableName(f"{text!r} is not the name of a graph")
    function, choices = PATTERNS[name]
    base, kind, seed = parts[0], parts[-2], _SEED.fullmatch(parts[-1])
    if kind not in KINDS or seed is None:
        raise UnreadableName(f"{text!r} does not end with SHAPES/seedN, where SHAPES is one of {', '.join(KINDS)}")
    given = dict(part.partition("=")[::2] for part in parts[1:-2] if "=" in part)
    words = {part for part in parts[1:-2] if "=" not in part}
    chosen = {key: given.get(key, options[0]) for key, options in choices.items()}
    wrong = next((key for key, value in chosen.items() if value not in choices[key]), None)
    if wrong is not None:
        raise UnreadableName(f"{wrong}={chosen[wrong]} in {text!r}: expected one of {', '.join(choices[wrong])}")
    graph = Graph(int(seed[1]), base, kind, turned="turned" in words)
    function(graph, **chosen)
    facts = {f"attribute {key}": value for key, value in chosen.items()} | {"type": base}
    facts |= {"inner": "read"} if given.get("inner") == "read" else {}
    return graph.case(
        text,
        name,
        facts,
        read_inner=given.get("inner") == "read",
        flags=tuple(flag for flag in (*dict(_FLAGS), "default") if flag in words),
    )


def simpler_graph(text: str) -> Iterator[str]:
    """Yield names in which a parameter has its default, an optional part is left out, or shapes are static."""
    name, base, *parts = without_recipe(text).split("/")
    usual = {key: options[0] for key, options in PATTERNS[name][1].items()}
    if parts[-2] != "static":
        yield "/".join([name, base, RECIPE, *parts[:-2], "static", parts[-1]])
    for place, part in enumerate(parts[:-2]):
        key, separator, value = part.partition("=")
        rest = [name, base, RECIPE, *parts[:place]]
        if not separator or key not in usual:
            yield "/".join([*rest, *parts[place + 1 :]])
        elif value != usual[key]:
            yield "/".join([*rest, f"{key}={usual[key]}", *parts[place + 1 :]])
