"""The selection and the display of findings: options, settings, comments in the file, folders, standard input."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.nets import two_inputs

from irexec.cli.main import main

RIGHT = two_inputs().text.replace('auto_broadcast="numpy"', 'auto_broadcast="none"')
WRONG = RIGHT.replace('type="ReLU"', 'type="relu"').replace("auto_broadcast", "auto_brodcast")
NOTED = """<net name="m" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset8">
            <data shape="1,2" element_type="f32"/>
            <output><port id="0" precision="FP32"><dim>1</dim><dim>2</dim></port></output>
        </layer>
        <layer id="1" name="y" type="Result" version="opset1">
            <input><port id="0" precision="FP32"><dim>1</dim><dim>2</dim></port></input>
        </layer>
    </layers>
    <edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/></edges>
</net>
"""
PRINTED = """<layer id="0" name="a" type="Abs" version="opset1">
    <data axes="1"/>
    <input><port id="0" precision="FP32"><dim>2</dim></port></input>
    <output><port id="1" precision="FP32"><dim>2</dim></port></output>
</layer>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models" / "deep").mkdir(parents=True)
    (tmp_path / "models" / "wrong.xml").write_text(WRONG)
    (tmp_path / "models" / "deep" / "right.xml").write_text(RIGHT)
    (tmp_path / "models" / "pom.xml").write_text("<project/>")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def codes(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    main(["validate", *arguments, "--format", "json"])
    return [finding["code"] for finding in json.loads(capsys.readouterr().out)["diagnostics"]]


def test_folders_are_searched_for_models(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert codes(capsys, "models") == ["L009", "D001"]
    assert main(["validate", "models/pom.xml"]) == 1
    capsys.readouterr()
    assert main(["validate", "--skip-others", "models/pom.xml"]) == 0
    assert main(["fix", "--unsafe", "models"]) == 0
    assert (folder / "models" / "wrong.xml").read_text() == RIGHT


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (["--select", "D"], ["D001"]),
        (["--ignore", "d001"], ["L009"]),
        (["--select", "D,L", "--ignore", "L0"], ["D001"]),
        (["--select", "X"], []),
    ],
)
def test_findings_are_selected_and_ignored(
    options: list[str], left: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert codes(capsys, "models", *options) == left
    assert main(["validate", "models", *options]) == int("D001" in left)


def test_codes_that_there_are_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "models", "--select", "P04"]) == 2
    assert "--select: no code starts with 'P04'" in capsys.readouterr().out


def test_exit_zero_is_for_findings_only(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "models", "--exit-zero"]) == 0
    assert main(["validate", "nothing.xml", "--exit-zero"]) == 2


def test_one_line_for_each_finding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "models/wrong.xml", "--output-format", "concise"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    # What must be corrected comes first.
    assert lines[0].startswith("models/wrong.xml:6:") and lines[0].endswith("[unsafe fix]")
    assert lines[1].startswith("models/wrong.xml:5:") and lines[1].endswith("[fix]")


def test_statistics_and_quiet(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["validate", "models", "--statistics"])
    assert capsys.readouterr().out == (
        "1  D001  the operator does not have this attribute (1 fixable)\n"
        "1  L009  the type is not spelled as in an IR (1 fixable)\n"
    )
    main(["validate", "models", "--quiet"])
    assert "1 error" not in capsys.readouterr().out
    main(["validate", "models/deep", "--quiet"])
    assert capsys.readouterr().out == ""


def test_notes_are_shown_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "noted.xml").write_text(NOTED)
    main(["validate", "noted.xml"])
    assert capsys.readouterr().out == "no findings\n"
    main(["validate", "noted.xml", "--verbose"])
    assert "note[L007]" in capsys.readouterr().out


def test_many_findings_of_one_code_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edges = [f'<edge from-layer="0" from-port="0" to-layer="{n}" to-port="0"/>' for n in range(70, 100)]
    (folder / "many.xml").write_text(NOTED.replace("</edges>", "".join(edges) + "</edges>"))
    main(["validate", "many.xml"])
    shown = capsys.readouterr().out
    assert shown.count("warning[E009]") == 20
    assert "30 warnings" in shown
    assert "10 more findings of E009" in shown
    main(["validate", "many.xml", "--most", "0"])
    assert capsys.readouterr().out.count("warning[E009]") == 30
    main(["validate", "many.xml", "--most", "1", "--format", "concise"])
    assert "warning[E009] and 29 more\n" in capsys.readouterr().out


