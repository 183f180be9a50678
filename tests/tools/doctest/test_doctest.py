"""Checking pages: the examples of the pages in tests/data/pages, and every kind of erratum."""

from __future__ import annotations

from functools import cache
from html import escape
from pathlib import Path

import pytest
from support.seed_pages import PAGES, table

from irexec.core.diagnostics import Severity
from irexec.ops.spec import contents
from irexec.tools.doctest.doctest import Checked, CheckedPage, check_page, find_pages, plan_page, summary
from irexec.tools.doctest.errata_report import errata_report

DOCS = Path(__file__).parents[3] / "docs"

SCATTER_ND = {
    "text example 1": "differ",
    "text example 2": "agree",
    "example 1": "differ",
    "example 2": "agree",
    "example 3": "agree",
    "example 4": "differ",
    "example 5": "none",
}
ONNX_18 = {
    "text example 1": "agree",
    "text example 2": "agree",
    "code example 1": "agree",
    **{f"code example {n}": "differ" for n in (2, 3, 4, 5)},
}
ONNX_OLD = {"text example 1": "agree", "text example 2": "agree"}
EXPECTED = {
    "scatter-nd-update-15.page.txt": {"ScatterNDUpdate-15": SCATTER_ND},
    "scatter-nd-update-15.rst": {"ScatterNDUpdate-15": SCATTER_ND},
    "slice-scatter-15.page.txt": {"SliceScatter-15": {f"example {n}": "agree" for n in (1, 2, 3)}},
    "scatter-elements-update-3.page.txt": {"ScatterElementsUpdate-3": {"example 1": "none"}},
    "onnx-scatter-nd.page.txt": {"ONNX ScatterND-18": ONNX_18}
    | {f"ONNX ScatterND-{version}": ONNX_OLD for version in (16, 13, 11)},
}
EXAMPLES = [
    (file, about, label, outcome)
    for file, versions in EXPECTED.items()
    for about, examples in versions.items()
    for label, outcome in examples.items()
]
# file → (line, column, code, correct value) of all errors in it
ERRATA = {
    "scatter-nd-update-15.page.txt": [
        (40, 26, "T001", "[1, 11, 3, 10, 14, 6, 13, 12]"),
        (97, 9, "O001", "shape [5,1]"),
        (106, 45, "T001", "[50, 40, 20, 4]"),
        (118, 9, "O001", "shape [5,1]"),
        (139, 9, "O001", "shape [5,1]"),
        (160, 9, "O001", "shape [5,1]"),
        (169, 46, "T001", "[500, 2400, 60, 4]"),
    ],
    "scatter-nd-update-15.rst": [
        (54, 30, "T001", "[1, 11, 3, 10, 14, 6, 13, 12]"),
        (114, 13, "O001", "shape [5,1]"),
        (123, 49, "T001", "[50, 40, 20, 4]"),
        (137, 13, "O001", "shape [5,1]"),
        (160, 13, "O001", "shape [5,1]"),
        (183, 13, "O001", "shape [5,1]"),
        (192, 50, "T001", "[500, 2400, 60, 4]"),
    ],
    "slice-scatter-15.page.txt": [(line, 27, "T002", "shape [2]") for line in (151, 154, 157)],
    "scatter-elements-update-3.page.txt": [],
    "onnx-scatter-nd.page.txt": [(line, 9, "T001", None) for line in (167, 208, 249, 290)],
}


def page(name: str, text: str) -> CheckedPage:
    return check_page(name, data=text.encode())


@cache
def checked_page(file: str) -> CheckedPage:
    return check_page(PAGES / file)


def only(name: str, text: str) -> Checked:
    (example,) = page(name, text).examples
    return example


@pytest.mark.parametrize(("file", "about", "label", "outcome"), EXAMPLES)
def test_every_example_of_the_pages(file: str, about: str, label: str, outcome: str) -> None:
    _, pending = plan_page(PAGES / file)
    (example,) = (p for p in pending if p.about == about and p.label == label)
    checked = example.check()
    assert checked.parsed and checked.executed and checked.not_executed is None
    assert {True: "agree", False: "differ", None: "none"}[checked.agrees] == outcome
    assert checked.valid is not None


