"""Name scopes: which stretches of layers are one box."""

from __future__ import annotations

import numpy as np
from support.drawable import stacked

import irexec
from irexec import opset15
from irexec.show.drawing.scene import scene
from irexec.show.drawing.scopes import scopes
from irexec.survey.survey import survey


def test_a_scope_is_what_comes_behind_the_path_that_all_share() -> None:
    names = ["net/a/1", "net/a/2/x", "net/a/3", "net/a/4", "net/b/1", "net/c/1", "net/c/2", "net/c/3", "net/c/4"]
    assert list(scopes(names)) == [(0, 4, "a"), (5, 9, "c")]


def test_points_part_names_too_and_another_root_is_a_scope_of_its_own() -> None:
    names = [*(f"m.layer1.{n}" for n in range(4)), "cat/Concat", *(f"m.layer2.{n}" for n in range(4))]
    assert list(scopes(names)) == [(0, 4, "layer1"), (5, 9, "layer2")]


def test_a_name_without_a_path_belongs_to_what_follows() -> None:
    assert list(scopes(["m.a.0", "Multiply_7", "m.b.1", "m.b.2", "Multiply_8", "m.b.3", "m.c.1"])) == [(1, 6, "b")]


def test_layers_that_stand_by_themselves_and_names_without_paths_are_no_scope() -> None:
    assert list(scopes(["x", "y", "z", "u", "v"])) == []
    assert list(scopes([None, "m/a/1", "m/a/2", None, "m/a/3", "m/a/4", "m/b/1"])) == []


def test_scopes_of_a_large_graph_are_boxes_between_the_blocks_that_repeat() -> None:
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for part, count in (("stem", 5), ("neck", 7), ("head", 40)):
        for number in range(count):
            make = opset15.relu if (part, number % 3) != ("neck", 1) else opset15.tanh
            value = make(value, name=f"net/{part}/{number}")
    graph = scene(survey(irexec.Model([value], [x], "m")).layers).graph
    assert [item.title for item in graph.items if item.insides][:2] == ["stem", "neck"]
    assert sum(item.holds for item in graph.items) == 54


def test_blocks_that_repeat_come_before_scopes() -> None:
    graph = scene(survey(stacked(12)).layers).graph
    assert [item.title for item in graph.items if item.insides] == [f"block {n} of 12" for n in range(1, 13)]