def test_many_findings_of_one_cause_are_reported_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edge = '\n<edge from-layer="0" from-port="0" to-layer="77" to-port="0"/>'
    (folder / "many.xml").write_text(NOTED.replace("</edges>", edge * 30 + "</edges>"))
    assert main(["validate", "many.xml"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("warning[E009]") == 3
    assert (
        "= and: 27 more of this kind in lines 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, ...; --verbose shows all\n"
        in shown
    )
    hidden = "27 more findings of E009 are not shown\n30 fixable with `irexec fix`\n"
    assert shown.endswith(f"30 warnings\n{hidden}for details: irexec explain E009\n")
    for options in (["--verbose"], ["--most", "0"]):
        main(["validate", "many.xml", *options])
        assert capsys.readouterr().out.count("warning[E009]") == 30
    main(["validate", "many.xml", "--format", "json"])
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)["diagnostics"]].count("E009") == 30
    main(["validate", "many.xml", "--format", "concise"])
    assert capsys.readouterr().out.count("many.xml:") == 20


SETTINGS = {
    'ignore = ["L009"]': ["D001"],
    'select = ["L"]': ["L009"],
    'exclude = ["models/wrong.xml"]': [],
    'mode = "openvino"': ["L009", "D001"],
    'per-file-ignores = {"models/*" = ["D", "L"]}': [],
    'per-file-ignores = {"other.xml" = ["D", "L"]}': ["L009", "D001"],
}


@pytest.mark.parametrize("file", ["irexec.toml", "pyproject.toml"])
@pytest.mark.parametrize(("text", "left"), SETTINGS.items())
def test_settings_of_a_project(
    text: str, left: list[str], file: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / file).write_text(text if file == "irexec.toml" else f"[tool.irexec]\n{text}")
    assert codes(capsys, "models") == left
    assert main(["validate", "models"]) == int("D001" in left and "mode" not in text)