@pytest.mark.parametrize("file", EXPECTED)
def test_no_other_example_is_found(file: str) -> None:
    _, pending = plan_page(PAGES / file)
    assert len(pending) == sum(len(examples) for examples in EXPECTED[file].values())


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("file", ERRATA)
def test_the_errata_of_the_pages_and_no_others(file: str) -> None:
    found = checked_page(file).errata
    places = [(e.diagnostic.line, e.diagnostic.column, e.diagnostic.code) for e in found]
    assert places == [wanted[:3] for wanted in ERRATA[file]]
    for entry, (*_, right) in zip(found, ERRATA[file], strict=True):
        assert right is None or entry.right == right
        assert entry.diagnostic.file == str(PAGES / file)
        assert entry.replacement is not None and entry.replacement != entry.printed
        assert entry.printed in (PAGES / file).read_text()


@pytest.mark.by_hand(0)
def test_a_page_that_is_fixed_as_suggested_has_no_errata(tmp_path: Path) -> None:
    for file in ERRATA:
        text = (PAGES / file).read_text()
        for entry in checked_page(file).errata:
            assert entry.replacement is not None
            text = text.replace(entry.printed, entry.replacement)
        (tmp_path / file).write_text(text)
        assert check_page(tmp_path / file).errata == []


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("file", ERRATA)
def test_the_same_pages_as_html(file: str) -> None:
    text = (PAGES / file).read_text()
    found = page("page.html", f"<html><body><pre>{escape(text)}</pre></body></html>").errata
    wanted = [(line, code) for line, _, code, _ in ERRATA[file]]
    assert [(e.diagnostic.line, e.diagnostic.code) for e in found] == wanted
    for entry in found:
        column = (entry.diagnostic.column or 0) - 1
        source = entry.diagnostic.place.source_line or ""
        assert source[column:].startswith("&lt;") or source[column].isdigit()


def test_of_open_results_every_admissible_one_counts() -> None:
    text = (PAGES / "scatter-nd-update-15.page.txt").read_text()
    for first in ("10", "50"):
        for second in ("30", "40"):
            fixed = text.replace("[50, 20, 20, 4]", f"[{first}, {second}, 20, 4]")
            _, pending = plan_page("p.txt", data=fixed.encode())
            (example,) = (p for p in pending if p.label == "example 1")
            assert example.check().agrees is True


def test_the_row_that_reductions_do_not_touch() -> None:
    found = checked_page("onnx-scatter-nd.page.txt").errata
    assert all("[8, 7, 6, 5], [4, 3, 2, 1], [1, 2, 3, 4], [5, 6, 7, 8]],\n" in str(e.replacement) for e in found)


@pytest.mark.by_hand(0)
def test_the_table_of_the_documentation_is_up_to_date() -> None:
    text = (DOCS / "seed-pages.md").read_text()
    assert text == table(), "python tests/lib/support/seed_pages.py > docs/seed-pages.md"


LAYER = """Versioned name: MaxPool-8

<layer ... type="MaxPool">
    <data strides="2,2" pads_begin="0,0" pads_end="0,0" kernel="2,2"/>
    <input>
        <port id="0"><dim>1</dim><dim>1</dim><dim>2</dim><dim>2</dim></port>
    </input>
    <output>
        <port id="1" precision="FP32"><dim>1</dim><dim>1</dim><dim>1</dim><dim>1</dim></port>
        <port id="2" precision="I64"><dim>1</dim><dim>1</dim><dim>1</dim><dim>1</dim></port>
    </output>
</layer>
"""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", []),
        ('<port id="1" precision="FP32"><dim>1</dim>', '<port id="1" precision="FP32"><dim>3</dim>', ["P005"]),
        ('precision="I64"', 'precision="I32"', ["P004"]),
        ('kernel="2,2"', 'kernel="2,2" auto_pad="same"', ["D005"]),
        ('kernel="2,2"', 'kernel="2,2" rounding="floor"', ["D001"]),
        ('strides="2,2" ', "", ["D002"]),
        ('type="MaxPool"', 'type="Wunderpool"', ["L004"]),
        ("<dim>2</dim></port>", "<dim>2</dim></port><port/>", ["P007"]),
        ("<dim>1</dim><dim>2</dim><dim>2</dim>", "<dim>2</dim>", ["O001"]),
    ],
)
def test_each_kind_of_erratum(old: str, new: str, codes: list[str]) -> None:
    checked = only("page.txt", LAYER.replace(old, new, 1) if old else LAYER)
    assert [e.diagnostic.code for e in checked.errata][: len(codes) or None] == codes
    assert all(e.diagnostic.severity is Severity.ERROR for e in checked.errata)
    assert all(repair.severity is Severity.WARNING for repair in checked.repairs)


