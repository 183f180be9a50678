"""Name scopes: the stretches of layers that form one box."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from support.drawable import stacked

import irexec
from irexec import opset15
from irexec.tools.inspect.summary import summarize
from irexec.tools.inspect.together import together
from irexec.tools.render.drawing.scene import Item, scene
from irexec.tools.render.drawing.scopes import scopes
from irexec.tools.render.drawing.svg import Drawing


def titled(names: Sequence[str | None]) -> list[tuple[int, int, str]]:
    return [(scope.start, scope.end, scope.title) for scope in scopes(names)]


def test_a_scope_is_what_follows_the_path_that_all_share() -> None:
    names = ["net/a/1", "net/a/2/x", "net/a/3", "net/a/4", "net/b/1", "net/c/1", "net/c/2", "net/c/3", "net/c/4"]
    assert titled(names) == [(0, 4, "a"), (5, 9, "c")]


def test_points_also_separate_names_and_another_root_is_a_separate_scope() -> None:
    names = [*(f"m.layer1.{n}" for n in range(4)), "cat/Concat", *(f"m.layer2.{n}" for n in range(4))]
    assert titled(names) == [(0, 4, "layer1"), (5, 9, "layer2")]


def test_a_name_without_a_path_belongs_to_what_follows() -> None:
    names = ["m.a.0", "m.a.1", "m.a.2", "m.a.3", "Multiply_7", "m.b.1", "m.b.2", "Multiply_8", "m.b.3", "m.c.1"]
    assert titled(names) == [(0, 4, "a"), (4, 9, "b")]


def test_a_scope_with_most_of_the_layers_is_opened_and_numbers_have_their_prefixes() -> None:
    names = [*(f"m.h.{k}.{n}" for k in range(3) for n in range(4)), "m.head.0"]
    assert titled(names) == [(0, 4, "h.0"), (4, 8, "h.1"), (8, 12, "h.2")]
    assert list(scopes(names))[1].path == ("m", "h", "1")


def test_single_layers_and_names_without_paths_are_not_scopes() -> None:
    assert list(scopes(["x", "y", "z", "u", "v"])) == []
    assert list(scopes([None, "m/a/1", "m/a/2", None, "m/a/3", "m/a/4", "m/b/1"])) == []


def test_scopes_of_a_large_graph_are_boxes_between_the_blocks_that_repeat() -> None:
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for part, count in (("stem", 5), ("neck", 7), ("head", 40)):
        for number in range(count):
            make = opset15.relu if (part, number % 3) != ("neck", 1) else opset15.tanh
            value = make(value, name=f"net/{part}/{number}")
    graph = scene(summarize(irexec.Model([value], [x], "m")).layers).graph
    assert [item.title for item in graph.items if item.insides][:2] == ["stem", "neck"]
    assert sum(item.holds for item in graph.items) == 54


def test_blocks_that_repeat_come_before_scopes() -> None:
    graph = scene(summarize(stacked(12)).layers).graph
    assert [item.title for item in graph.items if item.insides] == [f"block {n} of 12" for n in range(1, 13)]


def staged(stages: Sequence[tuple[str, int]]) -> irexec.Model:
    """Return stages of this many blocks, each of six layers, the first block of each stage with one more layer."""
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for stage, blocks in stages:
        for block in range(blocks):
            own = f"net/{stage}/{stage}.{block}"
            for number in range(6):
                value = [opset15.relu, opset15.tanh, opset15.abs][number % 3](value, name=f"{own}/{number}")
            if not block:
                value = opset15.sigmoid(value, name=f"{own}/first")
    return irexec.Model([value], [x], "staged")


def test_names_that_divide_a_model_come_before_what_repeats_across_them() -> None:
    graph = scene(summarize(staged([("stage1", 4), ("stage2", 4), ("stage3", 8)])).layers).graph
    assert [item.title for item in graph.items if item.insides] == ["stage1", "stage2", "stage3"]
    inside = graph.items[3].insides[0][1]
    assert [item.title for item in inside.items if item.insides][1:] == [f"block {n} of 7" for n in range(1, 8)]


def test_very_many_blocks_are_boxes_of_blocks() -> None:
    graph = scene(summarize(stacked(50)).layers).graph
    groups = [item for item in graph.items if item.insides]
    assert [item.title for item in groups] == [
        *(f"blocks {n} to {n + 7} of 50" for n in range(1, 48, 8)),
        "blocks 49 to 50 of 50",
    ]
    held = [item.title for group in groups for item in group.insides[0][1].items if item.insides]
    assert held == [f"block {n} of 50" for n in range(1, 51)]
    assert sum(item.holds for item in graph.items) == 352


def test_a_block_states_what_flows_out_of_it() -> None:
    drawn = Drawing(together([summarize(stacked(12))])).body
    assert drawn.count('class="shape" x="6" y="56">f32 [1,8]</text>') == 12


def inserted(model: irexec.Model, name: str) -> irexec.Model:
    """Insert a Sigmoid after a layer, and return the model."""
    (node,) = (node for node in model.get_ops() if node.friendly_name == name)
    readers = [(user, list(user.inputs).index(node.outputs[0])) for user in node.outputs[0].users]
    added = opset15.sigmoid(node, name=f"{name}/added")
    for reader, port in readers:
        reader.set_argument(port, added)
    model.validate_nodes_and_infer_types()
    return model


def extents(model: irexec.Model, beside: irexec.Model) -> list[set[str]]:
    """Return the names of the layers in each box, except the Result, of a model that is drawn next to another one."""
    one, other = summarize(model).layers, summarize(beside).layers

    def names(item: Item) -> set[str]:
        inside = {name for _, graph in item.insides for each in graph.items for name in names(each)}
        return inside if item.layer is None else inside | {one[item.layer].name}

    return [names(item) for item in scene(one, other).graph.items[:-1]]


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("names", ["net/layer.{}/", "n{}_"], ids=["scopes", "no scopes"])
@pytest.mark.parametrize("count", [12, 60])
def test_two_models_are_divided_in_the_same_way_beside_a_difference(count: int, names: str) -> None:
    def model() -> irexec.Model:
        return stacked(count, names)

    where = names.replace("{}", "7")
    changed = inserted(model(), f"{where}relu")
    added = {f"{where}relu/added"}
    one, other = extents(model(), changed), extents(changed, model())
    assert [names - added for names in other if names - added] == one
    assert len(one) < count + 10
    # A difference in every block does not separate blocks.
    for number in range(count):
        if number != 7:
            changed = inserted(changed, names.replace("{}", str(number)) + "relu")
    assert len(extents(model(), changed)) == len(scene(summarize(model()).layers).graph.items) - 1
