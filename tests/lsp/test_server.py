"""The language server as an editor uses it: the real process, with requests in JSON-RPC."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.amounts import amount
from support.editor import Editor, Refused, address
from support.nets import Net
from support.waiting import until
from support.wrong_text import LINES, MODEL, actions, applied, place, written

pytest.importorskip("pygls", reason="the language server is the extra irexec[lsp]")


@pytest.fixture
def uri(editor: Editor, tmp_path: Path) -> str:
    uri = address(tmp_path / "wrong.xml")
    editor.open(uri, MODEL)
    return uri


def test_what_is_wrong_is_reported_when_a_text_is_opened(editor: Editor, uri: str) -> None:
    found = editor.findings(uri, 1)
    assert [(d["code"], d["severity"], d["range"]["start"]["line"]) for d in found] == [("D001", 1, 7), ("P004", 1, 9)]
    assert "did you mean 'axis'?" in found[0]["message"]
    assert written(found[1]["range"]) == "FP16"


def test_a_change_is_checked_again(editor: Editor, uri: str) -> None:
    start = place(7, "axes")
    end = start | {"character": start["character"] + 4}
    editor.change(uri, 2, [{"range": {"start": start, "end": end}, "text": "axis"}])
    assert [d["code"] for d in editor.findings(uri, 2)] == ["P004"]
    editor.change(uri, 3, [{"text": MODEL.replace("FP16", "FP32")}])
    assert [d["code"] for d in editor.findings(uri, 3)] == ["D001"]


def test_of_quick_changes_only_the_last_is_reported(editor: Editor, uri: str) -> None:
    for version in range(2, 30):
        editor.change(uri, version, [{"text": MODEL[: len(MODEL) - 40 + version]}])
    assert editor.findings(uri, 29)[0]["code"].startswith("X")
    editor.change(uri, 30, [{"text": MODEL}])
    assert [d["code"] for d in editor.findings(uri, 30)] == ["D001", "P004"]


def test_weights_that_appear_are_seen_when_the_text_is_saved(editor: Editor, tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "samples" / "classifier"
    model, uri = tmp_path / "model.xml", address(tmp_path / "model.xml")
    assert editor.open(uri, (sample / "model.xml").read_text())
    (tmp_path / "model.bin").write_bytes((sample / "model.bin").read_bytes())
    del editor.diagnostics[uri]
    editor.notify("textDocument/didSave", {"textDocument": {"uri": uri}})
    assert editor.findings(uri, 1) == []
    assert not model.exists()


def test_findings_that_a_text_asks_to_ignore_are_not_shown(editor: Editor, tmp_path: Path) -> None:
    text = MODEL.replace("<layers>", "<!-- irexec: ignore D001 --><layers>")
    assert [d["code"] for d in editor.open(address(tmp_path / "ignoring.xml"), text)] == ["P004"]


def test_a_closed_text_has_no_findings(editor: Editor, uri: str) -> None:
    editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    while editor.diagnostics[uri]["diagnostics"]:
        editor._take()
    assert editor.at("hover", uri, 6, 3) is None


def test_the_text_form_has_findings_where_they_are_written(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "m.irt")
    text = "model m (x: f32[2]) -> (y)\n  y = SoftMax(x) axes=0\n"
    (finding,) = editor.open(uri, text)
    assert (finding["code"], finding["range"]["start"]) == ("D001", {"line": 1, "character": 17})


def test_loose_layers_have_findings_too(editor: Editor, tmp_path: Path) -> None:
    sample = Path(__file__).parents[2] / "samples" / "scatter_nd_update" / "example_2.xml"
    found = editor.open(address(tmp_path / "snippet.xml"), sample.read_text())
    assert "O001" in [d["code"] for d in found]


@pytest.mark.parametrize("text", ["", "<", "<net", "not xml", "\0", "<net><layers><layer", "ä"])
def test_any_text_may_be_open(editor: Editor, tmp_path: Path, text: str) -> None:
    uri = address(tmp_path / "odd.xml")
    assert editor.open(uri, text)
    for method in ("hover", "definition", "completion", "documentSymbol", "foldingRange", "prepareRename"):
        editor.at(method, uri, 0, len(text))


# Fixes


def test_quick_fixes_are_those_of_irexec_fix(editor: Editor, uri: str) -> None:
    unsafe, safe = actions(editor, uri)
    assert unsafe["title"] == "rename axes to axis (unsafe)"
    assert (safe["title"], safe["isPreferred"]) == ("declare FP32", True)
    assert [d["code"] for d in safe["diagnostics"]] == ["P004"]
    fixed = applied(unsafe["edit"]["changes"][uri] + safe["edit"]["changes"][uri])
    assert fixed == MODEL.replace("axes", "axis").replace("FP16", "FP32")


def test_a_fix_is_offered_only_where_its_finding_is(editor: Editor, uri: str) -> None:
    here = {"start": place(9, "FP16"), "end": place(9, "FP16")}
    found = editor.request(
        "textDocument/codeAction", {"textDocument": {"uri": uri}, "range": here, "context": {"diagnostics": []}}
    )
    assert [action["title"] for action in found] == ["declare FP32"]


def test_a_text_that_is_not_xml_can_be_corrected(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "broken.xml")
    (found,) = editor.open(uri, MODEL.replace("</layers>", ""))
    assert found["code"] == "X001"
    (action,) = actions(editor, uri)
    assert action["title"] == "add </layers>"
    assert "</layers>" in action["edit"]["changes"][uri][0]["newText"]


def test_all_safe_fixes_together(editor: Editor, uri: str) -> None:
    (action,) = actions(editor, uri, ["source.fixAll"])
    (edit,) = action["edit"]["changes"][uri]
    start, end = edit["range"]["start"], edit["range"]["end"]
    lines = MODEL.splitlines(keepends=True)
    assert start["character"] == end["character"] == 0
    fixed = "".join([*lines[: start["line"]], edit["newText"], *lines[end["line"] :]])
    assert fixed == MODEL.replace("FP16", "FP32")


# Information at a position


@pytest.mark.parametrize(
    ("line", "text", "told"),
    [
        (6, "SoftMax", ["**SoftMax-8**", "`axis`", "activation/softmax-8.html", "outputs: `f32[1,3,8]`"]),
        (3, "shape", ["`shape`: partial shape", "required"]),
        (9, "precision", ["declared `f16[1,3,8]`", "inferred `f32[1,3,8]`"]),
        (12, "<dim>", ["declared `f32[1,3,8]`", "inferred `f32[1,3,8]`"]),
        (16, "from-layer", ["from Parameter 'x' port 0 `f32[1,3,8]`", "to SoftMax 'söft𝄞' port 0"]),
    ],
)
def test_hover(editor: Editor, uri: str, line: int, text: str, told: list[str]) -> None:
    where = place(line, text)
    shown = editor.at("hover", uri, where["line"], where["character"] + 1)["contents"]["value"]
    for words in told:
        assert words in shown


def test_hover_of_an_input_gives_the_sizes_that_the_model_accepts(editor: Editor) -> None:
    sample = Path(__file__).parents[2] / "samples" / "segmenter" / "model.xml"
    text = sample.read_text()
    editor.open(address(sample), text)
    line = next(number for number, line in enumerate(text.splitlines()) if 'type="Parameter"' in line)

    def hovered() -> str:
        """Return the hover text after a new study: on a busy machine a study may not be complete within its time."""
        versions.append(len(versions) + 2)
        whole = {"text": text}
        editor.change(address(sample), versions[-1], [whole])
        column = text.splitlines()[line].index("Parameter") + 1
        value: str = editor.at("hover", address(sample), line, column)["contents"]["value"]
        return "" if "incomplete" in value else value

    versions: list[int] = []
    shown = until(hovered, "a complete study")
    assert "accepted sizes\n\n- image: `[batch, 3, H, W]`\n- batch: `any`\n- H: `multiples of 4, at least 4`" in shown


def test_an_inlay_hint_of_an_input_gives_the_sizes_that_the_model_accepts(editor: Editor) -> None:
    sample = Path(__file__).parents[2] / "samples" / "segmenter" / "model.xml"
    text = sample.read_text()
    editor.open(address(sample), text)
    versions: list[int] = []

    def hinted() -> list[str]:
        versions.append(len(versions) + 2)
        editor.change(address(sample), versions[-1], [{"text": text}])
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 8, "character": 0}}
        hints = editor.request("textDocument/inlayHint", {"textDocument": {"uri": address(sample)}, "range": whole})
        return [hint["label"] for hint in hints if "multiples" in hint["label"]]

    told = "[batch, 3, H, W]; H: multiples of 4, at least 4; W: multiples of 4, at least 4"
    assert until(hinted, "a complete study") == [told]


def test_hover_of_a_constant_gives_its_values(editor: Editor) -> None:
    sample = Path(__file__).parents[2] / "samples" / "classifier" / "model.xml"
    text = sample.read_text()
    editor.open(address(sample), text)
    line = next(number for number, line in enumerate(text.splitlines()) if 'type="Const"' in line)
    shown = editor.at("hover", address(sample), line, text.splitlines()[line].index("Const") + 1)["contents"]["value"]
    assert "min " in shown and "max " in shown and "mean " in shown and "zeros" in shown


@pytest.mark.parametrize(
    ("line", "before", "offered"),
    [
        (6, 'type="', {"SoftMax", "ScatterNDUpdate", "Const"}),
        (6, 'version="', {"opset8", "opset1"}),
        (8, 'precision="', {"FP32", "BF16", "I64"}),
        (16, 'from-layer="', {"0", "1", "2"}),
        (17, 'from-port="', {"1"}),
        (17, 'to-port="', {"0"}),
        (3, 'element_type="', {"f32", "bf16"}),
        (7, "<data ", {"axis"}),
    ],
)
def test_completion(editor: Editor, uri: str, line: int, before: str, offered: set[str]) -> None:
    where = place(line, before)
    items = editor.at("completion", uri, line, where["character"] + len(before))["items"]
    assert offered <= {item["label"] for item in items}


def test_layers_in_comments_are_not_offered_and_unfinished_tags_are_passed_over(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "commented.xml")
    layer = '<layer id="{}" name="a > b" type="ReLU"><output><port id="5" precision="FP32"/></output></layer>'
    lines = [f"<!-- {layer.format(7)} -->", layer.format(8), '<layer id="9', '<edge from-layer="8" from-port="']
    editor.open(uri, "\n".join(lines))

    def offered(before: str) -> list[str]:
        where = editor.at("completion", uri, 3, lines[3].index(before) + len(before))
        return [item["label"] for item in where["items"]]

    assert offered('from-layer="') == ["8"]
    assert offered('from-port="') == ["5"]


def test_an_opset_is_offered_only_where_it_has_the_type(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "typing.xml")
    editor.open(uri, text := '<layer id="0" type="SliceScatter" version="')
    labels = [item["label"] for item in editor.at("completion", uri, 0, len(text))["items"]]
    assert labels[-1] == "opset15"


def test_completion_needs_no_text_that_is_finished(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "typing.xml")
    editor.open(uri, text := '<net><layers><layer id="3" type="Interpolate" version="opset11"><data mode="')
    items = editor.at("completion", uri, 0, len(text))["items"]
    assert "bilinear_pillow" in {item["label"] for item in items}
    assert items[0]["textEdit"]["range"]["start"] == {"line": 0, "character": len(text)}


def test_a_name_with_a_value_is_replaced_alone(editor: Editor, uri: str) -> None:
    where = place(7, "axes")
    (item,) = editor.at("completion", uri, 7, where["character"] + 2)["items"]
    assert item["textEdit"]["newText"] == "axis"
    assert written(item["textEdit"]["range"]) == "axes"


# Navigation


@pytest.mark.parametrize(
    ("line", "text", "target"),
    [
        (16, 'to-layer="', '<layer id="1"'),
        (16, 'from-port="', '<port id="0" precision="FP32">'),
        (17, 'from-port="', '<port id="1" precision="FP16">'),
        (12, '<port id="', '<port id="1" precision="FP16">'),
    ],
)
def test_definition(editor: Editor, uri: str, line: int, text: str, target: str) -> None:
    where = place(line, text)
    found = editor.at("definition", uri, line, where["character"] + len(text))
    assert written(found["range"]).startswith(target)


def test_references(editor: Editor, uri: str) -> None:
    where, context = place(6, '"1"'), {"includeDeclaration": True}
    found = editor.at("references", uri, 6, where["character"] + 1, context=context)
    assert [location["range"]["start"]["line"] for location in found] == [6, 16, 17]
    where = place(9, "<port")
    found = editor.at("references", uri, 9, where["character"] + 1, context=context)
    assert [location["range"]["start"]["line"] for location in found] == [12]


def test_rename_takes_the_edges_along(editor: Editor, uri: str) -> None:
    where = place(17, '"1"')
    assert written(editor.at("prepareRename", uri, 17, where["character"] + 1)) == "1"
    edits = editor.at("rename", uri, 17, where["character"] + 1, newName="7")["changes"][uri]
    expected = MODEL.replace('<layer id="1"', '<layer id="7"').replace('-layer="1"', '-layer="7"')
    assert applied(edits) == expected


@pytest.mark.parametrize(("new", "why"), [("2", "already"), ("one", "use an integer"), ("-1", "use an integer")])
def test_a_rename_that_would_be_wrong_is_refused(editor: Editor, uri: str, new: str, why: str) -> None:
    where = place(6, '"1"')
    with pytest.raises(Refused, match=why):
        editor.at("rename", uri, 6, where["character"] + 1, newName=new)


def test_outline_folding_and_hints(editor: Editor, uri: str) -> None:
    (net,) = editor.at("documentSymbol", uri, 0, 0)
    assert [(layer["name"], layer["detail"]) for layer in net["children"]] == [
        ("x", "Parameter"),
        ("söft𝄞", "SoftMax"),
        ("y", "Result"),
    ]
    folds = {(fold["startLine"], fold["endLine"]) for fold in editor.at("foldingRange", uri, 0, 0)}
    assert {(0, 19), (1, 14), (6, 10), (15, 18)} <= folds
    shown = {"start": {"line": 17, "character": 0}, "end": {"line": 18, "character": 0}}
    (hint,) = editor.request("textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": shown})
    assert hint["label"] == "söft𝄞 f32[1,3,8] → y"
    assert hint["position"] == {"line": 17, "character": len(LINES[17])}


BODY = """<net name="loop" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2,3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="1" name="each" type="TensorIterator" version="opset1">
<input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
<output><port id="1" precision="FP32"><dim>2</dim><dim>3</dim></port></output>
<port_map><input external_port_id="0" internal_layer_id="0" axis="0"/>
<output external_port_id="1" internal_layer_id="2" axis="0"/></port_map>
<body><layers>
<layer id="0" name="row" type="Parameter" version="opset1"><data shape="1,3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></output></layer>
<layer id="2" name="out" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/></edges></body></layer>
<layer id="2" name="y" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>
"""


def test_ids_in_a_body_are_its_own(editor: Editor, tmp_path: Path) -> None:
    uri = address(tmp_path / "loop.xml")
    assert editor.open(uri, BODY) == []
    lines = BODY.splitlines()
    where = lines[11].index('"2"') + 1
    edits = editor.at("rename", uri, 11, where, newName="5")["changes"][uri]
    assert sorted(edit["range"]["start"]["line"] for edit in edits) == [7, 11, 13]
    assert editor.open(uri, applied(edits, BODY)) == []
    inner = lines[6].index("internal_layer_id") + 3
    assert editor.at("definition", uri, 6, inner)["range"]["start"]["line"] == 9


# Units of positions, and large texts


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_positions_are_counted_as_the_editor_does(encoding: str, tmp_path: Path) -> None:
    with Editor({"general": {"positionEncodings": [encoding]}}) as editor:
        assert editor.capabilities["positionEncoding"] == encoding
        uri = address(tmp_path / "units.xml")
        editor.open(uri, MODEL)
        unit = {"utf-8": 1, "utf-16": 2, "utf-32": 4}[encoding]
        before = LINES[6][: LINES[6].index("SoftMax") + 1]
        character = len(before.encode(f"{encoding}-le" if unit > 1 else encoding)) // unit
        assert "SoftMax-8" in editor.at("hover", uri, 6, character)["contents"]["value"]


def test_a_large_text_does_not_keep_typing_waiting(editor: Editor, tmp_path: Path) -> None:
    """While a text of megabytes is checked, a request about another text's tag is answered at once."""
    large = MODEL.replace(
        "</layers>",
        "".join(
            f'<layer id="{i}" name="r{i}" type="ReLU" version="opset1"><input><port id="0" precision="FP32"/></input>'
            f'<output><port id="1" precision="FP32"/></output></layer>\n'
            for i in range(3, 8000)
        )
        + "</layers>",
    )
    uri = address(tmp_path / "large.xml")
    document = {"uri": uri, "languageId": "xml", "version": 1, "text": large}
    editor.notify("textDocument/didOpen", {"textDocument": document})
    items = editor.at("completion", uri, 6, place(6, 'type="')["character"] + 6)["items"]
    assert items and uri not in editor.diagnostics
    assert editor.findings(uri, 1)


@pytest.mark.by_hand(0)
def test_a_large_text_is_answered_about_while_it_is_checked(editor: Editor, tmp_path: Path) -> None:
    """Its check starts after no key was pressed for as long as the last check took, and then takes as long again."""
    uri, layers = address(tmp_path / "large.xml"), amount(6000, 300)
    net = Net()
    last = net.parameter("x", "1,3,8")
    for _ in range(layers):
        last = net.layer("ReLU", [last], "1,3,8")
    net.result(last)
    text = net.text
    editor.open(uri, text)
    lines = text.splitlines()
    line = next(number for number, content in enumerate(lines) if f'id="{layers // 2}"' in content)
    start = {"line": 0, "character": 0}
    editor.change(uri, 2, [{"range": {"start": start, "end": start}, "text": "<!-- a\ncomment -->"}])
    told = editor.at("hover", uri, line + 1, lines[line].index("type="))
    assert "ReLU" in told["contents"]["value"]
    offered = editor.at("completion", uri, line + 1, lines[line].index('type="') + 7)
    assert offered["items"]
    editor.change(uri, 3, [{"range": {"start": start, "end": start}, "text": " "}])
    assert editor.findings(uri, 3) == []
