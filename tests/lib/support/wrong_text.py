"""A model with errors as it is open in an editor, and positions in its text."""

from __future__ import annotations

from typing import Any

from support.editor import Editor

MODEL = """<net name="wrong" version="11">
<layers>
<layer id="0" name="x" type="Parameter" version="opset1">
<data shape="1,3,8" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>8</dim></port></output>
</layer>
<layer id="1" name="söft𝄞" type="SoftMax" version="opset8">
<data axes="2"/>
<input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>8</dim></port></input>
<output><port id="1" precision="FP16"><dim>1</dim><dim>3</dim><dim>8</dim></port></output>
</layer>
<layer id="2" name="y" type="Result" version="opset1">
<input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>8</dim></port></input>
</layer>
</layers>
<edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
</edges>
</net>
"""
LINES = MODEL.splitlines()


def place(line: int, text: str) -> dict[str, int]:
    """Return the position of a text on a line, in UTF-16 code units."""
    before = LINES[line][: LINES[line].index(text)]
    return {"line": line, "character": len(before.encode("utf-16-le")) // 2}


def written(range: dict[str, Any], text: str = MODEL) -> str:
    """Return the text of a range on one line."""
    line = text.splitlines()[range["start"]["line"]].encode("utf-16-le")
    return line[range["start"]["character"] * 2 : range["end"]["character"] * 2].decode("utf-16-le")


def applied(edits: list[dict[str, Any]], text: str = MODEL) -> str:
    """Return a text with edits of single lines applied."""
    lines = [line.encode("utf-16-le") for line in text.splitlines(keepends=True)]
    spans = [(edit["range"]["start"], edit["range"]["end"], edit["newText"].encode("utf-16-le")) for edit in edits]
    for start, end, new in sorted(spans, key=lambda span: (span[0]["line"], span[0]["character"]), reverse=True):
        line = lines[start["line"]]
        lines[start["line"]] = line[: start["character"] * 2] + new + line[end["character"] * 2 :]
    return b"".join(lines).decode("utf-16-le")


def actions(editor: Editor, uri: str, only: list[str] | None = None) -> list[dict[str, Any]]:
    """Return the actions that the server offers for the whole text."""
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(LINES), "character": 0}}
    context = {"diagnostics": []} | ({"only": only} if only else {})
    found: list[dict[str, Any]] = editor.request(
        "textDocument/codeAction", {"textDocument": {"uri": uri}, "range": whole, "context": context}
    )
    return found
