"""The report's views in a browser: from the top, the whole model in columns, the mini-map; and the
accessibility tree.
"""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import NO_BROWSER, PROGRAM, Browser
from support.drawable import stacked

import irexec
from irexec import opset15
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.report.page import report_page

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)

BOXES = """[...document.querySelectorAll('#view .box')].map((box) => box.querySelector(
    ':scope > .body, :scope > .closed > .body').getBoundingClientRect()).filter((r) => r.width)"""
OVERLAPPING = """(all) => all.filter((a, n) => all.slice(n + 1).some((b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom)).length"""
ROOM = "document.querySelector('#canvas').getBoundingClientRect()"


def tall(folder: Path) -> Path:
    """The path of the report on sixty layers in a line, next to which a value passes from the first to the last."""
    rng = random.Random(1)
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for number in range(60):
        value = rng.choice([opset15.relu, opset15.tanh, opset15.sigmoid])(value, name=f"n{number}")
        if number in (20, 21, 40):
            value = opset15.add(value, x, name=f"add{number}")
    path = folder / "tall.html"
    path.write_text(report_page([summarize(irexec.Model([value], [x], "tall"))]), "utf-8")
    return path


def test_the_first_view_begins_at_the_top_and_can_be_read(browser: Browser, tmp_path: Path) -> None:
    browser.open(tall(tmp_path))
    assert browser.run("at.k") == 1
    assert browser.run(f"{BOXES}[0].top - {ROOM}.top < 60")


def test_all_of_a_tall_graph_is_seen_in_columns(browser: Browser, tmp_path: Path) -> None:
    browser.open(tall(tmp_path))
    line = browser.run(f"Math.min({ROOM}.width / size[0], {ROOM}.height / size[1])")
    browser.click("#fit")
    assert browser.run("shapeOf(sides[0].lastElementChild).columns") >= 4
    assert browser.run("at.k") > 2 * line
    assert browser.run(f"""{BOXES}.every((r) => r.left >= {ROOM}.left && r.right <= {ROOM}.right
        && r.top >= {ROOM}.top && r.bottom <= {ROOM}.bottom)""")
    assert browser.run(f"({OVERLAPPING})({BOXES})") == 0
    # A line that continues in another column ends where one of its boxes begins.
    joined = """[...view.querySelectorAll('.wire')].filter((w) => /H/.test(w.getAttribute('d'))).map((wire) => {
        const end = wire.getPointAtLength(wire.getTotalLength()).matrixTransform(wire.getScreenCTM());
        return [...document.querySelectorAll('.box > .body')].some((b) => { const r = b.getBoundingClientRect();
          return end.x > r.left && end.x < r.right && Math.abs(end.y - r.top) < 2; });
      })"""
    ends = browser.run(joined)
    assert len(ends) >= 3 and all(ends)
    browser.press("Home")
    assert browser.run("foot === null && at.k === 1")
    assert browser.errors == []


def test_a_layer_is_found_and_a_block_opens_in_columns(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "many.html"
    path.write_text(report_page([summarize(stacked(60))]), "utf-8")
    browser.open(path)
    names = "[...document.querySelectorAll('.graph > .block > .closed > .type')].map((e) => e.textContent)"
    assert browser.run(names)[:2] == ["▸ blocks 1 to 8 of 60", "▸ block 1 of 60"]
    browser.press("0")
    browser.run("choose(data.layers.findIndex((layer) => layer.n === 'net/layer.33/relu'))")
    place = "document.querySelector('.selected').getBoundingClientRect()"
    assert browser.run(f"{place}.top > {ROOM}.top && {place}.bottom < {ROOM}.bottom && {place}.left > {ROOM}.left")
    assert browser.run("document.querySelectorAll('.open').length") == 2


def painted(browser: Browser) -> Any:
    browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return browser.run("""(() => {
      const seen = map.getContext('2d').getImageData(0, 0, map.width, map.height).data;
      if (new Set(seen.filter((_, n) => n % 4 === 3)).size === 1) return null;
      return [...seen].reduce((sum, part, n) => (sum * 31 + part * n) % 1e9, 7);
    })()""")


def test_the_map_shows_the_visible_part_and_moves_the_view_on_a_click(
    browser: Browser, report: Path, tmp_path: Path
) -> None:
    browser.open(tall(tmp_path))
    plain = painted(browser)
    assert plain and not browser.run("document.querySelector('#overview').hidden")
    top = browser.run("document.querySelector('#lens').getBoundingClientRect().top")
    x, y = browser.run("[map.getBoundingClientRect().x + 30, map.getBoundingClientRect().bottom - 40]")
    press = {"button": "left", "buttons": 1, "clickCount": 1}
    for kind in ("mousePressed", "mouseReleased"):
        browser.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **press)
    assert browser.run("document.querySelector('#lens').getBoundingClientRect().top") > top + 100
    assert browser.run("at.y") < -1000
    browser.press("0")
    assert browser.run("document.querySelector('#overview').hidden")
    browser.open(report)
    plain = painted(browser)
    browser.run("choice.value = 'nan'; lay('nan')")
    assert painted(browser) != plain
    browser.run("choice.value = ''; lay('')")
    assert painted(browser) == plain
    browser.run("$('query').value = 'r.3/relu'; search()")
    assert browser.run("hits.map(shownAt).map((box) => box.id)") == ["b4"]
    assert painted(browser) != plain


# The accessibility tree that the browser creates for a screen reader


