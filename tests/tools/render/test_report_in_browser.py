"""The report in a browser: loading, search, opening blocks, overlays, keyboard control, and no errors on the
console.
"""

from __future__ import annotations

import shlex
import struct
import zlib
from pathlib import Path

import pytest
from support.browser import NO_BROWSER, PROGRAM, Browser
from support.drawable import altered
from support.nets import iterating

from irexec.cli.main import main
from irexec.frontends.reading import read
from irexec.tools.inspect.read import summary_of
from irexec.tools.render.report.page import report_page

SAMPLES = Path(__file__).parents[3] / "samples"
pytestmark = pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)


def colours(png: bytes) -> int:
    """Return the number of different rows of pixels in a picture: 1 for a blank picture."""
    data, position = b"", 8
    while position < len(png):
        length, kind = struct.unpack(">I4s", png[position : position + 8])
        if kind == b"IHDR":
            width = struct.unpack(">I", png[position + 8 : position + 12])[0]
            channels = {2: 3, 6: 4}[png[position + 17]]
        if kind == b"IDAT":
            data += png[position + 8 : position + 8 + length]
        position += 12 + length
    lines, size = zlib.decompress(data), width * channels + 1
    return len({lines[n : n + size] for n in range(0, len(lines), size)})


def words(browser: Browser, selector: str) -> str:
    return str(browser.run(f"document.querySelector({selector!r}).textContent"))


def test_it_opens_without_a_complaint_and_is_not_blank(browser: Browser, report: Path) -> None:
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(report)
        assert browser.errors == []
        assert colours(browser.picture()) > 50
    browser.prefer("light")
    assert words(browser, "#panel h2") == "stack"


def test_search_finds_a_layer_and_opens_the_block_that_holds_it(browser: Browser, report: Path) -> None:
    browser.open(report)
    assert browser.run("document.querySelectorAll('.open').length") == 0
    browser.press("/")
    for key in "r.7/relu":
        browser.press(key)
    assert words(browser, "#panel h2") == "1 layer"
    browser.press("Enter")
    assert words(browser, "#panel h2") == "net/layer.7/relu"
    assert words(browser, ".open .title") == "▾ block 8 of 12 net/layer.7"
    box = "document.querySelector('.selected').getBoundingClientRect()"
    canvas = "document.querySelector('#canvas').getBoundingClientRect()"
    assert browser.run(f"{box}.top > {canvas}.top && {box}.bottom < {canvas}.bottom && {box}.left > {canvas}.left")
    assert browser.errors == []


def test_a_block_opens_by_a_click_and_closes_again(browser: Browser, report: Path) -> None:
    browser.open(report)
    drawn = browser.run("document.querySelector('#view').innerHTML")
    place = "document.querySelectorAll('.opens')[1].getBoundingClientRect().top"
    before = browser.run(place)
    browser.click("#b1 .closed .type")
    assert browser.run("document.querySelector('#b1').getAttribute('aria-expanded')") == "true"
    assert browser.run(place) > before + 300
    assert browser.run("document.querySelector('#b1 .inside').getBoundingClientRect().height") > 300
    browser.run("setOpen(document.querySelector('#b1'), false); arrangeAll(); mark(null)")
    assert browser.run("document.querySelectorAll('path.wire').length > 10")
    again = browser.run("document.querySelector('#view').innerHTML")
    clean = '(text) => text.replace(/ (tabindex|transform|aria-expanded|class|width|height|data-x)="[^"]*"/g, \'\')'
    assert browser.run(f"({clean})({again!r})") == browser.run(f"({clean})({drawn!r})")


