"""A layered layout: rows of boxes, edges that only go down, few crossings, and boxes close to their neighbours.

The longest path determines the rows. Edges that cross rows pass through points. All targets of a value share these
points, and so do all values between the same boxes, because there may be a hundred values between two blocks of a large
model. Sweeps up and down then order each row by the mean position of the neighbours, and place it as close to them as
the widths allow. The work is proportional to the number of boxes and points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from operator import le

from irexec.tools.render.drawing.straight import straightened

GAP_X, GAP_Y = 22.0, 38.0
FAR = 40
"""Edges that would pass more rows than this are not drawn as lines: they would hide the graph."""
TO_BORDER = 10
"""The same limit for edges from the first and to the last boxes, which show where a value enters and leaves."""
_ORDER_SWEEPS, _PLACE_SWEEPS = 4, 4
# The weight of an edge by the number of its ends that are passing points: long lines are straightened first.
_PULL = (4.0, 3.0, 10.0)
_DRIFT = (70.0, 24.0, 25.0)
"""The distance within which two consecutive boxes or points are put in one column, by how many are points."""


@dataclass(slots=True)
class Line:
    """A segment of a value's route from one row to the next: positions of boxes or passing points."""

    upper: int
    lower: int


@dataclass(slots=True)
class Way:
    """The lines of the `wires` that have the same ends, and the targets that are too far away for a line."""

    wires: list[int]
    lines: list[Line]
    far: list[int]


@dataclass(slots=True)
class Layout:
    """The positions: `x` are centres, `top` the upper edges of rows, `row` the row of each box or point.

    Indices below the number of boxes are boxes; higher indices are points on edges. `steps` counts the work
    done.
    """

    width: float
    height: float
    x: list[float]
    row: list[int]
    top: list[float]
    row_height: list[float]
    ways: list[Way]
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
    ways: dict[tuple[int, tuple[int, ...]], Way] = {}
    for number, (source, targets) in enumerate(wires):
        ways.setdefault((source, tuple(sorted(targets))), Way([], [], [])).wires.append(number)
    net = _net(sizes, row)
    border = {*first, *last}
    for (source, targets), way in ways.items():
        near: list[int] = []
        for target in targets:
            most = TO_BORDER if source in border or target in border else FAR
            (near if row[target] - row[source] <= most else way.far).append(target)
        _add_lines(net, row, way, source, near)
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
    return Layout(round(width, 1), round(y, 1), x, row, top, heights, list(ways.values()), net.steps)


def _rows(
    count: int, wires: Sequence[tuple[int, Sequence[int]]], first: Sequence[int], last: Sequence[int]
) -> list[int]:
    """Return the row of each box: below all its inputs. A box without inputs is one row above its first reader."""
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


def _net(sizes: Sequence[tuple[float, float]], row: Sequence[int]) -> _Net:
    """Return the rows with their boxes, without connections."""
    net = _Net([[] for _ in range(max(row, default=0) + 1)], [width for width, _ in sizes], len(sizes))
    net.above, net.below = [[] for _ in sizes], [[] for _ in sizes]
    for box in range(len(sizes)):
        net.rows[row[box]].append(box)
    return net


def _add_lines(net: _Net, row: list[int], way: Way, source: int, targets: Sequence[int]) -> None:
    """Add the lines of a route, and the points at which they pass rows. `row`: the row of each box and point."""
    lowest = max((row[t] for t in targets), default=row[source])
    passed = [source]
    for number in range(row[source] + 1, lowest):
        passed.append(len(row))
        row.append(number)
        net.width.append(2.0)
        net.rows[number].append(passed[-1])
        net.above.append([])
        net.below.append([])
    way.lines = [Line(upper, lower) for upper, lower in pairwise(passed)]
    way.lines += [Line(passed[row[t] - row[source] - 1], t) for t in targets]
    for line in way.lines:
        net.below[line.upper].append(line.lower)
        net.above[line.lower].append(line.upper)


