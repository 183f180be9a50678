"""Pages: the examples that they contain, and their places."""

from __future__ import annotations

from html import escape
from pathlib import Path

import pytest
from support.seed_pages import PAGES

from irexec.frontends.pages.literals import read_literal
from irexec.frontends.pages.page import Page, TextExample, XmlExample, read_page
from irexec.tools.doctest.doctest import find_pages

LAYER = """<layer ... type="Abs">
    <input>
        <port id="0" precision="FP32">
            <dim>2</dim>  <!-- values: [-1, 2] -->
        </port>
    </input>
    <output>
        <port id="1" precision="FP32">
            <dim>2</dim>  <!-- values: [1, 2] -->
        </port>
    </output>
</layer>
"""


def indented(text: str, by: str = "    ") -> str:
    return "".join(by + line for line in text.splitlines(keepends=True))


FORMS = {
    "fenced.md": f"# Abs\n\nProse.\n\n```xml\n{LAYER}```\n\nMore prose.\n",
    "tildes.md": f"* item\n\n  ~~~\n{indented(LAYER, '  ')}  ~~~\n",
    "open_fence.md": f"```xml\n{LAYER}",
    "indented.md": f"Prose:\n\n{indented(LAYER)}\nProse.\n",
    "directive.rst": f"Abs\n===\n\n.. code-block:: xml\n   :force:\n\n{indented(LAYER)}\nProse.\n",
    "code.rst": f".. code:: xml\n\n{indented(LAYER)}",
    "literal.rst": f"Like this::\n\n{indented(LAYER)}\nProse.\n",
    "loose.txt": f"Example 1\n{LAYER}Example 2\n",
    "bare.xml": LAYER,
    "pre.html": f"<html><body><p>Abs</p><pre>{escape(LAYER)}</pre><p>Prose</p></body></html>",
    "escaped.html": f"<div>Abs<br>{escape(LAYER)}</div>",
    "unescaped.html": f"<p>Abs</p><pre>\n{LAYER}</pre>",
    "quoted.md": f"Prose.\n\n<pre>\n{LAYER}</pre>\n",
}


def page_of(name: str, text: str) -> Page:
    return read_page(name, text.encode())


@pytest.mark.parametrize("name", FORMS)
def test_a_layer_is_found_in_every_form(name: str) -> None:
    (example,) = page_of(name, FORMS[name]).examples
    assert isinstance(example, XmlExample)
    text = example.excerpt.text.strip()
    assert text.startswith("<layer ...") and text.endswith("</layer>")
    assert text.count("<dim>") == 2


@pytest.mark.parametrize("name", FORMS)
def test_places_point_into_the_page(name: str) -> None:
    text = FORMS[name]
    (example,) = page_of(name, text).examples
    for wanted in ("<layer", "[1, 2]"):
        found = example.excerpt.place(example.excerpt.text.index(wanted), len(wanted))
        line = text.split("\n")[(found.line or 0) - 1]
        assert line == found.source_line
        printed = escape(wanted) if name in ("pre.html", "escaped.html") else wanted
        assert line[(found.column or 0) - 1 :].startswith(printed)


def test_places_after_character_references_and_tags() -> None:
    text = '<pre>\n<span class="k">&lt;layer</span> type=&quot;Abs&quot;/&gt;&amp;&#65;</pre>'
    (example,) = page_of("x.html", text).examples
    assert example.excerpt.text.strip() == '<layer type="Abs"/>&A'
    for wanted, column in (("<layer", 17), ("type", 34), ('"Abs', 39), ("&A", 59), ("A", 45)):
        offset = example.excerpt.text.index(wanted)
        assert (example.excerpt.place(offset).line, example.excerpt.place(offset).column) == (2, column)


def test_scripts_and_comments_of_html_are_no_examples() -> None:
    text = f"<script>var x = '{LAYER}'</script><!-- {escape(LAYER)} --><p>nothing</p>"
    assert page_of("x.html", text).examples == []


def test_a_layer_without_end_tag_ends_at_the_prose() -> None:
    text = LAYER.replace("</layer>\n", "") + "\nExample 2: more of it.\n\n" + LAYER
    first, second = page_of("x.txt", text).examples
    assert "Example" not in first.excerpt.text
    assert second.excerpt.text.startswith("<layer")


def test_several_layers_in_a_row_are_one_block() -> None:
    (example,) = page_of("x.txt", f"Prose\n\n{LAYER}\n{LAYER}\nProse\n").examples
    assert example.excerpt.text.count("<layer") == 2


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("**Versioned name**: *ScatterNDUpdate-15*", ["ScatterNDUpdate-15"]),
        ("Versioned name: ScatterElementsUpdate-3", ["ScatterElementsUpdate-3"]),
        ("**Versioned name**: *Convolution*\n", ["Convolution"]),
        ("ScatterND - 18#\n\nsince_version: 18\n\nScatterND - 16#\n\nsince_version: 16", None),
        ("### <a name='x'></a>**ScatterND-11**\n\nsince version 11 of", ["ONNX ScatterND-11"]),
        ("Release - 18\n\nNothing about operators.", []),
    ],
)
def test_names(text: str, names: list[str] | None) -> None:
    wanted = ["ONNX ScatterND-18", "ONNX ScatterND-16"] if names is None else names
    assert [str(named) for named in page_of("x.txt", text).names] == wanted


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("slice-scatter-15.rst", "SliceScatter-15"),
        ("Slice_8/1.xml", "Slice-8"),
        ("ops/Abs_1.md", "Abs-1"),
        ("a.md", None),
    ],
)
def test_the_file_gives_the_name_of_a_page_that_does_not(file: str, name: str | None) -> None:
    assert [str(named) for named in page_of(file, LAYER).names] == ([name] if name else [])