OVERLAPS = """(() => {
  let wrong = 0;
  for (const g of document.querySelectorAll(".graph")) {
    const shape = shapeOf(g), rows = new Map();
    for (const box of shape.boxes) {
      const place = box.element.getBoundingClientRect();
      if (!place.width) continue;
      if (!rows.has(box.row)) rows.set(box.row, []);
      const half = (box.open ? box.open[0] : box.w) / 2;
      rows.get(box.row).push([box.dx - half, box.dx + half]);
    }
    for (const row of rows.values()) {
      row.sort((a, b) => a[0] - b[0]);
      for (let n = 1; n < row.length; n++) if (row[n][0] < row[n - 1][1]) wrong++;
    }
    for (const wire of g.querySelectorAll(":scope > .wire:not(.far)"))
      for (const part of wire.getAttribute("d").split("M").slice(1)) {
        const numbers = part.match(/-?[\\d.e]+/g).map(Number);
        if (numbers[numbers.length - 1] <= numbers[1]) wrong++;
      }
  }
  return wrong;
})()"""


def test_nothing_overlaps_and_lines_go_down_when_all_is_open(browser: Browser, report: Path) -> None:
    browser.open(report)
    assert browser.run(OVERLAPS) == 0
    browser.click("#all")
    assert browser.run("document.querySelectorAll('.open').length") == 12
    assert browser.run(OVERLAPS) == 0
    joined = """[...document.querySelectorAll('#b3 .branch > .graph > .stub.enters')].every((stub) => {
      const wire = view.querySelector(`.graph > path.wire[data-v="${stub.dataset.v}"]`), end = wire.getTotalLength();
      const point = wire.getPointAtLength(end).matrixTransform(wire.getScreenCTM());
      const place = stub.getBoundingClientRect();
      return Math.abs(point.x - place.x - place.width / 2) < 1;
    })"""
    assert browser.run(joined) is True
    browser.click("#all")
    assert browser.run("document.querySelectorAll('.open').length") == 0


def test_an_overlay_switches(browser: Browser, report: Path) -> None:
    browser.open(report)
    assert browser.run("[...document.querySelector('#overlay').options].map((o) => o.value)") == [
        "", "work", "memory", "time", "magnitude", "nan",
    ]  # fmt: skip
    browser.run("openAll(true)")
    for key, box in (("time", ".value"), ("nan", ".value")):
        browser.run(f"choice.value = '{key}'; choice.dispatchEvent(new Event('change'))")
        assert browser.run(f"document.querySelectorAll('{box}').length") >= 1
    assert words(browser, "#l30 .value, .hot .value").startswith("✖ produced here: 3 NaN")
    assert not browser.run("document.querySelector('#legend').hidden")
    browser.run("choice.value = ''; choice.dispatchEvent(new Event('change'))")
    assert browser.run("document.querySelectorAll('.value, .heat').length") == 0


def test_the_most_expensive_layers_are_ranked(browser: Browser, report: Path) -> None:
    browser.open(report)
    title = "[...document.querySelectorAll('#panel h3')].find((h) => h.textContent.includes(' (10 of 12)'))"
    first = f"{title}.nextSibling.textContent"
    assert browser.run(f"{title}.textContent") == "most expensive layers (10 of 12)"
    assert browser.run(first).startswith("net/layer.11/relu12 ms · 15 %net/layer.10/relu")
    browser.run("choice.value = 'magnitude'; choice.dispatchEvent(new Event('change'))")
    assert browser.run(f"{title}.textContent") == "layers by magnitude (10 of 12)"


def test_numbers_have_no_line_breaks(browser: Browser, report: Path) -> None:
    browser.open(report)
    parts = (
        "((words) => [...soft(words).childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).filter(Boolean))"
    )
    for words in ("8.42 ms · 16 % of it", "range -4 … 1e-05, 1,024"):
        assert browser.run(f"{parts}('{words}')") == [words]
    assert browser.run(f"{parts}('net/layer.a/conv-b')") == ["net/", "layer.", "a/", "conv-", "b"]