@pytest.mark.parametrize(
    ("comment", "codes"),
    [
        ("<!-- irexec: ignore D001, P -->", []),
        ("<!-- irexec: ignore D001 -->", ["P004"]),
        ("<!-- irexec: ignore P -->", ["D001"]),
        ("<!-- irexec: ignore -->", []),
        ("<!-- ignore -->", ["D001", "P004"]),
    ],
)
def test_a_comment_in_an_example_suppresses_its_findings(comment: str, codes: list[str]) -> None:
    wrong = LAYER.replace('precision="I64"', 'precision="I32"').replace("<data ", f'{comment}\n    <data alpha="1" ')
    first, second = page("page.txt", wrong + wrong.replace(comment, "")).examples
    assert [e.diagnostic.code for e in first.errata] == codes
    assert [e.diagnostic.code for e in second.errata] == ["D001", "P004"]
    assert first.valid is not bool(codes)


def test_a_type_in_other_letter_case_is_a_repair_and_one_that_no_opset_has_is_not() -> None:
    assert only("p.txt", LAYER.replace('type="MaxPool"', 'type="maxpool"')).errata == []
    text = '<layer ... type="MatrixNonMaxSuppression"/>'
    assert "Q022" in [e.diagnostic.code for e in only("p.txt", text).errata]


def test_an_operator_that_only_its_own_page_knows_is_not_an_erratum() -> None:
    text = 'Versioned name: Frobnicate-99\n\n<layer ... type="Frobnicate"><input><port id="0"/></input></layer>\n'
    checked = only("p.txt", text)
    assert checked.errata == [] and not checked.executed
    assert "Frobnicate" in str(checked.not_executed)


def test_an_operator_of_no_opset_is_not_held_against_its_namesake() -> None:
    text = LAYER.replace("MaxPool-8", "MaxPool").replace('pads_begin="0,0"', 'wrong="1"')
    checked = only("p.txt", text)
    assert checked.errata == [] and checked.not_executed == "no opset contains MaxPool"


def test_what_an_ellipsis_leaves_out_is_not_an_erratum() -> None:
    text = (
        '<layer ... type="TensorIterator">\n<input> ... </input>\n<output> ... </output>\n'
        '<port_map> ... </port_map>\n<body><layers><layer id="0" type="Parameter" ...>'
        "<output><port id='0'><dim>1</dim></port></output></layer></layers><edges> ... </edges></body>\n</layer>\n"
    )
    assert only("p.txt", text).errata == []


def test_random_values_are_no_evidence_against_a_page() -> None:
    text = LAYER.replace("</output>", "</output><!-- -->").replace(
        '<port id="1" precision="FP32">', '<port id="1" precision="FP32"><!-- values: [7] -->'
    )
    checked = only("p.txt", text)
    assert checked.errata == [] and checked.executed and checked.agrees is None


def test_values_in_words_count_in_every_type_they_may_have() -> None:
    checked = only("p.md", "Versioned name: Tan-1\n\n    input = [-2, -1, 0, 1, 2]\n    output = [2, -2, 0, 2, -2]\n")
    assert checked.agrees is True


def test_a_stated_shape_is_checked() -> None:
    text = (
        "Versioned name: Abs-1\n\n```\ndata = [[-1, 2]]\ndata_shape = (1, 2)\noutput = [[1, 2]], shape = (2, 2)\n```\n"
    )
    assert [e.diagnostic.code for e in only("p.md", text).errata][:1] == ["P005"]


def test_text_that_lacks_an_input_is_reported_as_not_executed() -> None:
    checked = only("p.md", "Versioned name: Roll-7\n\n```\ndata = [1, 2]\noutput = [2, 1]\n```\n")
    assert checked.not_executed == "its shift is missing" and checked.errata == []


def test_large_examples_are_omitted_unless_they_are_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irexec.tools.doctest.doctest.MOST_WORK", 2.0)
    assert "would take long" in str(only("p.txt", LAYER).not_executed)
    assert check_page("p.txt", data=LAYER.encode(), large=True).examples[0].executed


