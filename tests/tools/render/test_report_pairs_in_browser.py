"""The report in a browser: corresponding layers of two models, open blocks in columns, search by type, and export."""

from __future__ import annotations

import base64
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from support.browser import NO_BROWSER, PROGRAM, Browser
from support.drawable import stacked

import irexec
from irexec import opset15
from irexec.tools.diff.change import changes_dict
from irexec.tools.diff.diff import diff
from irexec.tools.inspect.observed import Changes
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.report.page import report_page

pytestmark = pytest.mark.skipif(PROGRAM is None, reason=NO_BROWSER)


ENDS = """[...view.querySelectorAll('.wire')].filter((w) => w.getBoundingClientRect().height > 0).map((wire) => {
    const p = wire.getPointAtLength(wire.getTotalLength()).matrixTransform(wire.getScreenCTM());
    return [...view.querySelectorAll('.box > .body, .closed > .body, .inside > .frame, .stub > rect')].some((b) => {
      const r = b.getBoundingClientRect();
      return p.x >= r.left - 1 && p.x <= r.right + 1 && Math.abs(p.y - r.top) < 2; });
  })"""
"""Whether each line ends at the upper edge of a box."""


def line(count: int, extra: bool) -> irexec.Model:
    """Return layers in a line; with `extra` there is a Sigmoid after every third layer."""
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for number in range(count):
        value = opset15.tanh(value, name=f"t{number}")
        if extra and number % 3 == 0:
            value = opset15.sigmoid(value, name=f"s{number}")
    return irexec.Model([value], [x], "line")


@pytest.fixture
def two(tmp_path: Path) -> Path:
    one, other = line(18, False), line(18, True)
    changes = Changes.model_validate(changes_dict("a", "b", diff(one, other)))
    path = tmp_path / "two.html"
    path.write_text(report_page([summarize(one), summarize(other)], [changes]), "utf-8")
    return path


def test_a_changed_layer_of_both_models_is_listed_once(browser: Browser, tmp_path: Path) -> None:
    x = opset15.parameter([1, 8], np.float32, name="x")
    one, other = (irexec.Model([opset15.add(x, np.float32([n]), name="add")], [x], "m") for n in (1, 2))
    changes = Changes.model_validate(changes_dict("a", "b", diff(one, other)))
    path = tmp_path / "two.html"
    path.write_text(report_page([summarize(one), summarize(other)], [changes]), "utf-8")
    browser.open(path)
    titles = "[...document.querySelectorAll('#panel h3')].filter((h) => h.textContent.startsWith('layers by'))"
    assert browser.run("Object.keys(data.overlays.find((o) => o.key === 'diff').marks).length") == 2
    assert browser.run(f"{titles}.map((h) => h.textContent)") == ["layers by changes to b (1 of 1)"]
    assert browser.run(f"{titles}[0].nextSibling.querySelectorAll('tr').length") == 1


def test_pairs_are_drawn_at_one_height_and_all_of_a_change_is_marked(browser: Browser, two: Path) -> None:
    browser.open(two)
    top = "(index) => Math.round(boxOf(index).querySelector('.body').getBoundingClientRect().top)"
    apart = browser.run(f"[...twins].map(([a, b]) => Math.abs(({top})(a) - ({top})(b)))")
    assert len(apart) >= 36 and max(apart) <= 1
    # Six added layers are one change.
    assert browser.run("data.changes.filter(([kind]) => kind === 'added').map(([, , pairs]) => pairs.length)") == [6]
    hot = "[...view.querySelectorAll('.hot')].map((box) => layerAt(Number(box.id.slice(1))).n)"
    assert set(browser.run(hot)) >= {f"s{number}" for number in range(0, 18, 3)}
    assert browser.run("panel.querySelectorAll('details .link').length") == 6
    browser.run("zoom(2.5); choose(data.layers.findIndex((layer) => layer.n === 't17'))")
    room = "canvas.getBoundingClientRect()"
    assert browser.run(f"""['.selected', '.twin'].every((kind) => {{
      const r = view.querySelector(kind).querySelector('.body').getBoundingClientRect();
      return r.left >= {room}.left && r.right <= {room}.right && r.top >= {room}.top && r.bottom <= {room}.bottom;
    }})""")
    assert browser.errors == []