def test_names_stay_legible_under_an_overlay(browser: Browser, report: Path) -> None:
    """Parameters and results are dark where other layers are light: their names are not drawn in a dark colour."""
    browser.open(report)
    colour = "getComputedStyle(document.querySelector('.port > .name')).fill"
    before = browser.run(colour)
    browser.run("choice.value = 'memory'; choice.dispatchEvent(new Event('change'))")
    assert browser.run("document.querySelectorAll('.port.hot').length") >= 1
    assert browser.run("getComputedStyle(document.querySelector('.port.hot > .name')).fill") == before


def test_a_comparison_is_shown_immediately(
    browser: Browser, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = str(SAMPLES / "classifier" / "model.xml")
    assert main(["compare", model, "--with", model, "--shape", "image=1,3,32,32", "--format", "json"]) == 0
    (tmp_path / "found.json").write_text(capsys.readouterr().out)
    assert main(["report", model, "--compare", str(tmp_path / "found.json"), "-o", str(tmp_path / "out.html")]) == 0
    browser.open(tmp_path / "out.html")
    assert browser.run("choice.value") == "error"
    assert browser.run("document.querySelectorAll('.hot').length") >= 5


def test_times_on_a_device_are_shown_immediately(browser: Browser, tmp_path: Path) -> None:
    row = "stem/conv;Status.EXECUTED;Convolution;brgconv_avx2;0.300;0.300;"
    table = f"layerName;execStatus;layerType;execType;realTime (ms);cpuTime (ms);\n{row}\n"
    (tmp_path / "counters.csv").write_text(table)
    model, out = str(SAMPLES / "classifier" / "model.xml"), str(tmp_path / "out.html")
    assert main(["report", model, "--counters", str(tmp_path / "counters.csv"), "-o", out]) == 0
    browser.open(tmp_path / "out.html")
    assert browser.run("choice.value") == "device"
    assert browser.run("document.querySelectorAll('.hot').length") >= 1


def test_the_keys_follow_the_connections(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.run("document.querySelector('#canvas').focus()")
    seen = []
    for key in ("ArrowDown", "ArrowDown", "Enter", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        browser.press(key)
        seen.append(browser.run("document.querySelector('.selected').textContent.split(' ')[0].slice(0, 12)"))
    assert browser.run("document.activeElement === document.querySelector('.selected')")
    assert browser.run("document.querySelector('#b1').classList.contains('open')")
    assert seen[0].startswith("Parameter")
    assert [word for word in seen if word.startswith("MatMul")]
    browser.press("Escape")
    assert words(browser, "#panel h2") == "stack"
    browser.press("?")
    assert not browser.run("document.querySelector('#keys').hidden")


def test_colours_follow_the_system_and_the_switch(browser: Browser, report: Path) -> None:
    browser.prefer("light")
    browser.open(report)
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.prefer("dark")
    dark = browser.run(paper)
    assert light != dark
    browser.press("t")
    assert browser.run(paper) == light
    browser.press("t")
    assert browser.run(paper) == dark
    browser.prefer("light")
    assert browser.run(paper) == dark


def test_everything_has_a_name_for_those_who_do_not_see_it(browser: Browser, report: Path) -> None:
    browser.open(report)
    unnamed = """[...document.querySelectorAll('button, input, select, [role=button]')].filter((e) =>
        !(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length"""
    assert browser.run(unnamed) == 0
    browser.run("choose(1)")
    assert browser.run("document.querySelector('#said').textContent")
    assert browser.run("document.documentElement.lang") == "en"


def test_a_body_opens_in_its_layer(browser: Browser, tmp_path: Path) -> None:
    model = tmp_path / "loop.xml"
    model.write_text(iterating().text, "utf-8")
    found, _ = summary_of(read(model, mode="strict"))
    assert found is not None
    path = tmp_path / "loop.html"
    path.write_text(report_page([found]), "utf-8")
    browser.open(path)
    inner = next(layer.index for layer in found.layers if layer.name == "inner")
    browser.run(f"choose({inner})")
    assert browser.run(f"document.querySelector('#l{inner}').getBoundingClientRect().width") > 20
    assert "in the body of" in words(browser, "#panel")
    assert browser.run(OVERLAPS) == 0
    assert browser.errors == []


def test_findings_are_shown_at_their_layer(browser: Browser, tmp_path: Path) -> None:
    sample = SAMPLES / "classifier"
    (tmp_path / "m.xml").write_text((sample / "model.xml").read_text("utf-8").replace('axis="1"', 'axes="0"'), "utf-8")
    (tmp_path / "m.bin").write_bytes((sample / "model.bin").read_bytes())
    found, _ = summary_of(read(tmp_path / "m.xml", mode="strict"))
    assert found is not None
    (tmp_path / "m.html").write_text(report_page([found]), "utf-8")
    browser.open(tmp_path / "m.html")
    assert "✖ error" in words(browser, ".found .flag")
    browser.run("bring(document.querySelector('.found'))")
    browser.click(".found .type")
    panel = words(browser, "#panel")
    assert "✖ error D001" in panel and "did you mean 'axis'?" in panel
    assert "irexec cut" in panel and "--around=probabilities" in panel


@pytest.mark.by_hand(0)
def test_two_models_stand_side_by_side(browser: Browser, tmp_path: Path) -> None:
    a, b = altered(tmp_path)
    path = tmp_path / "two.html"
    assert main(["report", str(a), "--diff", str(b), "--run", "--shape", "image=1,3,32,32", "-o", str(path)]) == 0
    browser.open(path)
    assert browser.run("document.querySelectorAll('#view > .side').length") == 2
    assert browser.run("choice.value") == "diff"
    changed = browser.run("[...document.querySelectorAll('.box .value')].map((e) => e.textContent)")
    assert "− ReLU after block2/depthwise/norm" in changed
    assert changed.count("± ReLU became Sigmoid") == 2
    assert sum("largest error" in text for text in changed) == 2  # A constant, at the layer with which it is drawn.
    assert browser.run(OVERLAPS) == 0
    browser.run("choose(data.layers.findIndex((layer) => layer.n === 'head'))")
    first, other = browser.run("[...document.querySelectorAll('.selected, .twin')].map((e) => e.getScreenCTM().f)")
    assert abs(first - other) < 1
    assert "head" in words(browser, ".selected") and "head" in words(browser, ".twin")
    beside = "sides.indexOf(document.querySelector('.selected').closest('.side'))"
    assert browser.run(beside) == 0
    browser.press("m")
    assert browser.run(beside) == 1
    assert str(b) in words(browser, "#panel") and browser.run("document.querySelectorAll('.histogram rect').length") > 5
    browser.press("Escape")
    browser.click(".changes .link")
    assert words(browser, "#panel h2") == "block2/depthwise/relu"
    assert "no such layer" in words(browser, "#panel")
    assert browser.errors == []


def test_the_command_that_a_layer_offers_cuts_it_out(browser: Browser, tmp_path: Path) -> None:
    model = SAMPLES / "classifier" / "model.xml"
    path = tmp_path / "m.html"
    assert main(["report", str(model), "-o", str(path)]) == 0
    browser.open(path)
    offered = browser.run("""data.layers.map((layer, index) => {
        choose(index);
        return document.querySelector('#panel .command:not(.text) code')?.textContent;
    })""")
    types = browser.run("data.layers.map((layer) => text(layer.t))")
    assert {t for t, command in zip(types, offered, strict=True) if not command} == {"Parameter", "Const", "Result"}
    for command in [command for command in offered if command][::4]:
        arguments = shlex.split(command)
        assert arguments[:2] == ["irexec", "cut"]
        assert main([*arguments[1:], "--shape", "image=1,3,32,32", "-o", str(tmp_path / "cut.xml")]) == 0


def test_a_layer_can_be_copied_in_the_text_form(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "m.html"
    assert main(["report", str(SAMPLES / "classifier" / "model.xml"), "-o", str(path)]) == 0
    browser.open(path)
    browser.run("choose(data.layers.findIndex((layer) => layer.n === 'head'))")
    line = "head = MatMul-1(mean, head/weights)  # f32[?,10]"
    assert words(browser, "#panel .text code") == line
    browser.run("document.querySelector('#panel .text button').click()")
    assert browser.run("getSelection().toString()") == line
    assert browser.errors == []


def test_a_finding_comes_with_its_fix_and_the_command_that_makes_it(browser: Browser, tmp_path: Path) -> None:
    model = tmp_path / "m.xml"
    model.write_text((SAMPLES / "classifier" / "model.xml").read_text("utf-8").replace('axis="1"', 'axes="0"'), "utf-8")
    (tmp_path / "m.bin").write_bytes((SAMPLES / "classifier" / "model.bin").read_bytes())
    path = tmp_path / "m.html"
    assert main(["report", str(model), "-o", str(path)]) == 0
    browser.open(path)
    assert "rename axes to axis (may change the results)" in words(browser, ".finding .fix")
    command = shlex.split(words(browser, ".finding .fix .command code"))
    assert command == ["irexec", "fix", str(model), "--unsafe", "--select", "D001"]
    assert main(command[1:]) == 0
    assert 'axes="0"' not in model.read_text("utf-8")


def test_print_shows_the_whole_graph(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run("graph.getAttribute('viewBox').split(' ').length") == 4
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("graph.getAttribute('viewBox')") is None


def test_escape_closes_the_help_before_anything_else(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.press("/")
    for key in "r.7/relu":
        browser.press(key)
    browser.press("Enter")
    browser.run("document.querySelector('#query').blur()")
    browser.press("?")
    assert not browser.run("document.querySelector('#keys').hidden")
    browser.press("Escape")
    assert browser.run("document.querySelector('#keys').hidden")
    assert words(browser, "#panel h2") == "net/layer.7/relu", "the chosen layer stays"
    browser.press("Escape")
    assert words(browser, "#panel h2") == "stack"
    assert browser.run("document.querySelector('#query').value") == ""
    assert browser.run("document.querySelectorAll('.selected, .lit').length") == 0


def test_arrows_walk_the_hits_of_a_search(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.press("/")
    for key in "relu":
        browser.press(key)
    found = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "ArrowUp", "ArrowDown"):
        browser.press(key)
        found.append(words(browser, "#panel h2"))
    assert found[0] == found[2] == found[4] != found[1]
    assert found[3] not in found[:2], "the last one is before the first one"
    browser.press("Escape")
    assert browser.run("document.querySelector('#query').value") == ""
    assert browser.run("document.querySelectorAll('.selected, .lit').length") == 0
    assert words(browser, "#panel h2") == "stack"


def test_layers_that_compute_are_found_before_constants(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "classifier.html"
    assert main(["report", str(SAMPLES / "classifier" / "model.xml"), "-o", str(path)]) == 0
    browser.open(path)
    browser.press("/")
    for key in "block1/pointwise":
        browser.press(key)
    types = browser.run("[...document.querySelectorAll('#panel p > .soft')].slice(0).map((e) => e.textContent)")
    assert len(set(types)) > 3
    first = types.index("Const")
    assert set(types[first:]) == {"Const"} and first > 2


@pytest.mark.by_hand(0)
def test_a_link_chooses_a_layer(browser: Browser, report: Path) -> None:
    browser.open(report)
    browser.press("/")
    for key in "r.7/relu":
        browser.press(key)
    browser.press("Enter")
    link = browser.run("location.hash")
    assert link == "#layer=net%2Flayer.7%2Frelu"
    browser.open(report)
    assert words(browser, "#panel h2") == "stack"
    browser.run(f"void (location.hash = {link!r})")
    browser.until("document.querySelector('#panel h2').textContent === 'net/layer.7/relu'")
    browser.run("void (location.hash = '#layer=nothing')")
    assert words(browser, "#panel h2") == "net/layer.7/relu"
    assert browser.errors == []
