"""`irexec fix` and `irexec validate --fix`: files that are replaced or unchanged, and the messages about them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from support.nets import two_inputs
from support.waiting import PATIENCE

import irexec
from irexec.cli.main import main
from irexec.tools.fixes import applying

RIGHT = two_inputs().text.replace('auto_broadcast="numpy"', 'auto_broadcast="none"')
WRONG = RIGHT.replace('type="ReLU"', 'type="relu"').replace("auto_broadcast", "auto_brodcast")
ASSUMED = """<net name="assumed" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="1,3,8,8" element_type="f32"/>
            <output><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>8</dim><dim>8</dim></port></output>
        </layer>
        <layer id="1" name="pool" type="MaxPool" version="opset1">
            <data kernel="2,2" strides="2,2" pads_begin="0,0" pad_end="0,0"/>
            <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>8</dim><dim>8</dim></port></input>
            <output><port id="1" precision="FP32"><dim>1</dim><dim>3</dim><dim>4</dim><dim>5</dim></port></output>
        </layer>
        <layer id="2" name="y" type="Result" version="opset1">
            <input><port id="0" precision="FP32"><dim>1</dim><dim>3</dim><dim>4</dim><dim>4</dim></port></input>
        </layer>
    </layers>
    <edges>
        <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="1" to-layer="4" to-port="0"/>
    </edges>
</net>
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.xml"
    path.write_text(WRONG, "utf-8")
    return path


