"""Texts in a model, a page or recorded data are shown as data in reports, drawings and other formats."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from html import escape
from pathlib import Path

import pytest
from support.browser import NO_BROWSER, PROGRAM, Browser
from support.drawable import HOSTILE, stacked

from irexec.cli.main import main
from irexec.core.diagnostics.render.characters import visible_text
from irexec.frontends.reading import read
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.observed import Changes, Comparison, Trace
from irexec.tools.inspect.read import summary_of
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.drawing.svg import svg_document
from irexec.tools.render.model_explorer import graph_collection
from irexec.tools.render.report.page import report_page

in_browser = pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)
INERT = "document.querySelectorAll('img, b, iframe, object, embed, foreignObject, style ~ style').length"


def hostile_model(folder: Path, name: str) -> Summary:
    """Return a model with a text wherever a file may contain one: names, values of attributes (one has a finding),
    rt_info.
    """
    text = escape(name)
    dims = "<dim>1</dim><dim>4</dim>"
    given = f'<input><port id="0" precision="FP32">{dims}</port></input>'
    made = f'<output><port id="1" precision="FP32" names="{text}">{dims}</port></output>'
    edges = "".join(
        f'<edge from-layer="{n}" from-port="{int(n > 0)}" to-layer="{n + 1}" to-port="0"/>' for n in range(5)
    )
    source = f"""<net name="{text}" version="11"><layers>
<layer id="0" name="{text}/x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/>
<output><port id="0" precision="FP32" names="{text}">{dims}</port></output></layer>
<layer id="1" name="{text}/g" type="Gelu" version="opset7"><data approximation_mode="{text}"/>
<rt_info><attribute name="{text}" version="0" value="{text}"/></rt_info>{given}{made}</layer>
<layer id="2" name="{text}/v" type="ReadValue" version="opset6">
<data variable_id="{text}" variable_type="f32" variable_shape="1,4"/>{given}{made}</layer>
<layer id="3" name="{text}/a" type="Assign" version="opset6"><data variable_id="{text}"/>{given}{made}</layer>
<layer id="4" name="{text}/o" type="{text}" version="{text}">{given}{made}</layer>
<layer id="5" name="{text}/r" type="Result" version="opset1">{given}</layer>
</layers><edges>{edges}</edges>
<rt_info><conversion_parameters value="{text}"/></rt_info></net>"""
    path = folder / "hostile.xml"
    path.write_text(source, "utf-8")
    found, report = summary_of(read(path, mode="strict"))
    assert found is not None, [d.message for d in report]
    assert sum(visible_text(name) in finding["message"] for finding in found.findings) > 3
    return found


def hostile_observations(found: Summary, name: str) -> list[Trace | Comparison | Changes]:
    """Return a run, a comparison and changes, as another tool may have written them, with the text in every field."""
    histogram = {"edges": [0, 1, 2], "counts": [3, 4]}
    output = {"element_type": "f32", "shape": [1, 4], "min": 0, "max": 1, "nan": 1, "histogram": histogram}
    layers = [{"name": layer.name, "type": name} for layer in found.layers]
    changes = [{"change": name, "a": layer.name, "b": name, "text": name} for layer in found.layers]
    trace = {
        "kind": "model",
        "file": name,
        "trace": [{**layer, "seconds": 1e-3, "outputs": [output]} for layer in layers],
    }
    compared = [{**layer, "agrees": False, "own": {"ulp": 3}, "tolerance": name} for layer in layers]
    compare = {"kind": "compare", "reference": name, "other": name, "verdict": name, "layers": compared}
    return [
        Trace.model_validate(trace),
        Comparison.model_validate(compare),
        Changes.model_validate({"kind": "diff", "a": name, "b": name, "changes": changes}),
    ]


@in_browser
@pytest.mark.parametrize("name", HOSTILE)
def test_a_report_shows_texts_and_does_nothing_else(name: str, browser: Browser, tmp_path: Path) -> None:
    found = hostile_model(tmp_path, name)
    page = tmp_path / "hostile.html"
    page.write_text(report_page([found], hostile_observations(found, name)), "utf-8")
    browser.open(page)
    shown = visible_text(name)
    keys = browser.run("data.overlays.map((overlay) => overlay.key)")
    assert {"time", "magnitude", "nan", "error", "diff"} <= set(keys)
    everything = []
    for key in keys:
        browser.run(f"choice.value = {json.dumps(key)}; lay(choice.value)")
        everything.append(browser.run("document.body.innerText + view.textContent"))
    for index in range(len(found.layers)):
        browser.run(f"choose({index})")
        everything.append(browser.run("panel.innerText"))
    browser.run(f"$('query').value = {json.dumps(name)}; search()")
    assert browser.run("hits.length") == len(found.layers)
    everything.append(browser.run("panel.innerText"))
    assert browser.run(INERT) == 0
    assert browser.run("document.scripts.length") == 2
    assert sum(shown in text for text in everything) > len(found.layers)
    assert browser.run("[...document.querySelectorAll('a')].every((a) => /^https:|#/.test(a.getAttribute('href')))")
    assert browser.errors == []


@in_browser
@pytest.mark.parametrize("name", HOSTILE)
def test_names_in_blocks_do_nothing(name: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    path.write_text(report_page([summarize(stacked(8, name))]), "utf-8")
    browser.open(path)
    browser.run("openAll(true)")
    browser.run("choose(data.layers.findIndex((layer) => layer.n.endsWith('relu')))")
    heading = browser.run("document.querySelector('#panel h2').textContent")
    assert heading.replace("\\u", "").endswith("relu") and not set(heading) & set("\u202e\u2028")
    assert browser.run(INERT) == 0
    assert browser.errors == []


@pytest.mark.parametrize("name", HOSTILE)
def test_drawings_and_other_formats_hold_the_texts_as_data(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = hostile_model(tmp_path, name)
    usual = hostile_model(tmp_path, "plain")
    kinds = [[e.tag for e in ElementTree.fromstring(svg_document(s)).iter()] for s in (found, usual)]
    assert kinds[0] == kinds[1]
    hostile_model(tmp_path, name)
    for kind in ("svg", "json", "model-explorer", "text"):
        main(["show", str(tmp_path / "hostile.xml"), "--format", kind])
        printed = capsys.readouterr().out
        if kind == "svg":
            assert not {e.tag.rpartition("}")[2] for e in ElementTree.fromstring(printed).iter()} & {
                "script",
                "image",
                "a",
            }
        elif kind == "text":
            assert not set(printed) & set("\u202e\u2028\x1b")
        else:
            assert json.loads(printed)
    nodes = graph_collection(found)["graphs"][0]["nodes"]
    assert len(nodes) == len(found.layers) == 6
    assert {"key": "approximation_mode", "value": name} in next(n for n in nodes if n["label"] == "Gelu")["attrs"]


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_of_examples_shows_the_texts(name: str, tmp_path: Path) -> None:
    """The report of a page has no script, and as many elements as the report of a page with plain texts."""
    from irexec.tools.render.report.examples import examples_page

    pages = []
    for text in (name, "plain"):
        layer = (
            f'<layer id="0" name="{escape(text)}" type="ReLU" version="opset1"><data mode="{escape(text)}"/></layer>'
        )
        (tmp_path / "page.xml").write_text(layer, "utf-8")
        pages.append(examples_page(tmp_path / "page.xml", (tmp_path / "page.xml").read_bytes()))
    assert "<script" not in pages[0] and "<img" not in pages[0]
    assert pages[0].count("<tr") == pages[1].count("<tr")
    assert visible_text(escape(escape(name))) in visible_text(pages[0])
