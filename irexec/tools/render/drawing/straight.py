"""Straight lines in a layered drawing: boxes and points that follow one another down the rows with small sideways steps
form a chain, and a chain is placed in one column.

Placement row by row lets a chain drift by one step in every row, so chains are moved as a whole. Chains never cross one
another: they have an order from left to right, in which they are placed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise


def straightened(
    x: Sequence[float],
    rows: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    gap: Callable[[int, int], float],
    drift: Callable[[int, int], float],
) -> list[float]:
    """Return the centres x of boxes and points, moved so that chains are straight and members of a row are `gap` apart.

    `rows`: their numbers from left to right; `above`: their neighbours in the row before. `drift`: the largest sideways
    step within a chain.
    """
    chain = _chains(x, rows, above, drift)
    count = max(chain, default=-1) + 1
    space: list[dict[int, float]] = [{} for _ in range(count)]
    for members in rows:
        for left, right in pairwise(members):
            a, b = chain[left], chain[right]
            space[a][b] = max(space[a].get(b, 0.0), gap(left, right))
    sums, sizes = [0.0] * count, [0] * count
    for v, c in enumerate(chain):
        sums[c] += x[v]
        sizes[c] += 1
    at = _apart([total / size for total, size in zip(sums, sizes, strict=True)], space)
    return [at[c] for c in chain]


def _chains(
    x: Sequence[float],
    rows: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    drift: Callable[[int, int], float],
) -> list[int]:
    """Return the chain of each box or point: the open chain of the neighbour above with the largest drift."""
    chain = [-1] * len(x)
    position = [0] * len(x)
    count = 0
    for members in rows:
        last = -1
        for number, v in enumerate(members):
            position[v] = number
            free = [u for u in above[v] if position[u] > last and abs(x[u] - x[v]) <= drift(u, v)]
            if free:
                u = max(free, key=lambda u: drift(u, v))
                chain[v], last = chain[u], position[u]
            else:
                chain[v], count = count, count + 1
    return chain


def _apart(wanted: Sequence[float], space: Sequence[dict[int, float]]) -> list[float]:
    """Return positions near the wanted positions, with the necessary space: the mean of shifting right and left."""
    right, left = list(wanted), list(wanted)
    order = _left_to_right(space)
    for c in order:
        for other, distance in space[c].items():
            right[other] = max(right[other], right[c] + distance)
    for c in reversed(order):
        left[c] = min([left[c], *(left[other] - distance for other, distance in space[c].items())])
    return [(a + b) / 2 for a, b in zip(right, left, strict=True)]


def _left_to_right(space: Sequence[dict[int, float]]) -> list[int]:
    """Return the chains in an order in which each chain comes after all chains to its left."""
    waiting = [0] * len(space)
    for others in space:
        for other in others:
            waiting[other] += 1
    order = [c for c, count in enumerate(waiting) if not count]
    for c in order:
        for other in space[c]:
            waiting[other] -= 1
            if not waiting[other]:
                order.append(other)
    return order
