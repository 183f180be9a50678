"""A layered layout: rows of boxes, edges that only go down, few crossings, boxes close to what they are connected to.

Rows follow from the longest path. Edges that pass rows do so at points of their own, which all targets of a value
share. Sweeps up and down then order each row by the mean place of the neighbours, and place it as near to them as the
widths allow. The work is proportional to the number of boxes and points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP_X, GAP_Y = 22.0, 38.0
FAR = 40
"""Edges that would pass more rows than this are not drawn as lines: they would hide the graph."""
_ORDER_SWEEPS, _PLACE_SWEEPS = 6, 8
# How strongly an edge pulls: what is straight matters most where a line passes many rows.
_PULL = {0: 4.0, 1: 3.0, 2: 10.0}


@dataclass(slots=True)
class Line:
    """A stretch of a value's way from one row to the next: positions of boxes or passing points."""

    upper: int
    lower: int


@dataclass(slots=True)
class Layout:
    """Where everything lies: `x` are centres, `top` the upper edges of rows, `row` the row of each box or point.

    Positions below the number of boxes are boxes, the others points that edges pass. `lines[w]` are the stretches of
    wire w; `far[w]` those of its targets that are too far away for a line. `steps` counts the work done.
    """

    width: float
    height: float
    x: list[float]
    row: list[int]
    top: list[float]
    row_height: list[float]
    lines: list[list[Line]]
    far: list[list[int]]
    steps: int = 0


@dataclass(slots=True)
class _Net:
    """Boxes and points in rows, with their neighbours in the rows above and below."""

    rows: list[list[int]]
    width: list[float]
    boxes: int
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    steps: int = 0


def layered(
    sizes: Sequence[tuple[float, float]],
    wires: Sequence[tuple[int, Sequence[int]]],
    *,
    first: Sequence[int] = (),
    last: Sequence[int] = (),
) -> Layout:
    """Lay out boxes of these sizes (width, height). A wire goes from a box to boxes that come later in the sequence.

    `first` and `last` are boxes that belong in the first and the last row.
    """
    row = _rows(len(sizes), wires, first, last)
    net, lines, far = _with_points(sizes, wires, row)
    _order(net)
    x = _place(net)
    left = min((x[v] - net.width[v] / 2 for v in range(len(x))), default=0.0)
    x = [float(round(value - left)) for value in x]
    heights = [max((sizes[v][1] for v in members if v < len(sizes)), default=0.0) for members in net.rows]
    top, y = [], 0.0
    for number, height in enumerate(heights):
        top.append(round(y, 1))
        y += height + (_gap(net, x, number) if number + 1 < len(heights) else 0.0)
    width = max((x[v] + net.width[v] / 2 for v in range(len(x))), default=0.0)
    return Layout(round(width, 1), round(y, 1), x, row, top, heights, lines, far, net.steps)


def _rows(
    count: int, wires: Sequence[tuple[int, Sequence[int]]], first: Sequence[int], last: Sequence[int]
) -> list[int]:
    """The row of each box: below all that it reads, and what reads nothing just above its first reader."""
    readers: list[list[int]] = [[] for _ in range(count)]
    sources = [0] * count
    for source, targets in wires:
        readers[source] += targets
        for target in targets:
            sources[target] += 1
    row, waiting = [0] * count, list(sources)
    ready = [box for box in range(count) if not sources[box]]
    for box in ready:
        for target in readers[box]:
            row[target] = max(row[target], row[box] + 1)
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    for box in set(range(count)) - set(first):
        if not sources[box] and readers[box]:
            row[box] = max(0, min(row[target] for target in readers[box]) - 1)
    if last:
        bottom = max(row)
        for box in last:
            row[box] = bottom
    return row


