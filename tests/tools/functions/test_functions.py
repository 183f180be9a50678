"""The commands as functions: values that print as the commands do, a short `repr`, and HTML in notebooks."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from html import unescape
from pathlib import Path

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main

SAMPLES = Path(__file__).parents[3] / "samples"
MODEL = SAMPLES / "classifier" / "model.xml"
CONVERTED = SAMPLES / "converted" / "model.xml"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out.rstrip("\n")


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    image = np.load(SAMPLES / "classifier" / "image.npy")
    found = irexec.compare(MODEL, CONVERTED, {"image": image})
    assert not found.agrees and found.culprit is not None
    assert found.culprit.described == "block1/pointwise/norm (BatchNormInference)"
    option = f"image={SAMPLES / 'classifier' / 'image.npy'}"
    assert str(found) == printed(capsys, "compare", MODEL, "--with", CONVERTED, "--input", option)
    assert repr(found) == f"<Comparison: {found.verdict}>"
    assert repr(found.culprit).startswith("<Culprit: block1/pointwise/norm (BatchNormInference): off by 9.8 %")
    assert repr(found.layers[0]) == "<Row: stem/conv (Convolution) agrees>"
    assert irexec.compare(MODEL, irexec.read_model(MODEL), [image]).same
    assert irexec.compare(MODEL, CONVERTED, [image], atol=1.0, rtol=1.0).agrees


@pytest.mark.processes
def test_conformance(capsys: pytest.CaptureFixture[str]) -> None:
    wrong = f"{Path(__file__).parents[2] / 'lib' / 'support' / 'wrong_runtime.py'}:Wrong"
    names = ["Sigmoid-1/f32/x=[2,3]/seed1", "Tanh-1/f32/x=[2,3]/seed1"]
    found = irexec.conformance(wrong, case=names, config={"type": "Sigmoid"})
    assert not found.agrees and [row["case"] for row in found.rows] == names[:1]
    assert {key: found.rows[0][key] for key in ("operator", "type", "shapes", "outcome", "verdict")} == {
        "operator": "Sigmoid-1", "type": "f32", "shapes": "static", "outcome": "differs", "verdict": "wrong",
    }  # fmt: skip
    assert repr(found).startswith("<Conformance: 1 failure of 2 cases in ")
    options = [word for name in names for word in ("--case", name)]
    assert str(found) == printed(capsys, "conformance", "--with", wrong, "--config", "type=Sigmoid", *options)
    with pytest.raises(ValueError, match="no operator or pattern matches: did you mean Tan-1 or Tanh-1"):
        irexec.conformance(wrong, "Tanj-1")
    with pytest.raises(RuntimeError, match="does not exist"):
        irexec.conformance("nowhere.py:Wrong", "Tanh-1", cases=1)


def test_several_sides(capsys: pytest.CaptureFixture[str]) -> None:
    others, image = (CONVERTED, MODEL), SAMPLES / "classifier" / "image.npy"
    found = irexec.Sides(irexec.compare(MODEL, other, [np.load(image)]) for other in others)
    assert not found.agrees and [one.agrees for one in found.found] == [False, True]
    options = [word for other in others for word in ("--with", other)]
    assert str(found) == printed(capsys, "compare", MODEL, *options, "--input", f"image={image}")
    assert repr(found) == f"<Sides: {found.verdict}>" and "differs from the others" in found.verdict
    with pytest.raises(TypeError, match="is not of type Comparison"):
        irexec.Sides([MODEL])  # type: ignore[list-item]


def test_models_that_are_compared_do_not_change() -> None:
    model = irexec.read_model(MODEL)
    before = [node.friendly_name for node in model.get_ops()]
    irexec.compare(model, irexec.read_model(CONVERTED))
    irexec.diff(model, CONVERTED)
    irexec.report(model)
    assert [node.friendly_name for node in model.get_ops()] == before


def test_results_are_as_wide_as_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    x = ops.parameter([-1, 4, -1, -1], np.float32, name="x")
    shapes = irexec.shapes(irexec.Model([ops.reshape(x, np.array([-1, 64]), False, name="flat")], [x], "m"))
    for columns in (80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert columns - 20 < max(map(len, str(shapes).splitlines())) <= columns


def test_inputs_that_do_not_fit_are_errors() -> None:
    image = np.zeros((1, 3, 32, 32), np.float32)
    for function in (irexec.compare, irexec.reduce, irexec.report):
        with pytest.raises(irexec.IRError, match=r"inputs\['imag'\]: no input has this name"):
            function(MODEL, CONVERTED, {"imag": image})
        with pytest.raises(irexec.IRError, match=r"shapes\['imag'\]: no input has this name"):
            function(MODEL, CONVERTED, shapes={"imag": (1, 3, 32, 32)})
    with pytest.raises(irexec.IRError, match=r"shapes\['image'\]: \[1,4,32,32\] does not match"):
        irexec.compare(MODEL, CONVERTED, shapes={"image": (1, 4, 32, 32)})
    with pytest.raises(RuntimeError, match="neither a known runtime"):
        irexec.compare(MODEL, "tensorrt")
    with pytest.raises(irexec.IRError):
        irexec.compare("missing.xml", CONVERTED)


def test_diff(capsys: pytest.CaptureFixture[str]) -> None:
    found = irexec.diff(MODEL, CONVERTED)
    assert [(change.change, change.a) for change in found] == [("attribute", "block1/pointwise/norm")]
    assert len(found) == 1 and found and found[0].text == found.changes[0].text
    assert str(found) == printed(capsys, "diff", MODEL, CONVERTED)
    assert not irexec.diff(MODEL, irexec.read_model(MODEL))
    assert len(repr(found)) < 300


def test_reduce_by_a_function(tmp_path: Path) -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    y = ops.relu(ops.tanh(ops.exp(ops.sin(x), name="exp"), name="tanh"), name="relu")
    model = irexec.Model([y], [x], "chain")
    found = irexec.reduce(model, check=lambda file: 'type="Tanh"' in Path(file).read_text())
    assert sorted(node.type for node in found.model.get_ops()) == ["Parameter", "Result", "Tanh"]
    assert found.failure == "the function returns true"
    assert repr(found) == "<Reduction: 1 of 4 layers still fail: the function returns true>"
    assert "tanh" in str(found).lower()
    assert {path.suffix for path in found.save(tmp_path / "small.xml")} >= {".xml", ".npz"}
    (array,) = found.inputs[0]
    assert irexec.compile_model(tmp_path / "small.xml")([array])[0].shape == array.shape
    with pytest.raises(ValueError, match="nothing to reduce"):
        irexec.reduce(model, check=lambda file: False)
    with pytest.raises(ValueError, match="a runtime or a check"):
        irexec.reduce(model)


def test_a_reduced_model_of_a_file_has_the_public_methods() -> None:
    found = irexec.reduce(
        MODEL, check=lambda file: 'type="SoftMax"' in Path(file).read_text(), shapes={"image": (1, 3, 32, 32)}
    )
    assert isinstance(found.model, irexec.Model)
    assert sorted(node.get_type_name() for node in found.model.get_ops()) == ["Parameter", "Result", "Softmax"]


def test_reduce_only_failures_of_one_kind() -> None:
    """The function fails in two ways, and the first of three runs of a candidate never fails."""
    x = ops.parameter([1, 4], np.float32, name="x")
    model = irexec.Model([ops.relu(ops.abs(ops.sin(x)))], [x], "three")
    runs = Counter[str]()

    def fails(file: str) -> None:
        text = Path(file).read_text()
        runs[file] += 1
        if 'type="Abs"' in text and runs[file] == 2:
            raise KeyError("abs")
        if 'type="Sin"' in text and runs[file] > 2:
            raise ValueError("sin")

    found = irexec.reduce(model, check=fails, same="ValueError|sin", tries=3, jobs=2)
    assert sorted(node.type for node in found.model.get_ops()) == ["Parameter", "Result", "Sin"]
    assert found.failure == "the function raises ValueError: sin"
    with pytest.raises(ValueError, match="not a regular expression"):
        irexec.reduce(model, check=fails, same="(")
    with pytest.raises(ValueError, match="1 or more"):
        irexec.reduce(model, check=fails, jobs=0)


def test_compare_with_few_layers_in_memory() -> None:
    shapes = {"image": (1, 3, 32, 32)}
    found = irexec.compare(MODEL, CONVERTED, shapes=shapes, window=1)
    assert found.to_dict() == irexec.compare(MODEL, CONVERTED, shapes=shapes).to_dict()


def test_reduce_to_an_exception() -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    model = irexec.Model([ops.relu(ops.abs(x))], [x], "two")

    def fails(file: str) -> None:
        if 'type="Abs"' in Path(file).read_text():
            raise KeyError("abs")

    found = irexec.reduce(model, check=fails)
    assert sorted(node.type for node in found.model.get_ops()) == ["Abs", "Parameter", "Result"]
    assert found.failure == "the function raises KeyError: 'abs'"


@pytest.mark.by_hand(0)
def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = irexec.report(MODEL).save("page.html")
    printed(capsys, "report", MODEL, "-o", "other.html")
    assert path.read_bytes() == Path("other.html").read_bytes()
    both = irexec.report(MODEL, CONVERTED, run=True)
    assert len(both.html) > len(path.read_text()) and len(repr(both)) < 200
    assert unescape(re.findall(r'srcdoc="([^"]*)"', both._repr_html_())[0]) == both.html
    with pytest.raises(irexec.IRError):
        irexec.report(b"<net")


def test_fix(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(SAMPLES / "wrong.xml", "wrong.xml")
    tried = irexec.fix("wrong.xml", unsafe=True, write=False)
    assert '-            <data axes="2"/>' in tried.diff
    assert Path("wrong.xml").read_bytes() == (SAMPLES / "wrong.xml").read_bytes()
    shutil.copy("wrong.xml", "same.xml")
    fixed = irexec.fix("wrong.xml", unsafe=True)
    assert fixed.report.ok and Path("wrong.xml").read_bytes() == fixed.data
    assert str(fixed) == printed(capsys, "fix", "--unsafe", "same.xml").replace("same.xml", "wrong.xml")
    assert repr(fixed) == "<Fixed: 2 findings fixed in wrong.xml, 0 findings left>"


def test_doctest(capsys: pytest.CaptureFixture[str]) -> None:
    example = (SAMPLES / "scatter_nd_update" / "example_2.xml").read_text()
    Path("page.md").write_text(f"# ScatterNDUpdate\n\n```xml\n{example}```\n")
    found = irexec.doctest("page.md")
    assert not found.ok and len(found) == 1
    assert str(found) == printed(capsys, "doctest", "page.md")
    assert repr(found).startswith("<CheckedPages: 1 page, ")


def test_a_report_of_findings_is_short_as_repr_and_whole_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    path = SAMPLES / "wrong.xml"
    report = irexec.validate(path)
    assert repr(report) == "<Report: 2 errors>"
    assert repr(report.diagnostics[0]) == f"<Diagnostic: {report.diagnostics[0]}>"
    assert str(report) == printed(capsys, "validate", path)
    assert report._repr_html_().count("<tr>") == 3 and "did you mean &#x27;axis&#x27;?" in report._repr_html_()
    right = irexec.validate(MODEL)
    assert (repr(right), str(right), right._repr_html_()) == (
        "<Report: no findings>",
        "no findings",
        "<p>no findings</p>",
    )


def test_notebooks_show_models_and_tensors() -> None:
    html = irexec.read_model(MODEL)._repr_html_()
    assert "data:image/svg+xml;base64," in html and "<script" not in html
    tensor = irexec.Tensor(np.float32([[1, 2], [3, -4]]))
    assert "<th>min</th><td>-4</td>" in tensor._repr_html_() and "<td>[2, 2]</td>" in tensor._repr_html_()


def test_a_notebook_shows_the_findings_of_a_model_that_was_changed() -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    irexec.save_model(irexec.Model([ops.softmax(x, 1)], [x], "named"), "m.xml")
    model = irexec.read_model("m.xml")
    next(node for node in model.get_ops() if node.type == "SoftMax").attributes["axis"] = 5
    html = model._repr_html_()
    assert html.startswith("<pre") and "&lt;Model: &#x27;named&#x27;" in html and "error[" in html
    assert "m.xml" not in html


def test_a_model_in_memory_is_distinguished_from_its_file() -> None:
    x = ops.parameter([1, 4], np.float32, name="x")
    irexec.save_model(irexec.Model([ops.add(x, np.float32([1.0]), name="add")], [x], "named"), "m.xml")
    model, other = irexec.read_model("m.xml"), irexec.read_model("m.xml")
    constant = next(node for node in model.get_ops() if node.type == "Const")
    constant.constant = np.float32([2.0])
    assert irexec.diff("m.xml", model).verdict == "1 difference between m.xml and m.xml (in memory)"
    assert irexec.diff(model, "m.xml").verdict == "1 difference between m.xml (in memory) and m.xml"
    assert irexec.diff(model, other).verdict == (
        "1 difference between m.xml (first in memory) and m.xml (second in memory)"
    )
    for a, b, name in (("m.xml", model, "m.xml (in memory)"), (model, "m.xml", "m.xml")):
        found = irexec.compare(a, b, [np.ones((1, 4), np.float32)])
        assert not found.agrees and f"results: {name} compared with irexec" in str(found)
        assert not any("irexec diff" in hint for hint in found.hints)


def test_html_escapes_what_files_contain() -> None:
    text = (SAMPLES / "wrong.xml").read_text().replace('name="soft"', 'name="&lt;script&gt;"')
    report = irexec.validate(text.encode())
    assert "<script>" not in report._repr_html_() and "&lt;script&gt;" in report._repr_html_()
    model = irexec.read_model(MODEL)
    model.get_ops()[3].friendly_name = "<script>"
    assert "<script>" not in irexec.compare(model, CONVERTED)._repr_html_()


def test_a_large_model_is_summarized_instead_of_drawn() -> None:
    x = node = ops.parameter([1], np.float32, name="x")
    for index in range(2100):
        node = ops.relu(node, name=f"{'abcdefg'[index % 7] * (index % 11 + 1)}{index}")
    html = irexec.Model([node], [x], "long")._repr_html_()
    assert html.startswith("<pre") and "ReLU-1       2100" in html


@pytest.mark.by_hand(0)
def test_shapes_and_sensitivity(capsys: pytest.CaptureFixture[str]) -> None:
    shapes = irexec.shapes(MODEL)
    assert repr(shapes) == "<Shapes: batch; proved>"
    assert str(shapes) == printed(capsys, "shapes", MODEL)
    assert (
        unescape(shapes._repr_html_())
        == f'<pre style="font-family: monospace; white-space: pre; overflow-x: auto">{shapes}</pre>'
    )
    lost = irexec.sensitivity(MODEL, "bf16", shapes={"image": [1, 3, 32, 32]})
    assert (found := re.fullmatch(r"<Sensitivity: snr [\w. ]+ to [\d.]+ dB, (\d+ layers?) chosen>", repr(lost)))
    assert f"keep {found[1]} of {MODEL} in higher precision:" in str(lost)
    assert unescape(lost._repr_html_()).count(str(lost)) == 1


def test_a_report_warns_of_no_findings_because_it_shows_them(recwarn: pytest.WarningsRecorder) -> None:
    assert irexec.report(SAMPLES / "wrong.xml").html.startswith("<!DOCTYPE html>")
    assert [str(each.message) for each in recwarn] == []


@pytest.mark.by_hand(0)
def test_rows_are_those_of_a_table() -> None:
    """A row is a dict of plain values, with the same keys in every row."""
    model = SAMPLES / "segmenter" / "model.xml"
    for found in (irexec.run(model), irexec.show(model), irexec.shapes(model), irexec.compare(MODEL, CONVERTED)):
        assert found.rows and len({tuple(row) for row in found.rows}) == 1
        kinds = {type(value) for row in found.rows for value in row.values()}
        assert kinds <= {str, int, float, bool, list, type(None)}


def test_a_run_has_results_and_the_statistics_of_all_layers() -> None:
    model, image = SAMPLES / "classifier" / "model.xml", np.load(SAMPLES / "classifier" / "image.npy")
    found = irexec.run(model, {"image": image})
    np.testing.assert_array_equal(found.results["probabilities"], irexec.compile_model(model)([image])[0])
    last = found.rows[-1]
    assert (last["type"], last["shape"], last["nan"]) == ("SoftMax", [2, 10], 0)
    assert last["max"] == pytest.approx(found.results["probabilities"].max())
    assert str(found).startswith("classifier") and "time per type" in str(found)
    with pytest.raises(irexec.IRError, match="no input"):
        irexec.run(model, {"picture": image})


def test_an_overview_prints_what_the_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    model = SAMPLES / "classifier" / "model.xml"
    assert main(["show", str(model)]) == 0
    assert str(irexec.show(model)).split() == capsys.readouterr().out.split()