def test_options_come_before_settings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "irexec.toml").write_text('ignore = ["D", "L"]\nmode = "openvino"')
    assert codes(capsys, "models") == []
    assert codes(capsys, "models", "--ignore", "L") == ["D001"]
    assert main(["validate", "models", "--ignore", "L", "--mode", "strict"]) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slect = []", "unknown setting 'slect'"),
        ("select = 3", "select is 3, expected a list of strings"),
        ('ignore = ["ZZ"]', "ignore: no code starts with 'ZZ'"),
        ('mode = "lax"', "mode is 'lax'"),
        ("select = [", "the settings cannot be read"),
        ("per-file-ignores = 1", "expected a table"),
    ],
)
def test_wrong_settings_are_findings(text: str, said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "irexec.toml").write_text(text)
    assert main(["validate", "models"]) == 2
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tool = 5", None),
        ("[tool]\nirexec = 5", "tool.irexec is not a table"),
        ("[[tool.irexec]]", "tool.irexec is not a table"),
        ("[tool.irexec", "the settings cannot be read"),
        ("[project", None),
    ],
)
def test_a_project_file_without_valid_settings(
    text: str, said: str | None, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An invalid file is an error only if it may contain settings of irexec."""
    (folder / "pyproject.toml").write_text(text)
    assert (main(["validate", "models"]) == 2) == (said is not None)
    assert (said or "") in capsys.readouterr().out


IGNORED = [
    ("<net", "<!-- irexec: ignore L009, D --><net", []),
    ("<layers>", "<!-- irexec: ignore D001 --><layers>", ["L009"]),
    ('<layer id="2"', '<!-- irexec: ignore --><layer id="2"', ["D001"]),
    ('<layer id="3"', '<!-- irexec: ignore D001 --><layer id="3"', ["L009"]),
    ('<layer id="3"', '<!-- irexec: ignore P004 --><layer id="3"', ["L009", "D001"]),
    ("<edges>", "<edges><!-- irexec: ignore -->", ["L009", "D001"]),
    ("<net", "<!-- irexec: ignored --><net", ["L009", "D001"]),
]


@pytest.mark.parametrize(("place", "text", "left"), IGNORED)
def test_a_file_excludes_findings(
    place: str, text: str, left: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "asks.xml").write_text(WRONG.replace(place, text, 1))
    assert codes(capsys, "asks.xml") == left
    assert main(["fix", "asks.xml", "--select", "L009", "--diff"]) == 0
    assert ("+" in capsys.readouterr().out) is ("L009" in left)


def test_standard_input(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))

    given(WRONG)
    assert main(["validate", "-"]) == 1
    assert b"error[D001]" in capsysbinary.readouterr().out
    given(WRONG)
    assert main(["fix", "--unsafe", "-"]) == 0
    assert capsysbinary.readouterr().out == RIGHT.encode()
    given(WRONG)
    assert main(["fix", "--unsafe", "--diff", "-"]) == 0
    assert b"-" + WRONG.splitlines()[4].encode() in capsysbinary.readouterr().out
    given(RIGHT)
    assert main(["run", "-"]) == 0


def test_machines_get_a_whole_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["fix", "models/wrong.xml", "--format", "json"])
    assert [finding["code"] for finding in json.loads(capsys.readouterr().out)["diagnostics"]] == ["D001"]


def test_settings_are_those_of_every_command(folder: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (folder / "page.md").write_text(f"# Abs\n\n```xml\n{PRINTED}```\n")
    Path("model.xml").write_text(WRONG)

    def printed(*arguments: str) -> tuple[int, str]:
        code = main(arguments)
        return code, capsys.readouterr().out

    commands = [
        ("validate", "model.xml"),
        ("show", "model.xml"),
        ("run", "model.xml"),
        ("doctest", "page.md"),
        ("fix", "model.xml", "--diff", "--unsafe"),
    ]
    before = {command: printed(*command) for command in commands}
    Path("irexec.toml").write_text('ignore = ["D", "L", "P", "Q"]\n')
    after = {command: printed(*command) for command in commands}
    for command in commands[:4]:
        assert "[D001]" in before[command][1] and "[D001]" not in after[command][1], command
    assert [code for code, _ in before.values()] == [1, 1, 0, 1, 0]
    assert [code for code, _ in after.values()] == [0] * 5
    assert "auto_brodcast" in before[commands[4]][1] and after[commands[4]][1] == ""
    Path("irexec.toml").write_text('mode = "strict"\n')
    assert printed("run", "model.xml")[0] == 1
    assert printed("run", "model.xml", "--mode", "openvino")[0] == 0
    Path("irexec.toml").write_text('exclude = ["page*", "*.xml"]\n')
    assert printed("doctest", ".")[0] == 2
    Path("irexec.toml").write_text("mode = 3\n")
    for command in commands:
        assert printed(*command)[0] == 2


def test_errors_that_prevent_a_run_are_not_ignored(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.xml").write_text(WRONG.replace('type="relu"', 'type="Unheard"'))
    Path("irexec.toml").write_text('ignore = ["L"]\n')
    assert main(["run", "model.xml"]) == 1
    assert "error[L004]" in capsys.readouterr().out


def test_warnings_that_many_files_have_alike_are_shown_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("wrong2", "wrong3", "wrong4"):
        Path(f"models/{name}.xml").write_text(WRONG)
    main(["validate", "models", "--mode", "openvino"])
    shown = capsys.readouterr().out
    assert shown.count("warning[D001]") == 1
    lines = ", ".join(f"models/wrong{number}.xml:" for number in (2, 3, 4))
    (told,) = [line for line in shown.splitlines() if "more files" in line and "wrong2" in line and "D001" not in line][
        :1
    ]
    assert "3 more files: models/wrong2.xml:" in told and told.count("models/wrong") == lines.count("models/wrong")
    main(["validate", "models", "--mode", "openvino", "--verbose"])
    assert capsys.readouterr().out.count("warning[D001]") == 4
    main(["validate", "models"])
    assert capsys.readouterr().out.count("error[D001]") == 4