def _with_points(
    sizes: Sequence[tuple[float, float]], wires: Sequence[tuple[int, Sequence[int]]], row: list[int]
) -> tuple[_Net, list[list[Line]], list[list[int]]]:
    """The rows with the points at which wires pass them. `row` grows by the rows of those points."""
    net = _Net([[] for _ in range(max(row, default=0) + 1)], [w for w, _ in sizes], len(sizes))
    net.above, net.below = [[] for _ in sizes], [[] for _ in sizes]
    for box in range(len(sizes)):
        net.rows[row[box]].append(box)
    lines: list[list[Line]] = []
    far: list[list[int]] = []
    for source, targets in wires:
        near = [t for t in targets if row[t] - row[source] <= FAR]
        far.append([t for t in targets if row[t] - row[source] > FAR])
        lowest = max((row[t] for t in near), default=row[source])
        way = [source]
        for passed in range(row[source] + 1, lowest):
            way.append(len(row))
            row.append(passed)
            net.width.append(2.0)
            net.rows[passed].append(way[-1])
            net.above.append([])
            net.below.append([])
        stretches = [Line(upper, lower) for upper, lower in pairwise(way)]
        stretches += [Line(way[row[t] - row[source] - 1], t) for t in near]
        for line in stretches:
            net.below[line.upper].append(line.lower)
            net.above[line.lower].append(line.upper)
        lines.append(stretches)
    return net, lines, far


def _order(net: _Net) -> None:
    """Order each row by the mean position of the neighbours in the row before, down and up in turn."""
    position = [0.0] * len(net.width)
    for members in net.rows:
        for number, v in enumerate(members):
            position[v] = float(number)
    for sweep in range(_ORDER_SWEEPS):
        down = sweep % 2 == 0
        near = net.above if down else net.below
        for members in net.rows if down else reversed(net.rows):
            mean = {v: _mean([position[u] for u in near[v]], position[v]) for v in members}
            members.sort(key=mean.__getitem__)
            for number, v in enumerate(members):
                position[v] = float(number)
            net.steps += len(members) + sum(len(near[v]) for v in members)


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _place(net: _Net) -> list[float]:
    """The centres of all boxes and points: near their neighbours, in the order of their row, none overlapping."""
    x = [0.0] * len(net.width)
    for members in net.rows:
        edge = 0.0
        for v in members:
            x[v] = edge + net.width[v] / 2
            edge += net.width[v] + GAP_X
        for v in members:
            x[v] -= edge / 2
    for sweep in range(_PLACE_SWEEPS):
        down = sweep % 2 == 0
        near = net.above if down else net.below
        for members in net.rows if down else reversed(net.rows):
            wanted, weights = [], []
            for v in members:
                pulls = [(_PULL[(v >= net.boxes) + (u >= net.boxes)], x[u]) for u in near[v]]
                total = sum(pull for pull, _ in pulls)
                wanted.append(sum(pull * at for pull, at in pulls) / total if pulls else x[v])
                weights.append(total or 0.5)
            for v, at in zip(members, spread(wanted, weights, [net.width[v] for v in members]), strict=True):
                x[v] = at
            net.steps += len(members) + sum(len(near[v]) for v in members)
    return x


def spread(wanted: Sequence[float], weights: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Centres of boxes in a row, in this order and GAP_X apart, as near as they can be to where each is wanted.

    The weighted least squares under the order: neighbours that would overlap move together (pooled violators).
    """
    offsets, edge = [], 0.0
    for number, width in enumerate(widths):
        edge += 0.0 if number == 0 else (widths[number - 1] + width) / 2 + GAP_X
        offsets.append(edge)
    pools: list[tuple[float, float, int]] = []
    for at, weight, offset in zip(wanted, weights, offsets, strict=True):
        mean, total, count = at - offset, weight, 1
        while pools and pools[-1][0] >= mean:
            other, heavy, number = pools.pop()
            mean = (mean * total + other * heavy) / (total + heavy)
            total, count = total + heavy, count + number
        pools.append((mean, total, count))
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _gap(net: _Net, x: Sequence[float], number: int) -> float:
    """The space below a row: more where lines go far to the side, so that they stay apart."""
    widest = max((abs(x[v] - x[u]) for v in net.rows[number] for u in net.below[v]), default=0.0)
    return float(round(GAP_Y + min(60.0, max(0.0, widest - 150.0) * 0.06)))
