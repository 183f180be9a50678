"""Pages, indentation, selections, names of elements, links, symbols and commands, requested from the real server."""

from __future__ import annotations

import random
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
from support.editor import Editor, Refused, address

import irexec

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")
from irexec.lsp.more_requests import indented

SAMPLES = Path(__file__).parents[2] / "samples"
MODEL = (SAMPLES / "wrong.xml").read_text("utf-8")
LINES = MODEL.splitlines()
PAGE = """# SoftMax

```xml
<layer id="1" type="SoftMax" version="opset8">
    <data axes="1"/>
    <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
    <output><port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
</layer>
```
"""


@pytest.fixture
def uri(editor: Editor, tmp_path: Path) -> str:
    found = address(tmp_path / "wrong.xml")
    editor.open(found, MODEL)
    return found


def place(text: str, line: int | None = None) -> tuple[int, int]:
    """Return the line and the character at which a text begins."""
    number = next(n for n, each in enumerate(LINES) if text in each and (line is None or n >= line))
    return number, LINES[number].index(text)


def covered(span: dict[str, dict[str, int]], text: str = MODEL) -> str:
    """Return the text of a range."""
    lines = text.splitlines(keepends=True)
    start, end = (sum(map(len, lines[: at["line"]])) + at["character"] for at in (span["start"], span["end"]))
    return text[start:end]


def indentation(text: str) -> str:
    for span, new in reversed(list(indented(text))):
        text = text[: span.start] + new + text[span.stop :]
    return text


def test_examples_of_a_page_have_findings_and_fixes(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "softmax.md")
    note, found = editor.open(uri, PAGE)
    assert (note["code"], note["severity"]) == ("Q019", 3)
    assert (found["code"], found["range"]["start"]["line"]) == ("D001", 4)
    actions = editor.request(
        "textDocument/codeAction",
        {"textDocument": {"uri": uri}, "range": found["range"], "context": {"diagnostics": []}},
    )
    (edit,) = actions[0]["edit"]["changes"][uri]
    assert (covered(edit["range"], PAGE), edit["newText"]) == ('<data axes="1"/>', '<data axis="1"/>')
    assert "axis" in editor.at("hover", uri, 3, 20)["contents"]["value"]
    labels = [item["label"] for item in editor.at("completion", uri, 4, 10)["items"]]
    assert labels == ["axis"]
    # A page without examples has no findings.
    assert editor.open(address(tmp_path / "other.md"), "# Notes\n\nNothing here.\n") == []


def test_white_space_becomes_that_of_openvino(editor: Editor, uri: str) -> None:
    edits = editor.request(
        "textDocument/formatting", {"textDocument": {"uri": uri}, "options": {"tabSize": 4, "insertSpaces": False}}
    )
    assert all(not covered(edit["range"]).strip() and not edit["newText"].strip() for edit in edits)
    made = indentation(MODEL)
    assert "\n\t<layers>\n\t\t<layer id=" in made and "\n\t\t\t\t\t<dim>1</dim>\n" in made
    assert list(indented(made)) == []
    assert "".join(made.split()) == "".join(MODEL.split())


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*/model.xml")), ids=lambda path: path.parent.name)
def test_indentation_changes_no_model(path: Path, tmp_path: Path) -> None:
    text = path.read_text("utf-8")
    drawn = random.Random(0)
    # Any white space between tags is accepted.
    squeezed = "".join(
        part + drawn.choice(["", " ", "\n\n  "]) if part.endswith(">") else part for part in text.splitlines()
    )
    made = indentation(squeezed)
    weights = path.with_suffix(".bin")
    one, two = (irexec.read_model(source.encode(), weights.read_bytes()) for source in (text, made))
    assert [node.friendly_name for node in one.get_ops()] == [node.friendly_name for node in two.get_ops()]
    assert indentation(made) == made


def test_a_selection_grows_with_the_elements(editor: Editor, uri: str) -> None:
    line, character = place('axes="2"')
    positions = [{"line": line, "character": character + 6}]
    (found,) = editor.request("textDocument/selectionRange", {"textDocument": {"uri": uri}, "positions": positions})
    texts = []
    while found is not None:
        texts.append(covered(found["range"]))
        found = found.get("parent")
    assert texts[:3] == ["2", 'axes="2"', '<data axes="2"/>']
    assert texts[3].startswith("<layer ") and texts[3].endswith("</layer>")
    assert texts[-1].startswith("<net ")


def test_both_names_of_an_element_are_linked(editor: Editor, uri: str) -> None:
    line, character = place("<layers>")
    found = editor.at("linkedEditingRange", uri, line, character + 3)
    assert [covered(span) for span in found["ranges"]] == ["layers", "layers"]
    line, character = place("<data")
    assert editor.at("linkedEditingRange", uri, line, character + 2) is None


def test_the_places_of_a_layer_are_highlighted(editor: Editor, uri: str) -> None:
    line, character = place('id="1"')
    found = editor.at("documentHighlight", uri, line, character + 4)
    assert [covered(each["range"]) for each in found] == ["1", "1", "1"]
    assert editor.at("documentHighlight", uri, *place("version")) == []


def test_types_lead_to_the_page_of_their_version(editor: Editor, uri: str) -> None:
    found = editor.request("textDocument/documentLink", {"textDocument": {"uri": uri}})
    targets = {covered(each["range"]): each["target"] for each in found}
    assert targets["SoftMax"].endswith("/activation/softmax-8.html")


def test_layers_of_all_texts_are_found(editor: Editor, uri: str) -> None:
    found = editor.request("workspace/symbol", {"query": "softmax"})
    assert "soft" in {each["name"] for each in found if each["location"]["uri"] == uri}
    assert editor.request("workspace/symbol", {"query": "there is no such layer"}) == []


def test_attributes_are_described(editor: Editor, uri: str) -> None:
    line, character = place("version=", 2)
    assert "opset" in editor.at("hover", uri, line, character + 2)["contents"]["value"]
    line, character = place('type="SoftMax"')
    items = editor.at("completion", uri, line, character + 6)["items"]
    relu = next(item for item in items if item["label"] == "ReLU")
    assert "operation page" in relu["documentation"]["value"]


@pytest.mark.by_hand(0)
def test_commands(editor: Editor, uri: str, tmp_path: Path) -> None:
    def execute(command: str, *arguments: str) -> object:
        return editor.request("workspace/executeCommand", {"command": command, "arguments": [*arguments]})

    assert {"irexec.showReport", "irexec.run", "irexec.fixAll"} <= set(
        editor.capabilities["executeCommandProvider"]["commands"]
    )
    report = Path(unquote(urlparse(str(execute("irexec.showReport", uri))).path))
    assert report.is_file() and "<svg" in report.read_text("utf-8")
    good = address(tmp_path / "relu.xml")
    layer = (
        '<layer id="1" name="r" type="ReLU" version="opset1"><input><port id="0" precision="FP32"><dim>4</dim></port>'
    )
    editor.open(good, layer + '</input><output><port id="1" precision="FP32"><dim>4</dim></port></output></layer>')
    printed = str(execute("irexec.run", good))
    assert printed.startswith("ReLU-1") and "output has the declared shape [4]" in printed
    with pytest.raises(Refused, match="must be the URI of an open document"):
        execute("irexec.run", "file:///not/open.xml")
    broken = address(tmp_path / "broken.xml")
    editor.open(broken, "<net")
    with pytest.raises(Refused, match="cannot be run"):
        execute("irexec.run", broken)
