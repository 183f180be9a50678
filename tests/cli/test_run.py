"""`irexec run`: its output, its JSON, its options, and its exit codes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.nets import two_inputs
from support.running import codes, run, run_json

import irexec
from irexec import opset15 as ops
from irexec.cli.main import main
from irexec.ops.spec.operator import REGISTRY

SAMPLES = Path(__file__).parents[2] / "samples"
ABS = """<layer type="Abs" version="opset1">
    <input>
        <port id="0"><dim>3</dim><!-- values: [-1, 2, -3] --></port>
    </input>
    <output>
        <port id="1"><dim>3</dim><!-- values: [1, 2, 3] --></port>
    </output>
</layer>
"""

GOLDEN = """Abs-1

inputs
  x  f32  [3]  [-1, 2, -3]  documented in the file, f32 default

result
  output  f32  [3]  [1, 2, 3]

documented and computed values
  all 3 values agree

verified
  output has the declared shape [3]
  output has the documented values

findings
warning[Q018] 1:1: <layer> has no id; '0' is assumed
warning[Q019] 1:1: <layer> has no name; 'Abs' is assumed
warning[Q021] 3:9: no precision is given for input 0, output 0
--verbose shows the source lines of 3 findings
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "abs.xml").write_text(ABS)
    (tmp_path / "two.xml").write_text(two_inputs().text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Snippets


def test_a_snippet_as_a_person_sees_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "abs.xml") == (0, GOLDEN)


def test_colour_is_for_terminals_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from irexec.frontends.pages.evaluate import read_examples
    from irexec.frontends.pages.run import run_examples
    from irexec.model.arrays.given import Given
    from irexec.tools.render.example import show_examples
    from irexec.tools.render.printing import Printout

    page = Printout(color=True)
    show_examples(run_examples(read_examples(ABS, file="abs.xml"), Given()), page)
    assert "\x1b[" in page.text
    assert "\x1b" not in run(capsys, "abs.xml")[1]


def test_verbose_shows_the_source_of_repairs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, text = run(capsys, "abs.xml", "--verbose")
    assert "warning[Q018]: <layer> has no id; '0' is assumed\n --> abs.xml:1:1\n" in text


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("scatter_nd_update/example_1.xml", 1),
        ("scatter_nd_update/example_5.xml", 0),
        ("slice_scatter/example_2.xml", 0),
    ],
)
def test_the_samples(name: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, str(SAMPLES / name))[0] == code


def test_the_erratum_is_reported_in_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    _, text = run(capsys, str(SAMPLES / "scatter_nd_update" / "example_1.xml"))
    assert "  1 of 4 elements differs, for any order of updates: [1] can only be 30 or 40, not 20\n" in text
    row = "indices i32 [5,1] [[0], [2], [-3], [-3], [0]] documented in the file, i32 declared, read as [5,1] updates"
    assert row in " ".join(text.split())
    assert text.index("\nresult\n") < text.index("\nfindings\n") < text.index("error[T001]")


def test_json_of_a_snippet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "abs.xml")
    assert (code, result["kind"], result["ok"], result["file"]) == (0, "snippet", True, "abs.xml")
    (example,) = result["examples"]
    assert example["operator"] == "Abs-1" and example["executed"] is True
    assert example["inputs"] == [
        {
            "name": "x",
            "element_type": "f32",
            "shape": [3],
            "min": -3.0,
            "max": 2.0,
            "mean": pytest.approx(-2 / 3),
            "nan": 0,
            "inf": 0,
            "values": [-1.0, 2.0, -3.0],
            "type_from": "default",
            "values_from": "page",
            "repaired": False,
        }
    ]
    (output,) = example["outputs"]
    assert (output["values"], output["documented"], output["agrees"]) == ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], True)


def test_json_has_no_bare_nan(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "abs.xml", "--input", "x=[nan, inf, -2]")
    (output,) = result["examples"][0]["outputs"]
    assert code == 1
    assert output["values"] == ["NaN", "Infinity", 2.0]
    assert (output["nan"], output["inf"], output["min"]) == (1, 1, 2.0)