def test_safe_fixes_are_made_and_the_rest_is_shown(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", str(model)]) == 1
    shown = capsys.readouterr().out
    assert shown.startswith(f'{model}:5: L009 write type="ReLU"\nfixed 1 finding in {model}\n\nerror[D001]')
    assert "1 fixable with `irexec fix --unsafe`\n" in shown
    assert model.read_text("utf-8") == WRONG.replace("relu", "ReLU")


def test_unsafe_fixes_are_made_on_demand(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--unsafe", str(model)]) == 0
    assert "D001 rename auto_brodcast to auto_broadcast (unsafe)\n" in capsys.readouterr().out
    assert model.read_text("utf-8") == RIGHT
    assert main(["fix", "--unsafe", str(model)]) == 0
    assert capsys.readouterr().out == "no findings\n"


def test_a_file_without_applicable_fixes_is_reported_as_unchanged(
    model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["fix", str(model)])
    assert "nothing was changed" not in capsys.readouterr().out
    assert main(["fix", str(model)]) == 1
    assert capsys.readouterr().out.endswith("for details: irexec explain D001\nnothing was changed\n")
    assert main(["fix", "--diff", str(model)]) == 1
    shown = capsys.readouterr()
    assert not shown.out and shown.err.endswith("nothing to change\n")
    assert main(["fix", "--quiet", str(model)]) == 1
    assert "nothing was changed" not in capsys.readouterr().out


def test_a_fix_that_assumed_an_unsafe_fix_is_logged_as_unsafe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The declared shapes are checked with the corrected attribute; the type at the end of the edge differs."""
    path = tmp_path / "model.xml"
    path.write_text(ASSUMED, "utf-8")
    assert main(["fix", str(path), "--unsafe"]) == 0
    assert [line.split(": ", 1)[1] for line in capsys.readouterr().out.splitlines()[:3]] == [
        "D001 rename pad_end to pads_end (unsafe)",
        "P005 declare [1,3,4,4] (unsafe)",
        'E009 write to-layer="2", although the declared types differ (unsafe)',
    ]


def test_a_difference_is_printed_and_nothing_is_written(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fix", "--unsafe", "--diff", str(model)]) == 0
    difference = capsys.readouterr().out
    assert model.read_text("utf-8") == WRONG
    subprocess.run(["patch", "-s", str(model)], input=difference, text=True, check=True, timeout=PATIENCE)
    assert model.read_text("utf-8") == RIGHT


@pytest.mark.parametrize(("options", "left"), [(["--select", "D"], "L009"), (["--ignore", "D001,X"], "D001")])
def test_findings_are_picked_by_their_codes(
    options: list[str], left: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fix", "--unsafe", *options, str(model)]) == 0
    assert [finding.code for finding in irexec.validate(model)] == [left]


def test_weights_are_of_one_model_and_can_be_read(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = model.with_name("other.xml")
    other.write_text(WRONG, "utf-8")
    assert main(["fix", str(model), str(other), "--weights", str(model)]) == 2
    assert "error[U003]" in capsys.readouterr().out
    assert main(["fix", str(model), "--weights", str(model.with_name("none.bin"))]) == 2
    assert "error[U001]" in capsys.readouterr().out
    assert model.read_text("utf-8") == WRONG


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_loose_layers_are_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str], codec: str) -> None:
    wrong = (
        '<layer id="0" name="é" type="relu" version="opset1">\n    <input>\n'
        '        <port id="0", precision="F32"><dim>2</dim></port>\n    </input>\n</layer>\n'
    )
    right = wrong.replace("relu", "ReLU").replace('",', '"').replace('"F32', '"FP32')
    path = tmp_path / "snippet.xml"
    path.write_text(wrong, codec)
    assert main(["fix", "--diff", str(path)]) == 0
    assert capsys.readouterr().out.count("\n-") == 2
    # The edits in JSON refer to the bytes of the file.
    assert main(["validate", "--format", "json", str(path)]) == 0
    edits = [
        edit
        for finding in json.loads(capsys.readouterr().out)["diagnostics"]
        for fix in finding.get("fixes", ())
        for edit in fix["edits"]
    ]
    data = path.read_bytes()
    for edit in sorted(edits, key=lambda edit: -edit["start"]):
        text = edit["text"].encode(codec.replace("-sig", "").replace("utf-16", "utf-16-le"))
        data = data[: edit["start"]] + text + data[edit["stop"] :]
    assert data.decode(codec) == right
    assert main(["fix", str(path)]) == 0
    assert path.read_text(codec) == right


def test_a_file_that_somebody_else_writes_meanwhile_is_theirs(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    apply_fixes = applying.apply_fixes

    def slow(data: bytes, *args: object, **how: object) -> object:
        model.write_text("<net/>", "utf-8")
        return apply_fixes(data, *args, **how)

    monkeypatch.setattr(applying, "apply_fixes", slow)
    assert main(["fix", str(model)]) == 2
    assert "error[U007]: the file was changed by another program or is being written" in capsys.readouterr().out
    assert model.read_text("utf-8") == "<net/>"
    assert os.listdir(model.parent) == ["model.xml"]


def test_a_file_that_is_not_there_is_unusable(tmp_path: Path) -> None:
    assert main(["fix", str(tmp_path / "none.xml")]) == 2


def test_validate_fixes_first_if_asked(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--fix", "--format", "json", str(model)]) == 1
    shown = capsys.readouterr()
    (finding,) = json.loads(shown.out)["diagnostics"]
    assert finding["code"] == "D001"
    assert finding["fixes"][0]["safety"] == "unsafe"
    assert "fixed 1 finding" in shown.err


def test_fixes_are_in_sarif(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", "--format", "sarif", str(model)])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    (fix,) = next(result for result in results if result["ruleId"] == "L009")["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    line = WRONG.splitlines()[region["startLine"] - 1]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "relu"
    assert replacement["insertedContent"] == {"text": "ReLU"}


def test_every_line_that_a_fix_changes_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, lines = tmp_path / "model.xml", RIGHT.splitlines()
    changed = [number for number, line in enumerate(lines, 1) if "FP32" in line][-2:]
    for number in changed:
        lines[number - 1] = lines[number - 1].replace("FP32", "I32")
    path.write_text("\n".join(lines), "utf-8")
    main(["fix", str(path)])
    assert path.read_text("utf-8").splitlines() == RIGHT.splitlines()
    assert f"{path}:{changed[0]}: P004 declare FP32, also in line {changed[1]}\n" in capsys.readouterr().out


def test_a_limited_number_of_reads_is_mentioned_if_fixes_are_left(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(applying, "LEAST_READS", 2)
    monkeypatch.setattr(applying, "MOST_READ", 0)
    main(["fix", "--unsafe", str(model)])
    assert f"note: {model}: more fixes are possible: run the command again\n" in capsys.readouterr().out
    main(["fix", "--unsafe", str(model)])
    assert "more fixes" not in capsys.readouterr().out
    assert model.read_text("utf-8") == RIGHT
