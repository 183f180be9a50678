"""The layered layout without a browser: no overlaps, edges go down, the same result each time, work in proportion."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from irexec.tools.render.drawing.layered import FAR, GAP_X, TO_BORDER, Layout, layered, rising

Wires = list[tuple[int, list[int]]]


def network(count: int, seed: int, *, reach: int = 12) -> tuple[list[tuple[float, float]], Wires]:
    """Return boxes of several sizes; each is read by up to three of the boxes after it, most by the next one."""
    rng = random.Random(seed)
    sizes = [(rng.choice([80.0, 120.0, 200.0]), rng.choice([16.0, 40.0])) for _ in range(count)]
    wires: Wires = []
    for box in range(count - 1):
        targets = {box + 1} if rng.random() < 0.7 else set()
        targets |= {rng.randrange(box + 1, min(count, box + reach)) for _ in range(rng.randrange(3))}
        wires.append((box, sorted(targets)))
    return sizes, wires


def check(sizes: list[tuple[float, float]], wires: Wires, found: Layout) -> None:
    rows: dict[int, list[int]] = {}
    for box in range(len(sizes)):
        rows.setdefault(found.row[box], []).append(box)
        assert found.row_height[found.row[box]] >= sizes[box][1]
        assert found.x[box] - sizes[box][0] / 2 >= -0.1
        assert found.x[box] + sizes[box][0] / 2 <= found.width + 0.1
    for members in rows.values():
        members.sort(key=lambda box: found.x[box])
        for a, b in pairwise(members):
            assert found.x[b] - found.x[a] >= (sizes[a][0] + sizes[b][0]) / 2 + GAP_X - 0.2
    for number in range(len(found.top) - 1):
        assert found.top[number] + found.row_height[number] < found.top[number + 1]
    assert sorted(wire for way in found.ways for wire in way.wires) == list(range(len(wires)))
    for way in found.ways:
        reached = {wires[way.wires[0]][0]}
        for line in way.lines:
            assert found.row[line.lower] == found.row[line.upper] + 1
            assert line.upper in reached
            reached.add(line.lower)
        for source, targets in (wires[wire] for wire in way.wires):
            assert {*way.far, *(box for box in reached if box < len(sizes))} == {source, *targets}


@pytest.mark.parametrize("seed", range(12))
def test_boxes_do_not_overlap_and_edges_go_down(seed: int) -> None:
    sizes, wires = network(120, seed)
    check(sizes, wires, layered(sizes, wires))


def test_lines_pass_between_the_boxes() -> None:
    sizes, wires = network(150, 3, reach=40)
    found = layered(sizes, wires)
    boxes = {row: [b for b in range(len(sizes)) if found.row[b] == row] for row in range(len(found.top))}
    for point in range(len(sizes), len(found.row)):
        for box in boxes[found.row[point]]:
            assert abs(found.x[point] - found.x[box]) >= sizes[box][0] / 2


def test_the_same_graph_is_laid_out_alike() -> None:
    sizes, wires = network(200, 7)
    assert layered(sizes, wires) == layered(sizes, wires)


def test_a_chain_is_straight() -> None:
    found = layered([(100.0, 40.0)] * 30, [(n, [n + 1]) for n in range(29)])
    assert len(set(found.x)) == 1
    assert found.top == sorted(found.top)


def test_inputs_are_drawn_first_and_outputs_last() -> None:
    sizes, wires = network(40, 1)
    found = layered(sizes, wires, first=[0], last=[39])
    assert found.row[0] == 0
    assert found.row[39] == len(found.top) - 1


def test_targets_that_are_far_away_get_no_line() -> None:
    count = FAR + 20
    wires: Wires = [(0, [1, count - 1])] + [(n, [n + 1]) for n in range(1, count - 1)]
    found = layered([(90.0, 40.0)] * count, wires)
    assert found.ways[0].far == [count - 1]
    check([(90.0, 40.0)] * count, wires, found)


def test_values_between_the_same_boxes_share_their_points() -> None:
    apart: Wires = [(n, [n + 1]) for n in range(9)]
    alone, many = (layered([(90.0, 40.0)] * 10, [*apart, *[(0, [9])] * count]) for count in (1, 50))
    assert (alone.x, alone.row, alone.width) == (many.x, many.row, many.width)
    assert [len(way.wires) for way in many.ways] == [1] * 9 + [50]


def test_lines_to_the_border_are_short() -> None:
    count = 3 * TO_BORDER
    wires: Wires = [(n, [n + 1, count]) for n in range(count - 1)]
    found = layered([(90.0, 40.0)] * (count + 1), wires, last=[count])
    check([(90.0, 40.0)] * (count + 1), wires, found)
    assert [bool(way.far) for way in found.ways] == [True] * (count - 1 - TO_BORDER) + [False] * TO_BORDER


def test_work_grows_with_the_graph() -> None:
    steps = [layered(*network(count, 5)).steps for count in (1250, 5000)]
    assert steps[1] < 6 * steps[0]


def test_nothing_at_all_and_a_single_box() -> None:
    assert layered([], []).height == 0
    assert layered([(80.0, 40.0)], [(0, [])]).x == [40.0]


def test_boxes_in_a_row_move_as_little_as_they_can() -> None:
    """For each box, the wanted position without the boxes before it is given."""
    assert rising([0, 500], [1, 1]) == [0, 500]
    assert rising([0, -100], [1, 1]) == [-50, -50]
    assert rising([0, -100], [3, 1]) == pytest.approx([-25, -25])


def test_a_chain_whose_layers_all_read_one_line_is_drawn_in_one_column() -> None:
    """Each box reads the one before it and a value from the top, whose line must not move the boxes aside step
    by step.
    """
    count = 14
    wires: Wires = [(0, [2]), (1, list(range(2, count)))] + [(n, [n + 1]) for n in range(2, count - 1)]
    found = layered([(120.0, 40.0)] * count, wires)
    check([(120.0, 40.0)] * count, wires, found)
    assert len({found.x[box] for box in range(2, count)}) <= 2