@pytest.mark.parametrize("value", ["x=[4, 5, -6]", "0=[4,5,-6]", "x={4, 5, -6}", "x=a.npy", "x=@a.npy", "x=@b.npz:k"])
def test_every_way_to_give_an_input(value: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    array = np.array([4, 5, -6], np.float32)
    np.save("a.npy", array)
    np.savez("b.npz", k=array, other=array)
    _, result = run_json(capsys, "abs.xml", "--input", value)
    (example,) = result["examples"]
    assert example["inputs"][0]["values_from"] == "--input"
    assert example["outputs"][0]["values"] == [4.0, 5.0, 6.0]


def test_an_archive_and_a_file_without_names(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.savez("in.npz", x=np.array([4, 5, -6], np.float32))
    np.save("in.npy", np.array([7, 8, 9], np.float32))
    assert run_json(capsys, "abs.xml", "--input", "in.npz")[1]["examples"][0]["outputs"][0]["values"] == [4, 5, 6]
    assert run_json(capsys, "abs.xml", "--input", "in.npy")[1]["examples"][0]["outputs"][0]["values"] == [7, 8, 9]


@pytest.mark.parametrize(
    ("value", "code", "says"),
    [
        ("x", "U004", "not have the form NAME=VALUE"),
        ("=1", "U004", "not have the form NAME=VALUE"),
        ("x=", "U004", "not have the form NAME=VALUE"),
        ("x=[1, 2", "U004", "not a list"),
        ("x=[1, [2]]", "U004", "differ in length"),
        ("x=['a', 'b', 'c']", "U004", "not f32 values"),
        ("y=[1]", "U005", "no input has this name"),
        ("x=missing.npy", "U001", "the file does not exist"),
        ("x=.", "U001", "cannot read"),
        ("x=abs.xml", "U004", "neither .npy nor .npz"),
        ("x=@b.npz:q", "U005", "no array 'q'"),
        ("x=@b.npz", "U005", "2 arrays"),
        ("x=@broken.npz:k", "U004", "contains no arrays"),
        ("x=broken.npy", "U004", "contains no arrays"),
        ("x=huge.npy", "U004", "contains no arrays"),
        ("x=pickled.npy", "U004", "contains no arrays"),
        ("x=" + "[" * 2000, "U004", "not a list"),
        ("x=\0", "U00", ""),
    ],
)
def test_a_bad_input_is_a_finding(
    value: str, code: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    array = np.arange(3.0)
    np.savez("b.npz", k=array, other=array)
    (folder / "broken.npz").write_bytes((folder / "b.npz").read_bytes()[:200])
    np.save("a.npy", array)
    (folder / "broken.npy").write_bytes((folder / "a.npy").read_bytes()[:30])
    (folder / "huge.npy").write_bytes((folder / "a.npy").read_bytes().replace(b"(3,)", b"(9999999999999,)"))
    np.save("pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    exit_code, result = run_json(capsys, "abs.xml", "--input", value)
    assert exit_code == 2
    assert any(found.startswith(code) for found in codes(result))
    assert any(says in finding["message"] for finding in result["diagnostics"])


@pytest.mark.parametrize("command", ["run", "compare"])
def test_keys_of_an_archive_that_name_no_input_have_a_hint(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = ops.parameter([3], np.float32, name="x")
    irexec.save_model(irexec.Model([ops.abs(x, name="y")], [x], "m"), "m.xml")
    np.savez("io.npz", in0=np.arange(3.0, dtype=np.float32))
    assert main([command, "m.xml", "--input", "io.npz", *(["--with", "io.npz"] if command == "compare" else [])]) == 2
    printed = capsys.readouterr()
    assert "choose an array for an input with --input x=@io.npz:KEY" in printed.out + printed.err


def test_near_names_are_suggested(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, result = run_json(capsys, str(SAMPLES / "slice_scatter" / "example_1.xml"), "--input", "strat=[0]")
    assert [d["hint"] for d in result["diagnostics"] if d["code"] == "U005"] == ["did you mean start?"]


def test_precision_seed_and_shape(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "open.xml").write_text(
        '<layer type="Abs" version="opset1"><input><port id="0">...</port></input></layer>'
    )
    assert run(capsys, "open.xml")[0] == 2
    arguments = ("open.xml", "--shape", "x=2,2", "--precision", "f16", "--seed", "3")
    code, result = run_json(capsys, *arguments)
    (entry,) = result["examples"][0]["inputs"]
    assert code == 0
    assert (entry["element_type"], entry["type_from"], entry["shape"]) == ("f16", "--precision", [2, 2])
    assert entry["values_from"] == "random (seed 3)"
    assert run_json(capsys, *arguments)[1] == result
    _, named = run_json(capsys, "abs.xml", "--precision", "x=I32")
    assert named["examples"][0]["outputs"][0]["element_type"] == "i32"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--precision", "f17"),
        ("--precision", "x="),
        ("--shape", "x"),
        ("--shape", "x=?"),
        ("--shape", "x=2,"),
        ("--shape", "x=1.."),
    ],
)
def test_bad_precisions_and_shapes(option: str, value: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "abs.xml", option, value)
    assert (code, codes(result)) == (2, ["U004"])


def test_strict_makes_repairs_errors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "abs.xml", "--strict")
    assert code == 1
    assert codes(result) == ["Q018", "Q019", "Q021"]


def test_the_page_gives_the_version(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mvn.xml").write_text(
        ABS.replace('type="Abs" version="opset1"', 'type="ShapeOf"')
        .replace("[1, 2, 3]", "[3]")
        .replace('<port id="1"><dim>3</dim>', '<port id="1"><dim>1</dim>')
    )
    assert run_json(capsys, "mvn.xml")[1]["examples"][0]["operator"] == "ShapeOf-3"
    assert run_json(capsys, "mvn.xml", "--page", "ShapeOf-1")[1]["examples"][0]["operator"] == "ShapeOf-1"


def test_results_are_saved_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = run(capsys, "abs.xml", "--save", "out.npz", "--precision", "bf16")
    assert code == 0 and text.endswith("\nsaved out.npz\n")
    with np.load("out.npz") as saved:
        assert saved["output"].dtype == np.float32
        np.testing.assert_array_equal(saved["output"], [1, 2, 3])
    assert run(capsys, "abs.xml", "--save", "nowhere/out.npz")[0] == 2
    assert sorted(p.suffix for p in folder.iterdir()) == [".npz", ".xml", ".xml"]


def test_layers_of_one_text_are_saved_side_by_side(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "both.xml").write_text(ABS + ABS)
    assert run(capsys, "both.xml", "--save", "out.npz")[0] == 0
    with np.load("out.npz") as saved:
        assert saved.files == ["layer_0.output", "layer_1.output"]


@pytest.mark.parametrize("option", [("--trace",), ("--dump", "d"), ("--until", "Abs"), ("--weights", "abs.xml")])
def test_options_of_models_are_refused(
    option: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, result = run_json(capsys, "abs.xml", *option)
    assert (code, codes(result)) == (2, ["U003"])


# Neither a model nor a snippet


@pytest.mark.parametrize(
    ("text", "code"),
    [("", "X"), ("hello", "X"), ("<a/>", "N001"), ("<net", "X"), ('<net name="x" version="99"/>', "N"), ("<layer", "")],
)
def test_a_file_that_is_neither(text: str, code: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.xml").write_text(text)
    exit_code, result = run_json(capsys, "odd.xml")
    assert exit_code in (1, 2)
    assert codes(result)
    assert codes(result)[0].startswith(code)


def test_a_missing_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, result = run_json(capsys, "twoo.xml")
    assert (code, codes(result)) == (2, ["U001"])
    assert result["diagnostics"][0]["hint"] == "did you mean two.xml?"


def test_an_operator_of_ones_own(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "ops.py").write_text(
        "from typing import Annotated\nimport irexec\nfrom irexec.ops.spec.operator import Elements\n"
        "from irexec.ops.rules.shapes import same_as\nfrom irexec.core.types import F32, Array\n"
        'Float = Annotated[Array, Elements("T", {F32})]\n'
        '@irexec.operator("Twice", "mine", shapes=same_as())\ndef twice(x: Float, /) -> Float:\n    return x * 2\n'
    )
    (folder / "twice.xml").write_text(ABS.replace('"Abs" version="opset1"', '"Twice" version="mine"'))
    try:
        _, result = run_json(capsys, "twice.xml", "--extension", "ops.py")
        assert result["examples"][0]["outputs"][0]["values"] == [-2.0, 4.0, -6.0]
        assert codes(result) == ["T001"]
    finally:
        REGISTRY.pop(("Twice", "mine"), None)


def test_a_wrong_option_shows_no_result_of_random_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "relu.xml"
    file.write_text('<layer type="ReLU"><input><port id="0" precision="F32"><dim>3</dim></port></input></layer>')
    assert main(["run", str(file), "--input", "dat=[1, 2, 3]"]) == 2
    text = capsys.readouterr().out
    assert "not run\n  an option does not fit the inputs" in text and "\nresult\n" not in text and "U005" in text


def test_all_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "relu.xml"
    file.write_text('<layer type="ReLU"><input><port id="0" precision="I32"><dim>60</dim></port></input></layer>')
    values = ", ".join(map(str, range(60)))
    assert main(["run", str(file), "--input", f"0=[{values}]", "--all-values"]) == 0
    assert f"output = [{values}]" in capsys.readouterr().out
