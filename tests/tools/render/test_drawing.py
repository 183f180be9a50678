"""The drawing of a model: folded constants, repeated blocks, and SVG in which texts of the model are never markup."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from support.drawable import HOSTILE, stacked

import irexec
from irexec import opset15
from irexec.cli.main import main
from irexec.core.diagnostics.render.characters import visible_text
from irexec.tools.inspect.summary import summarize
from irexec.tools.inspect.together import together
from irexec.tools.render.drawing.boxes import place
from irexec.tools.render.drawing.division import repeats
from irexec.tools.render.drawing.scene import Graph, common_name, scene
from irexec.tools.render.drawing.svg import Drawing, svg_document

SVG = "{http://www.w3.org/2000/svg}"
SAMPLES = Path(__file__).parents[3] / "samples"


def titles(graph: Graph) -> list[str]:
    return [item.title for item in graph.items]


def test_constants_are_folded_into_their_readers() -> None:
    found = summarize(stacked(1))
    drawn = scene(found.layers)
    assert titles(drawn.graph) == ["Parameter", "MatMul", "Add", "ReLU", "MatMul", "Tanh", "SoftMax", "Add", "Result"]
    assert {found.layers[i].type for i in drawn.folded} == {"Const"}
    assert all(found.layers[i].type in ("MatMul", "Add") for i in drawn.folded.values())


def test_what_is_made_of_constants_alone_is_folded_too() -> None:
    x = opset15.parameter([1, 4], np.float32, name="x")
    weights = opset15.convert(opset15.constant(np.ones((4, 2), np.int8)), destination_type="f32")
    assert titles(scene(summarize(irexec.Model([opset15.matmul(x, weights)], [x], "m")).layers).graph) == [
        "Parameter",
        "MatMul",
        "Result",
    ]


def test_a_constant_that_is_a_result_is_drawn() -> None:
    constant = opset15.constant(np.float32([1, 2]))
    assert titles(scene(summarize(irexec.Model([constant], [], "m")).layers).graph) == ["Const", "Result"]


def test_repeated_blocks_are_one_item_each() -> None:
    graph = scene(summarize(stacked(12)).layers).graph
    blocks = [item for item in graph.items if item.insides]
    assert [block.title for block in blocks] == [f"block {n} of 12" for n in range(1, 13)]
    assert [block.subtitle for block in blocks] == [f"net/layer.{n}" for n in range(12)]
    inside = blocks[3].insides[0][1]
    assert sum(item.holds for item in inside.items) == blocks[3].holds == 7
    assert [item.enters is not None for item in inside.items].count(True) == 1
    assert [item.leaves is not None for item in inside.items].count(True) == 1


def test_a_small_graph_is_drawn_whole() -> None:
    assert not any(item.insides for item in scene(summarize(stacked(5)).layers).graph.items)


def test_runs_that_cover_most_are_found_first() -> None:
    sequence = [*"xy", *"abcde" * 4, *"z"]
    assert [tuple(run) for run in repeats(sequence, [1] * 40)] == [(2, 5, 4)]
    inner = [*"aaaab" * 2, *"c"] * 3
    assert [tuple(run) for run in repeats(inner, [1] * 40)] == [(0, 11, 3)]
    assert repeats("abcdefgh", [1] * 9) == []


def test_blocks_begin_where_least_crosses() -> None:
    crossing = [3.0] * 30
    for cut in (2, 7, 12, 17):
        crossing[cut] = 1.0
    assert [tuple(run) for run in repeats([*"deabcdeabcdeabcdeabc"], crossing)] == [(2, 5, 3)]


def test_the_common_part_of_names_ends_at_a_separator() -> None:
    assert common_name(["a/b/c", "a/b/d"]) == "a/b"
    assert common_name(["layer.10.x", "layer.11.y"]) == "layer"
    assert common_name(["x", "y"]) == ""


def test_a_body_opens_in_its_layer(tmp_path: Path) -> None:
    found = summarize(stacked(12))
    drawing = Drawing(together([found]), insides=True)
    root = ElementTree.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{drawing.body}</svg>')
    layers = {int(g.get("id", "")[1:]) for g in root.iter(f"{SVG}g") if g.get("id", "").startswith("l")}
    assert layers == {layer.index for layer in found.layers} - drawing.folded.keys()


def test_a_document_is_svg_and_names_are_texts() -> None:
    for name in HOSTILE:
        root = ElementTree.fromstring(svg_document(summarize(stacked(1, name))))
        assert {e.tag.removeprefix(SVG) for e in root.iter()} == {
            "svg",
            "title",
            "style",
            "rect",
            "g",
            "path",
            "text",
            "tspan",
        }
        assert not any(key.startswith("on") or "href" in key for e in root.iter() for key in e.attrib)
        shown = [text.text or "" for text in root.iter(f"{SVG}text")]
        assert any(visible_text(name)[-6:] in text for text in shown)


def test_a_large_model_is_drawn_in_proportion() -> None:
    small, large = (place(scene(summarize(stacked(n, "{}")).layers).graph) for n in (20, 80))
    assert large.height < 5 * small.height
    assert large.width < 2 * small.width


def test_the_command_prints_a_drawing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SAMPLES / "classifier" / "model.xml"), "--format", "svg"]) == 0
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert "probabilities" in "".join(root.itertext())


@pytest.mark.parametrize(("path", "picture"), [("wrong.xml", "wrong"), ("classifier/model.xml", "classifier")])
def test_a_picture_of_the_pages_is_what_is_drawn(path: str, picture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(SAMPLES / path), "--format", "svg"]) == int(picture == "wrong")
    drawn = (SAMPLES.parent / "docs" / "images" / f"{picture}.svg").read_text("utf-8")
    assert capsys.readouterr().out == drawn, f"irexec show samples/{path} --format svg > docs/images/{picture}.svg"