def test_a_model_is_validated_without_its_weights() -> None:
    text = """```xml
<net name="m" version="11"><layers>
  <layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>
    <output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
  <layer id="1" name="c" type="Const" version="opset1"><data element_type="f32" shape="2" offset="0" size="8"/>
    <output><port id="0" precision="FP32"><dim>2</dim></port></output></layer>
  <layer id="2" name="a" type="Add" version="opset1"><input><port id="0" precision="FP32"><dim>2</dim></port>
    <port id="1" precision="FP32"><dim>2</dim></port></input>
    <output><port id="2" precision="FP32"><dim>3</dim></port></output></layer>
  <layer id="3" name="r" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>2</dim></port></input>
  </layer></layers>
  <edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
  <edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
  <edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>
```
"""
    checked = only("p.md", text)
    assert checked.kind == "model" and checked.parsed
    assert [(e.diagnostic.code, e.diagnostic.line) for e in checked.errata] == [("P005", 9)]


@pytest.mark.parametrize("text", ["", "Nothing here.\n", "Versioned name: Abs-1\n\n```python\nx = 1\n```\n"])
def test_a_page_without_example_reports_it(text: str) -> None:
    checked = page("p.md", text)
    assert checked.problem == "the page has no example" and checked.readable and checked.report.ok
    assert [d.code for d in checked.report] == ["Q029"]


def test_a_page_that_cannot_be_read_reports_it(tmp_path: Path) -> None:
    assert not check_page(tmp_path / "missing.md").readable
    assert not check_page("p.md", data=b"\xff\xff").readable
    assert not check_page("p.md", data=b"\xff\xff").report.ok


def test_a_broken_example_is_reported_as_not_parsed() -> None:
    checked = only("p.md", '```xml\n<!DOCTYPE x [<!ENTITY a "b">]><layer type="&a;"/>\n```\n')
    assert not checked.parsed and checked.errata


def test_a_fault_of_irexec_ends_one_example_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("broken rule")

    monkeypatch.setattr("irexec.tools.doctest.doctest.evaluate_layer", fail)
    checked = only("p.txt", LAYER)
    assert checked.not_executed == "irexec failed: RuntimeError: broken rule" and not checked.errata
    assert [note.code for note in checked.notes] == ["O007"]


def test_the_numbers_of_a_run() -> None:
    pages = [checked_page("slice-scatter-15.page.txt"), page("p.md", "")]
    numbers = summary(pages)
    assert (numbers["pages"], numbers["without examples"], numbers["examples"]) == (2, 1, 3)
    assert (numbers["parsed"], numbers["executed"], numbers["agree"], numbers["errata"]) == (3, 3, 3, 3)


def test_files_are_named_once(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    assert find_pages([tmp_path, str(tmp_path / "a.md"), "other.foo"]) == [str(tmp_path / "a.md"), "other.foo"]


def test_the_report_of_errata_names_line_text_and_replacement() -> None:
    report = errata_report([checked_page("scatter-nd-update-15.page.txt"), page("p.md", "")])
    assert "### 1. Line 40, column 26 (text example 1)" in report
    assert "Correct: `[1, 11, 3, 10, 14, 6, 13, 12]`" in report
    assert "            <dim>5</dim>\n            <dim>1</dim>  <!-- values: [0, 2, -3, -3, 0] -->" in report
    assert errata_report([page("p.md", "")]).endswith("No errors were found.\n")


def test_onnx_operators_are_those_of_their_page() -> None:
    assert all(contents.find("ScatterND", f"onnx{version}") is not None for version in (11, 13, 16, 18))


def test_a_page_of_one_line_is_not_kept_for_each_erratum(tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text("<layer><output>" * 400)
    found = check_page(page).errata
    assert len(found) > 300 and max(len(entry.printed) for entry in found) <= 500


def test_what_pages_may_leave_out_is_a_note() -> None:
    """Ids, names, versions and ellipses are notes; a missing precision has to be chosen, and is a repair."""
    text = """<layer ... type="Abs">
    <input><port><dim>2</dim></port></input>
    <output><port><dim>2</dim></port></output>
</layer>"""
    checked = only("page.txt", text)
    assert [finding.code for finding in checked.repairs] == ["Q021"]
    assert {"Q001", "Q020", "Q030"} <= {finding.code for finding in checked.notes}
    assert {finding.severity for finding in checked.notes} == {Severity.NOTE}


def test_only_valid_examples_count_as_validated() -> None:
    wrong = LAYER.replace('kernel="2,2"', 'kernel="2,2" auto_pad="same"')
    page = check_page("page.txt", data=f"{LAYER}\n\n{wrong}".encode())
    assert (summary([page])["parsed"], summary([page])["validated"]) == (2, 1)
