"""Samples: accepted combinations of sizes, and the layers between an input and a layer that refuses its size."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations, product

from irexec.core.structure import PARAMETER
from irexec.model.graph.model import Node
from irexec.tools.shapes.case import Case, Reason
from irexec.tools.shapes.probe import Prober, Sizes

# The number of combinations at which the shapes of the outputs are compared.
_ALONG, _MOST_PAIRS, _TOGETHER = 12, 150, 30


def accepted_samples(prober: Prober, cases: Sequence[Case]) -> list[Sizes]:
    """Return accepted combinations: the base, the choices of one dimension after another, and random combinations."""
    found: dict[Sizes, None] = {}
    chance = random.Random(2)
    for case in cases:
        found.setdefault(case.base)
        for dim, accepted in case.choices.items():
            for size in (*accepted.some(_ALONG), *accepted.some(4, beyond=3000)):
                found.setdefault(case.fill({dim: size}))
        pairs = list(combinations(sorted(case.choices), 2))
        for first, second in pairs[:: len(pairs) // _MOST_PAIRS + 1]:
            for one, other in product(case.choices[first].some(3)[1:], case.choices[second].some(3)[1:]):
                found.setdefault(case.fill({first: one, second: other}))
        for _ in range(_TOGETHER):
            if (sizes := case.draw(chance)) is not None:
                found.setdefault(sizes)
    return [sizes for sizes in found if min(sizes, default=1) > 0 and prober.accepts(sizes)]


def least_samples(prober: Prober, cases: Sequence[Case]) -> Iterator[Sizes]:
    """Yield for each case an accepted combination in which no single size can be reduced."""
    for case in cases:
        sizes = case.base
        for _ in range(3):
            for dim in range(len(sizes)):
                smaller = (_smaller(prober, case, sizes, dim, size) for size in range(1, sizes[dim]))
                sizes = next((each for each in smaller if each is not None), sizes)
        yield sizes


def _smaller(prober: Prober, case: Case, sizes: Sizes, dim: int, size: int) -> Sizes | None:
    """Return the combination with a smaller size of a dimension and its dependent dimensions, if accepted."""
    moved = tuple(size if each == dim else other for each, other in enumerate(sizes))
    if dim in case.choices:
        ones = {each for each in case.broadcast if sizes[each] == 1}
        filled = case.fill({each: moved[each] for each in case.choices})
        moved = tuple(1 if each in ones else other for each, other in enumerate(filled))
    return moved if min(moved) > 0 and case.contains(moved) and prober.accepts(moved) else None


def raised(prober: Prober, least: Sizes) -> list[Sizes]:
    """Return the accepted combinations in which only one dimension is larger than in the smallest combination.

    They show on which dimensions a maximum of many sizes depends.
    """
    found = (tuple(size + 2 * (dim == each) for each, size in enumerate(least)) for dim in range(len(least)))
    return [sizes for sizes in found if prober.accepts(sizes)]


def path_to(prober: Prober, reason: Reason) -> tuple[Node, ...]:
    """Return the layers from the input of a dimension to the layer that refuses its size."""
    target = reason.refusal.node
    if target is None:
        return ()
    bits = prober.dims[reason.dim].bits
    path: list[Node] = []
    node: Node | None = target
    while node is not None and node.type != PARAMETER:
        path.append(node)
        node = next((v.node for v in node.inputs if v is not None and prober.reached.get(v.node, 0) & bits), None)
    return tuple(reversed(path))
