"""Files in the form of converters are read by patterns, to the same document as tag by tag."""

from __future__ import annotations

from pathlib import Path

import pytest

from irexec.core.diagnostics.findings import Findings
from irexec.ir.document import Net
from irexec.ir.reader import read_document
from irexec.ir.xml.elements import Elements
from irexec.ir.xml.source import Source

SAMPLES = Path(__file__).parents[2] / "samples"
DATA, NAMED = '<data axis="0" />', '<port id="2" precision="FP32" names="a,b"><dim>4</dim></port>'
PORT = '<port id="{}" precision="FP32"><dim>2</dim><dim>3</dim></port>'
INPUT = f"<input>{PORT.format(0)}{PORT.format(1)}</input>"
OUTPUT = f"<output>{NAMED}</output>"
MANY = f"<input>{''.join(PORT.format(number) for number in range(200))}</input>"
INFO = '<rt_info><attribute name="fused_names" version="0" value="a" /></rt_info>'


def layer(*sections: str, tag: str = 'id="1" name="n" type="Concat" version="opset1"') -> str:
    return f"<layer {tag}>{''.join(sections)}</layer>"


LAYERS = {
    "nothing in it": layer(),
    "all sections": layer(DATA, INPUT, OUTPUT),
    "blanks between": layer("\n\t", DATA, "\n", INPUT.replace("<dim>", "\n <dim>"), "\n", OUTPUT, " "),
    "another order": layer(OUTPUT, INPUT, DATA),
    "other sections": layer(DATA, INFO, INPUT, "<shapes/>", OUTPUT),
    "repeated sections": layer(DATA, DATA, INPUT, OUTPUT, INPUT, DATA),
    "more sections after": layer(DATA, INPUT, OUTPUT, INFO),
    "a port with more in it": layer(INPUT.replace("</port></input>", f"{INFO}</port></input>"), OUTPUT),
    "ports of another form": layer(INPUT.replace('id="1" precision="FP32"', 'precision="FP32" id="1"'), OUTPUT),
    "ports without dims": layer(INPUT.replace("<dim>2</dim><dim>3</dim>", ""), "<output></output>"),
    "empty ports": layer('<input><port id="0" precision="FP32"/></input><output/>'),
    "references": layer(DATA.replace("0", "&#48;"), INPUT.replace(">3<", ">&#51;<"), OUTPUT.replace("a,b", "a&amp;b")),
    "comments": layer(DATA, "<!-- what -->", INPUT.replace("</port>", "<!-- <dim>9</dim> --></port>"), OUTPUT),
    "no name": layer(DATA.replace(" axis", ' names="" axis'), OUTPUT.replace("a,b", "")),
    "an attribute twice": layer('<data axis="0" axis="1"/>', INPUT),
    "many ports": layer(MANY, OUTPUT),
    "another tag": layer(DATA, INPUT, tag='name="n" id="1" type="Concat" version="opset1"'),
}


def net(text: str) -> tuple[Net | None, list[tuple[str, int | None, int | None]]]:
    source = Source(text)
    findings = Findings(source.locate)
    document = read_document(source, findings)
    told = [(finding.code, finding.line, finding.column) for finding in findings.report]
    return None if document is None else document.net, told


def same_as_tag_by_tag(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    by_patterns = net(text)
    with monkeypatch.context() as patch:
        patch.setattr(Elements, "take", lambda self, pattern: None)
        assert net(text) == by_patterns


@pytest.mark.parametrize("written", LAYERS.values(), ids=LAYERS)
def test_a_layer(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    edges = '<edge from-layer="1" from-port="2" to-layer="2" to-port="0" />\n' * 3
    text = f'<net name="m" version="11"><layers>{written}\n{layer(DATA)}</layers><edges>{edges}</edges></net>'
    same_as_tag_by_tag(text, monkeypatch)


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.xml")), ids=lambda path: path.stem)
def test_a_sample(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same_as_tag_by_tag(path.read_text(), monkeypatch)


def test_attributes_that_layers_repeat_are_kept_once() -> None:
    found, _ = net(f'<net name="m" version="11"><layers>{layer(DATA, INPUT)}{layer(DATA, OUTPUT)}</layers></net>')
    assert found is not None
    first, second = found.layers
    assert first.data == {"axis": "0"} and first.data is second.data