ND = "Versioned name: GatherND-8\n\n"


def values_of(text: str) -> list[dict[str, object]]:
    examples = page_of("x.md", text).examples
    assert all(isinstance(example, TextExample) for example in examples)
    return [{n: a.value for n, a in e.group.assignments.items()} for e in examples if isinstance(e, TextExample)]


def test_values_over_several_lines_with_remarks() -> None:
    text = ND + (
        "```\n"
        "indices = [[1], <--- this is applied to the first batch\n"
        "           [0]] <--- shape = (2, 1)\n"
        "data    = [[[1,   2], [ 5,  6]]  <--- no comma after it\n"
        "           [[13, 14], [17, 18]]]\n"
        "output  = [[ 5,  6], [13, 14]], shape = (2, 2)\n"
        "```\n"
    )
    (example,) = values_of(text)
    assert example == {
        "indices": [[1], [0]],
        "data": [[[1, 2], [5, 6]], [[13, 14], [17, 18]]],
        "output": [[5, 6], [13, 14]],
    }


def test_values_as_numpy_prints_them() -> None:
    assert values_of("output = [[0.5 1. -2e3]\n          [nan inf 0]]\n")[0]["output"][0] == [0.5, 1.0, -2000.0]


def test_a_repeated_name_or_prose_begins_another_example() -> None:
    text = "data = [1]\noutput = [1]\ndata = [2]\noutput = [2]\n\nSome prose.\n\ndata = [3]\noutput = [3]\n"
    assert [example["data"] for example in values_of(text)] == [[1], [2], [3]]


@pytest.mark.parametrize("text", ["output = f(x)\n", "output = [1, 2, ...]\n", "output[0] = 3\n", "data = [1, 2]\n"])
def test_formulas_and_parts_are_not_examples(text: str) -> None:
    assert values_of(text) == []


def test_attributes_in_the_sentence_before_an_example() -> None:
    sentence = "Example with `shift` = [-1, 2], *axes* = [0, 1] and mode set to ``fast``:"
    text = f"{sentence}\n\n    data = [1]\n    output = [2]\n"
    (example,) = page_of("x.md", text).examples
    assert isinstance(example, TextExample)
    assert {a.name: a.value for a in example.in_prose} == {"shift": [-1, 2], "axes": [0, 1], "mode": "fast"}


def test_values_without_output_are_given_for_those_that_follow() -> None:
    text = "```\nINPUT =\n[[ 1 2 ]]\n```\nwith\n```\npads = [0, 1]\n```\n* one:\n```\nOUTPUT =\n[[ 1 2 0 ]]\n```\n"
    (example,) = page_of("x.md", text).examples
    assert isinstance(example, TextExample)
    assert {a.name: a.value for a in example.givens} == {"INPUT": [[1, 2]], "pads": [0, 1]}


def test_onnx_code_is_read_and_not_executed(tmp_path: Path) -> None:
    page = read_page(PAGES / "onnx-scatter-nd.page.txt")
    code = [e for e in page.examples if isinstance(e, TextExample) and e.group.node is not None]
    assert [e.group.node.attributes.get("reduction") for e in code if e.group.node] == [
        None,
        "add",
        "mul",
        "max",
        "min",
    ]
    data, output = code[0].group.assignments["data"], code[0].group.assignments["output"]
    assert data.kind == "f32" and code[0].group.assignments["indices"].kind == "i64"
    assert isinstance(output.value, list) and output.value[2] == [[1] * 4, [2] * 4, [3] * 4, [4] * 4]
    canary = tmp_path / "ran"
    text = f"node = onnx.helper.make_node('X', inputs=[open({str(canary)!r}, 'w')])\noutput = np.array([1])\n"
    page_of("x.txt", text)
    assert not canary.exists()


@pytest.mark.parametrize("text", ["[" * 5000, "[" * 40 + "]" * 40, "[1, 2", "[a]", "", "]", "9" * 5000])
def test_literals_that_are_none(text: str) -> None:
    assert read_literal(text, 0) is None


def test_the_places_of_the_items_of_a_literal() -> None:
    text = "x = [[10, 2.5], # a remark 3\n  [-3, true]]"
    literal = read_literal(text, 4)
    assert literal is not None
    assert [text[s.start : s.start + s.length] for s in literal.leaves] == ["10", "2.5", "-3", "true"]
    assert literal.value == [[10, 2.5], [-3, True]]


@pytest.mark.parametrize("data", [b"\xff\xfe\xfd", b"\0\1\2", b"\x80abc"])
def test_bytes_that_are_not_text_are_a_problem(data: bytes) -> None:
    assert read_page("x.md", data).problem


def test_folders_are_walked_in_order(tmp_path: Path) -> None:
    for name in ("b.md", "a.rst", "sub/c.html", "sub/d.py", ".git/e.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = [Path(path).relative_to(tmp_path).as_posix() for path in find_pages([tmp_path])]
    assert found == ["a.rst", "b.md", "sub/c.html"]


def test_places_on_one_line_share_its_text() -> None:
    """A page may be one line of megabytes, with thousands of findings."""
    page = page_of("line.md", FORMS["fenced.md"])
    (example,) = page.examples
    first, second = (example.excerpt.place(example.excerpt.text.index("<dim>") + by) for by in (0, 5))
    assert (first.line, second.line) == (first.line, first.line) and first.column != second.column
    assert first.source_line is second.source_line and first.source_line.endswith("-->")
