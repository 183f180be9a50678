"""Name scopes: stretches of layers whose names share a path, as frameworks write it (`encoder/layer.0/attention`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from irexec.core.diagnostics.nearest import common_start

SHORTEST = 4
"""The least number of layers for which a scope becomes a block."""


class NameScope(NamedTuple):
    """The layers `start` to `end - 1`, whose paths begin with `path`."""

    start: int
    end: int
    path: tuple[str, ...]

    @property
    def title(self) -> str:
        """The last component of the path; a number is preceded by the component before it."""
        return ".".join(self.path[-2:]) if self.path[-1].isdigit() else self.path[-1]


def path_of(name: str) -> list[str]:
    """Return the folders of a name: `m/layer.0/relu` is in m, layer, 0."""
    return re.split("[/.]", name)[:-1]


def scopes(names: Sequence[str | None]) -> Iterator[NameScope]:
    """Return the stretches of layers whose paths have the same component after the common beginning of most paths.

    A scope that contains most of the layers is replaced by its inner scopes. A name without a path (invented by the
    exporter) belongs to the layer after it. None stands for a layer outside of all scopes.
    """
    for scope in _next_parts(names):
        start, end, _ = scope
        most = len(names) > end - start > len(names) / 2
        if most and (inner := list(scopes(names[start:end]))):
            yield from (NameScope(start + s.start, start + s.end, s.path) for s in inner)
        else:
            yield scope


def _next_parts(names: Sequence[str | None]) -> Iterator[NameScope]:
    paths = [path_of(name) if name else [] for name in names]
    roots = Counter(path[0] for path in paths if path)
    if not roots:
        return
    root = roots.most_common(1)[0][0]
    known = [path for path in paths if path and path[0] == root]
    shared = common_start(min(known), max(known))
    parts: list[tuple[str, ...] | None] = []
    following: tuple[str, ...] | None = None
    for name, path in zip(reversed(names), reversed(paths), strict=True):
        if name is None:
            following = None
        elif path:
            following = (path[0],) if path[0] != root else tuple(path[: shared + 1]) if len(path) > shared else None
        parts.append(None if name is None else following)
    position = 0
    for part, members in groupby(reversed(parts)):
        end = position + len(list(members))
        if part is not None and end - position >= SHORTEST:
            yield NameScope(position, end, part)
        position = end