def test_open_blocks_fill_the_window(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "stack.html"
    path.write_text(report_page([summarize(stacked(24))]), "utf-8")
    browser.open(path)
    browser.click("#all")
    single = browser.run("Math.min(canvas.clientWidth / size[0], canvas.clientHeight / size[1])")
    browser.click("#fit")
    # The drawing has approximately the shape of the window, and is much larger than in one column.
    assert browser.run("at.k") > 5 * single
    filled = browser.run("size[0] * at.k / canvas.clientWidth * size[1] * at.k / canvas.clientHeight")
    assert filled > 0.7
    ends = browser.run(ENDS)
    assert len(ends) > 100 and all(ends)
    assert browser.errors == []


def test_parallel_branches_stand_in_bands(browser: Browser, tmp_path: Path) -> None:
    x = opset15.parameter([1, 80], np.float32, name="x")
    parts = opset15.split(x, opset15.constant(np.int64(1)), 40)
    branches = [opset15.relu(opset15.tanh(part, name=f"t{n}"), name=f"r{n}") for n, part in enumerate(parts.outputs())]
    path = tmp_path / "wide.html"
    path.write_text(report_page([summarize(irexec.Model([opset15.concat(branches, 1)], [x], "wide"))]), "utf-8")
    browser.open(path)
    for button in ("top", "all"):
        browser.click(f"#{button}")
        single = browser.run("Math.min(canvas.clientWidth / size[0], canvas.clientHeight / size[1])")
        browser.click("#fit")
        assert browser.run("at.k") > 2 * single
        assert browser.run("""[...view.querySelectorAll('.box > .body, .closed > .body')].every((b) => {
          const r = b.getBoundingClientRect(), c = canvas.getBoundingClientRect();
          return !r.width || (r.left >= c.left && r.right <= c.right && r.top >= c.top && r.bottom <= c.bottom); })""")
        assert all(browser.run(ENDS))
    browser.press("Home")
    assert browser.run("edge === null")
    assert browser.errors == []


def test_layers_of_a_type_are_found_first(browser: Browser, tmp_path: Path) -> None:
    x = opset15.parameter([4], np.float32, name="x")
    first = opset15.sigmoid(x, name="relu_like")
    path = tmp_path / "named.html"
    weight = opset15.constant(np.ones(4, np.float32), name="relu_weights")
    path.write_text(
        report_page([summarize(irexec.Model([opset15.relu(opset15.add(first, weight, name="sum"), name="last")], [x]))])
    )
    browser.open(path)
    browser.run("$('query').value = 'relu'; search()")
    assert browser.run("hits.map((index) => layerAt(index).n)") == ["last", "relu_like", "relu_weights"]


def test_the_drawing_is_saved_as_shown(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "stack.html"
    path.write_text(report_page([summarize(stacked(3))]), "utf-8")
    browser.open(path)
    browser.run("openAll(true); zoom(0.2)")
    root = ElementTree.fromstring(browser.run("standalone()"))
    texts = ["".join(entry.itertext()) for entry in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("Tanh") == 3 and "MatMul 8×8" in texts and "net/layer.1/tanh" in texts
    assert not any("var(" in value or "light-dark" in value for entry in root.iter() for value in entry.attrib.values())
    picture = browser.run("""asPng().then((blob) => new Promise((done) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result);
      reader.readAsDataURL(blob);
    }))""")
    data = base64.b64decode(picture.partition(",")[2])
    assert data.startswith(b"\x89PNG")
    width, height = (int.from_bytes(data[place : place + 4], "big") for place in (16, 20))
    assert width / height == pytest.approx(browser.run("size[0] / size[1]"), rel=0.02)
    assert browser.errors == []
