"""Name scopes: stretches of layers whose names share a path, as frameworks write it (`encoder/layer.0/attention`)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

SHORTEST = 4
"""So many layers make a block of a scope."""


def scopes(names: Sequence[str | None]) -> Iterator[tuple[int, int, str]]:
    """The stretches that share what their paths have next behind what most of them share; that part is their title.

    A name without a path (an exporter's own) belongs to what follows it. None is a layer that stands by itself.
    """
    paths = [re.split("[/.]", name)[:-1] if name else [] for name in names]
    roots = Counter(path[0] for path in paths if path)
    if not roots:
        return
    root = roots.most_common(1)[0][0]
    known = [path for path in paths if path and path[0] == root]
    low, high = min(known), max(known)
    shared = next((n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), min(len(low), len(high)))
    parts: list[str | None] = []
    following: str | None = None
    for name, path in zip(reversed(names), reversed(paths), strict=True):
        if name is None:
            following = None
        elif path:
            following = path[0] if path[0] != root else path[shared] if len(path) > shared else None
        parts.append(None if name is None else following)
    position = 0
    for part, members in groupby(reversed(parts)):
        end = position + len(list(members))
        if part is not None and end - position >= SHORTEST:
            yield position, end, part
        position = end