def _order(net: _Net) -> None:
    """Order each row by the mean position of the neighbours in the row before, down and up in turn."""
    position = [0.0] * len(net.width)
    for members in net.rows:
        for number, v in enumerate(members):
            position[v] = float(number)
    wide = [members for members in net.rows if len(members) > 1]
    for sweep in range(_ORDER_SWEEPS):
        down = sweep % 2 == 0
        near = net.above if down else net.below
        for members in wide if down else reversed(wide):
            mean = {v: _mean(near[v], position, v) for v in members}
            members.sort(key=mean.__getitem__)
            for number, v in enumerate(members):
                position[v] = float(number)
    net.steps += _ORDER_SWEEPS * _work(net)


def _mean(near: Sequence[int], position: Sequence[float], own: int) -> float:
    if len(near) == 1:
        return position[near[0]]
    return sum([position[u] for u in near]) / len(near) if near else position[own]


def _work(net: _Net) -> int:
    """Return the number of steps of one sweep: boxes and points, and their neighbours on one side."""
    return len(net.width) + sum(map(len, net.above))


def _place(net: _Net) -> list[float]:
    """Return the centres of all boxes and points: near their neighbours, in their order, without overlaps."""
    x = [0.0] * len(net.width)
    offsets = [_offsets([net.width[v] for v in members]) for members in net.rows]
    for members, places in zip(net.rows, offsets, strict=True):
        middle = places[-1] / 2 if places else 0.0
        for v, place in zip(members, places, strict=True):
            x[v] = place - middle
    downwards = [_pulls(net, members, net.above) for members in net.rows]
    upwards = [_pulls(net, members, net.below) for members in net.rows]
    for sweep in range(_PLACE_SWEEPS):
        down = sweep % 2 == 0
        rows = zip(net.rows, offsets, downwards if down else upwards, strict=True)
        for members, places, (pulls, weights) in rows if down else reversed(list(rows)):
            wanted = []
            for v, place, pull in zip(members, places, pulls, strict=True):
                at = 0.0
                for u, part in pull:
                    at += part * x[u]
                wanted.append((at if pull else x[v]) - place)
            for v, place, mean in zip(members, places, rising(wanted, weights), strict=True):
                x[v] = mean + place
    net.steps += _PLACE_SWEEPS * _work(net)
    width, boxes = net.width, net.boxes
    return straightened(
        x,
        net.rows,
        net.above,
        lambda left, right: (width[left] + width[right]) / 2 + GAP_X,
        lambda u, v: _DRIFT[(u >= boxes) + (v >= boxes)],
    )


def _pulls(
    net: _Net, members: Sequence[int], near: Sequence[Sequence[int]]
) -> tuple[list[list[tuple[int, float]]], list[float]]:
    """Return for each member of a row its neighbours with their shares of the weight, and the total weight."""
    found, weights = [], []
    boxes = net.boxes
    for v in members:
        kinds = _PULL[1:] if v >= boxes else _PULL
        pulls = [kinds[u >= boxes] for u in near[v]]
        total = sum(pulls)
        found.append([(u, pull / total) for u, pull in zip(near[v], pulls, strict=True)])
        weights.append(total or 0.5)
    return found, weights


def _offsets(widths: Sequence[float]) -> list[float]:
    """Return the centres of boxes at the smallest distances, relative to the first centre."""
    steps = ((left + right) / 2 + GAP_X for left, right in pairwise(widths))
    return list(accumulate(steps, initial=0.0))[: len(widths)]


def rising(wanted: list[float], weights: Sequence[float]) -> list[float]:
    """Return the nearest non-decreasing numbers: weighted least squares by pooling adjacent violators."""
    if all(map(le, wanted, wanted[1:])):
        return wanted
    means: list[float] = []
    heavy: list[float] = []
    counts: list[int] = []
    for mean, total in zip(wanted, weights, strict=True):
        count = 1
        while means and means[-1] >= mean:
            weight = heavy.pop()
            mean = (mean * total + means.pop() * weight) / (total + weight)
            total += weight
            count += counts.pop()
        means.append(mean)
        heavy.append(total)
        counts.append(count)
    return [mean for mean, count in zip(means, counts, strict=True) for _ in range(count)]


def _gap(net: _Net, x: Sequence[float], number: int) -> float:
    """Return the space below a row. Lines to distant boxes need more space to remain distinct."""
    widest = max((abs(x[v] - x[u]) for v in net.rows[number] for u in net.below[v]), default=0.0)
    return float(round(GAP_Y + min(60.0, max(0.0, widest - 150.0) * 0.06)))
