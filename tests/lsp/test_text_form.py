"""The language server on the text form: hover, navigation, renaming, completion, outline and hints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.editor import Editor, Refused, address

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")

TEXT = """model m (x: f32[?,4], "a b": f32[4]) -> (y, parts.1, rows, sum)
  two   = Constant f32[] 2
  axis  = Constant i64[] 1
  parts = Split-1(x, axis) num_splits=2
  "s.1" = SoftMax("a b") axis=0  # f32[4]
  y     = Multiply(parts, two)
  rows  = TensorIterator-1(y)
    body (row: f32[1,2]) -> (b)
      two = Constant f32[] 3
      b   = Multiply(row, two)
    in 0 -> row axis=0
    out b -> 0 axis=0
  sum   = Add("s.1", two)
"""


@pytest.fixture
def uri(editor: Editor, tmp_path: Path) -> str:
    uri = address(tmp_path / "m.irt")
    assert editor.open(uri, TEXT) == []
    return uri


def place(line: int, text: str, further: int = 1) -> tuple[int, int]:
    return line, TEXT.splitlines()[line].index(text) + further


def covered(range: dict[str, Any], text: str = TEXT) -> tuple[int, str]:
    start, end = range["start"], range["end"]
    assert start["line"] == end["line"]
    return start["line"], text.splitlines()[start["line"]][start["character"] : end["character"]]


@pytest.mark.parametrize(
    ("line", "text", "told"),
    [
        (3, "Split", ["**Split-1**", "operation page", "outputs: `f32[?,2]`, `f32[?,2]`"]),
        (3, "parts", ["**Split-1**"]),
        (3, "num_splits", ["`num_splits`: integer", "required"]),
        (4, "axis=0", ["`axis`: integer"]),
        (5, "parts", ["`parts = Split-1(x, axis) num_splits=2`", "outputs: `f32[?,2]`, `f32[?,2]`"]),
        (5, "two", ["`two = Constant f32[] 2`", "mean 2"]),
        (9, "two", ["`two = Constant f32[] 3`", "mean 3"]),
        (9, "row", ["`row: f32[1,2]`"]),
        (3, "x,", ["`x: f32[?,4]`", "accepted sizes"]),
    ],
)
def test_hover(line: int, text: str, told: list[str], editor: Editor, uri: str) -> None:
    found = editor.at("hover", uri, *place(line, text))["contents"]["value"]
    assert [part for part in told if part not in found] == []


def test_hover_where_nothing_is(editor: Editor, uri: str) -> None:
    assert editor.at("hover", uri, 7, 1) is None


@pytest.mark.parametrize(
    ("line", "text", "target"),
    [
        (0, "parts.1", (3, "parts")),
        (5, "two", (1, "two")),
        (9, "two", (8, "two")),
        (9, "row", (7, "row")),
        (10, "row", (7, "row")),
        (11, "b ", (9, "b")),
        (4, '"a b"', (0, '"a b"')),
        (12, '"s.1"', (4, '"s.1"')),
    ],
)
def test_a_name_leads_to_its_layer(line: int, text: str, target: tuple[int, str], editor: Editor, uri: str) -> None:
    assert covered(editor.at("definition", uri, *place(line, text))["range"]) == target


def test_references_are_all_places_of_a_name(editor: Editor, uri: str) -> None:
    for line in (3, 5):
        found = editor.at("references", uri, *place(line, "parts"), context={"includeDeclaration": True})
        assert sorted(covered(each["range"]) for each in found) == [(0, "parts"), (3, "parts"), (5, "parts")]
    found = editor.at("documentHighlight", uri, *place(9, "two"))
    assert sorted(covered(each["range"]) for each in found) == [(8, "two"), (9, "two")]


def renamed(editor: Editor, uri: str, line: int, text: str, new: str) -> str:
    edits = editor.at("rename", uri, *place(line, text), newName=new)["changes"][uri]
    lines = TEXT.splitlines(keepends=True)
    for edit in sorted(edits, key=lambda edit: -edit["range"]["start"]["character"]):
        start, end = edit["range"]["start"], edit["range"]["end"]
        was = lines[start["line"]]
        lines[start["line"]] = was[: start["character"]] + edit["newText"] + was[end["character"] :]
    return "".join(lines)


def test_a_layer_is_renamed_everywhere(editor: Editor, uri: str, tmp_path: Path) -> None:
    assert covered(editor.at("prepareRename", uri, *place(0, "parts.1"))) == (0, "parts")
    made = renamed(editor, uri, 3, "parts", "two halves")
    assert made == TEXT.replace("parts.1", '"two halves".1').replace("parts", '"two halves"')
    assert editor.open(address(tmp_path / "renamed.irt"), made) == []
    made = renamed(editor, uri, 8, "two", "three")
    assert made == TEXT.replace("      two =", "      three =").replace("(row, two)", "(row, three)")
    with pytest.raises(Refused, match="another layer already has the name y"):
        renamed(editor, uri, 3, "parts", "y")


def labels(editor: Editor, uri: str, line: int, character: int) -> list[str]:
    return [item["label"] for item in editor.at("completion", uri, line, character)["items"]]


@pytest.mark.parametrize(
    ("typed", "known", "unknown"),
    [
        ("z = Soft", ["SoftMax", "ReLU"], ["axis"]),
        ("z = SoftMax(", ["x", '"a b"', "parts", "y"], ["row", "SoftMax"]),
        ("z = Add(x, pa", ["parts"], ["row"]),
        ("z = Split-1(x, axis) ", ["num_splits"], ["axis"]),
        ("z = Convert(x) destination_type=", ["f16", "i64"], ["destination_type"]),
        ("z = Convolution-1(x, two) strides=[1,1] ", ["auto_pad", "pads_begin"], ["strides"]),
        ("    in 0 -> ", [], []),
    ],
)
def test_completion(typed: str, known: list[str], unknown: list[str], editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "typed.irt")
    editor.open(uri, f"{TEXT}  {typed}\n")
    found = labels(editor, uri, len(TEXT.splitlines()), 2 + len(typed))
    assert [each for each in known if each not in found] == []
    assert [each for each in unknown if each in found] == []
    assert found or not known


def test_the_outline_contains_bodies(editor: Editor, uri: str) -> None:
    document = {"textDocument": {"uri": uri}}
    (net,) = editor.request("textDocument/documentSymbol", document)
    assert (net["name"], net["detail"]) == ("m", "9 layers")
    rows = next(each for each in net["children"] if each["name"] == "rows")
    assert [each["name"] for each in rows["children"][0]["children"]] == ["row", "two", "b"]
    assert rows["range"]["end"]["line"] == 11
    folds = editor.request("textDocument/foldingRange", document)
    assert [(each["startLine"], each["endLine"]) for each in folds] == [(0, 12), (6, 11), (7, 9)]
    found = editor.request("workspace/symbol", {"query": "split"})
    assert "parts" in [each["name"] for each in found]


def test_types_are_shown_where_no_comment_is(editor: Editor, uri: str) -> None:
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 13, "character": 0}}
    found = editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole})
    shown = {each["position"]["line"]: each["label"] for each in found}
    assert shown[5] == "f32[?,2]" and shown[9] == "f32[1,2]"
    assert 4 not in shown and 1 not in shown and 0 in shown


def test_types_link_to_their_pages(editor: Editor, uri: str) -> None:
    found = editor.request("textDocument/documentLink", {"textDocument": {"uri": uri}})
    assert (3, "Split") in [covered(each["range"]) for each in found]


def test_names_are_found_in_a_text_with_errors(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "wrong.irt")
    text = TEXT.replace("y     = Multiply(parts, two)", "y     = Multiply(parts, tow)")
    (finding,) = editor.open(uri, text)
    assert finding["code"] == "X014"
    assert covered(editor.at("definition", uri, *place(5, "parts"))["range"], text) == (3, "parts")


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    "text", ["", "model", "model m (", "model m (x: f32[2]) -> (y", "\n  y = ", "model m () -> ()\n  ="]
)
def test_any_text_may_be_open(text: str, editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "odd.irt")
    assert editor.open(uri, text) or text.startswith("model m () -> ()")
    for method in ("hover", "definition", "completion", "documentSymbol", "foldingRange", "prepareRename"):
        editor.at(method, uri, 0, len(text.splitlines()[0]) if text else 0)