def heard(browser: Browser) -> list[dict[str, Any]]:
    """Return the nodes that are not ignored: role, name, and properties by name."""
    found = []
    for node in browser.ask("Accessibility.getFullAXTree")["nodes"]:
        if node.get("ignored"):
            continue
        more = {p["name"]: p["value"].get("value") for p in node.get("properties", [])}
        name, role = (node.get(key, {}).get("value", "") for key in ("name", "role"))
        found.append({**more, "role": role, "name": name})
    return found


def test_every_layer_has_a_role_a_name_and_a_state(browser: Browser, report: Path) -> None:
    browser.open(report)
    items = [node for node in heard(browser) if node["role"] == "treeitem"]
    shown = browser.run("[...document.querySelectorAll('#view > .side > .graph > .box')].length")
    assert len(items) == shown == 14
    assert items[0]["name"] == "Parameter, x, f32 [1,8]"
    assert items[1]["name"] == "block 1 of 12, net/layer.0, f32 [1,8]"
    assert [item["expanded"] for item in items[1:13]] == [False] * 12
    assert all(item["level"] == 1 and item["selected"] is False for item in items)
    browser.run("openAll(true)")
    opened = [node for node in heard(browser) if node["role"] == "treeitem"]
    assert len(opened) > 12 * 7
    assert {item["level"] for item in opened} == {1, 2}
    assert all(item["name"] for item in opened)
    assert [node["name"] for node in heard(browser) if node["role"] == "tree"] == ["Layers"]


def test_headings_regions_and_controls_are_named(browser: Browser, report: Path) -> None:
    browser.open(report)
    nodes = heard(browser)
    levels = [int(node["level"]) for node in nodes if node["role"] == "heading"]
    assert levels[:2] == [1, 2] and all(b <= a + 1 for a, b in pairwise(levels))
    named = {(node["role"], node["name"]) for node in nodes}
    assert {
        ("region", "Graph"),
        ("complementary", "Details"),
        ("searchbox", "Find a layer by name, type or id"),
    } <= named
    controls = [n for n in nodes if n["role"] in ("button", "combobox", "searchbox", "link", "treeitem", "image")]
    assert [node for node in controls if not node["name"]] == []
    browser.run("choose(data.layers.findIndex((layer) => layer.n.endsWith('4/relu')))")
    nodes = heard(browser)
    levels = [int(node["level"]) for node in nodes if node["role"] == "heading"]
    assert all(b <= a + 1 for a, b in pairwise(levels))
    chosen = [node["name"] for node in nodes if node.get("selected") is True and node["role"] == "treeitem"]
    assert chosen == ["ReLU, net/layer.4/relu, f32 [1,8]"]


def test_what_happens_is_reported(browser: Browser, report: Path) -> None:
    browser.open(report)
    status = [node for node in heard(browser) if node["role"] == "status"]
    assert len(status) == 1 and status[0]["live"] == "polite"
    said = "document.querySelector('#said').textContent"
    browser.run("document.querySelector('#query').value = 'relu'; search()")
    assert browser.run(said) == "12 found"
    browser.run("choice.value = 'time'; lay('time')")
    assert browser.run(said) == "showing time"
    browser.run("setOpen(document.querySelector('#b1'), true)")
    assert browser.run(said) == "block 1 of 12 open"


def test_the_tab_key_goes_through_everything_in_order(browser: Browser, report: Path) -> None:
    browser.open(report)
    order = []
    for _ in range(13):
        browser.press("Tab")
        order.append(browser.run("document.activeElement.id || document.activeElement.textContent"))
    assert order[:12] == [
        "Skip to the details", "query", "overlay", "out", "in", "fit", "top", "all", "svg", "png", "theme", "help",
    ]  # fmt: skip
    assert order[12] == "canvas"
    browser.press("ArrowDown")
    assert browser.run("document.activeElement.getAttribute('role')") == "treeitem"
    body = "document.querySelector('.selected > .body, .selected > .closed > .body')"
    assert browser.run(f"getComputedStyle({body}).stroke") == "rgb(11, 98, 196)"
    browser.press("Tab")
    assert browser.run("document.activeElement.closest('#panel') !== null")


def test_print_has_all_of_the_graph_and_nothing_that_is_for_the_screen(browser: Browser, tmp_path: Path) -> None:
    browser.open(tall(tmp_path))
    browser.ask("Emulation.setEmulatedMedia", media="print")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    hidden = "['#overview', '.buttons', '#find'].map((s) => getComputedStyle(document.querySelector(s)).display)"
    assert browser.run(hidden) == ["none", "none", "none"]
    assert browser.run("shapeOf(sides[0].lastElementChild).columns") > 1
    assert browser.run(f"({OVERLAPPING})({BOXES})") == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.run("foot") is None
    browser.ask("Emulation.setEmulatedMedia", media="")


def test_every_text_has_contrast_as_the_browser_shows_it(browser: Browser, report: Path) -> None:
    """The contrast of the computed colours of all texts next to the graph; another test measures the palette."""
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        browser.open(report)
        browser.run("choice.value = 'time'; lay('time'); $('help').click(); choose(3)")
        assert browser.run(FAINT) == []
    browser.prefer("light")


FAINT = """(() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  const light = (colour) => colour.slice(0, 3).map((v) => linear(v / 255))
    .reduce((sum, v, n) => sum + v * [.2126, .7152, .0722][n], 0);
  const ground = (e) => { const c = parse(getComputedStyle(e).backgroundColor);
    return c[3] === 0 ? ground(e.parentElement) : c; };
  return [...document.querySelectorAll('body *:not(svg *):not(script):not(option):not(noscript *)')].filter((e) =>
    e.offsetWidth > 1 && [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())).map((e) => {
      const [high, low] = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => b - a);
      return [e.textContent.slice(0, 30), (high + .05) / (low + .05)];
    }).filter(([, contrast]) => contrast < 4.5);
})()"""
