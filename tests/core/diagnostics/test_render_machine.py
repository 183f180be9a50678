"""The machine-readable forms of a report: JSON, SARIF 2.1.0, GitHub annotations, and writing to a stream."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from support.commands import Terminal

import irexec
from irexec.core.diagnostics import Diagnostic, LayerRef, Place, Related, Report, Severity
from irexec.core.diagnostics.codes import CODES
from irexec.core.diagnostics.fix import Fix, Safety
from irexec.core.diagnostics.render import FORMATS, render, write

ROOT = Path(__file__).parents[3]
SOURCE = '<layer id="3" name="漢"/>'
ERROR = Diagnostic(
    "O003",
    Severity.ERROR,
    "two, layers: 100%\nsame id",
    Place("sub dir/a:b,c.xml", 7, 12, 3, SOURCE),
    layer=LayerRef("3", "漢", "Relu", "opset1"),
    hint="use 4",
    related=(Related("first", Place("sub dir/a:b,c.xml", 2, 5, 1, SOURCE)),),
)
REPORT = Report(
    [ERROR, Diagnostic("O001", Severity.WARNING, "w", Place("m.xml", 4)), Diagnostic("O009", Severity.NOTE, "n")]
)


@pytest.mark.parametrize("format", FORMATS)
def test_the_stream_gets_what_the_string_has(format: Any) -> None:
    file = io.StringIO()
    write(REPORT, file, format)
    assert file.getvalue() == render(REPORT, format)
    assert file.getvalue().endswith("\n")


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_report_gives_the_same_text(format: Any) -> None:
    assert render(REPORT, format) == render(Report(list(REPORT)), format)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown format 'xml'"):
        render(REPORT, "xml")  # type: ignore[arg-type]


def test_colour_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")

    def written(file: io.StringIO, **options: Any) -> str:
        write(REPORT, file, **options)
        return file.getvalue()

    assert "\x1b[" in written(Terminal())
    assert "\x1b[" not in written(io.StringIO())
    assert "\x1b[" in written(io.StringIO(), color=True)
    assert "\x1b[" not in written(Terminal(), format="json")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in written(Terminal())


def test_json_is_the_report() -> None:
    text = render(REPORT, "json")
    assert text == REPORT.to_json() + "\n"
    assert text.isascii()
    assert json.loads(text)["diagnostics"][0]["layer"]["name"] == "漢"


def test_json_carries_text_that_is_not_unicode() -> None:
    report = Report([Diagnostic("O001", Severity.ERROR, "m", Place("bad\udcff.xml"))])
    assert json.loads(render(report, "json").encode().decode())["diagnostics"][0]["file"] == "bad\udcff.xml"


def test_github_annotations() -> None:
    assert render(REPORT, "github").splitlines() == [
        "::error file=sub dir/a%3Ab%2Cc.xml,line=7,col=12,endColumn=15,title=irexec O003"
        "::two, layers: 100%25%0Asame id%0Alayer: Relu '漢' (opset1)%0Ahelp: use 4",
        "::warning file=m.xml,line=4,title=irexec O001::w",
        "::notice title=irexec O009::n",
    ]


def test_a_github_annotation_cannot_start_another() -> None:
    evil = "x\r\n::set-output name=a::b\r::error::c"
    report = Report([Diagnostic("O001", Severity.ERROR, evil, Place(evil, 1, 1))])
    assert len(render(report, "github").splitlines()) == 1


def check_object(value: dict[str, Any], required: dict[str, type], optional: dict[str, type]) -> None:
    """Check that all required properties exist, all properties are known, and each has its type."""
    assert required.keys() <= value.keys()
    for name, item in value.items():
        assert isinstance(item, (required | optional)[name]), name


def check_location(location: dict[str, Any], **more: type) -> None:
    check_object(location, {}, {"physicalLocation": dict, "logicalLocations": list, **more})
    if physical := location.get("physicalLocation"):
        check_object(physical, {"artifactLocation": dict}, {"region": dict})
        check_object(physical["artifactLocation"], {"uri": str}, {})
        assert not set(physical["artifactLocation"]["uri"]) & set(' <>"{}|\\^`')
        if region := physical.get("region"):
            check_object(region, {"startLine": int}, {"startColumn": int, "endColumn": int})
            assert all(number >= 1 for number in region.values())
    for logical in location.get("logicalLocations", []):
        check_object(logical, {"name": str, "kind": str}, {})


def check_sarif(log: dict[str, Any]) -> None:
    """Check the properties that SARIF 2.1.0 requires (sections 3.13 to 3.30, 3.49), and that no others occur."""
    check_object(log, {"version": str, "runs": list}, {"$schema": str})
    assert log["version"] == "2.1.0"
    for run in log["runs"]:
        check_object(run, {"tool": dict, "results": list}, {"columnKind": str})
        assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
        driver = run["tool"]["driver"]
        check_object(driver, {"name": str, "version": str, "informationUri": str}, {"rules": list})
        assert driver["version"] == irexec.__version__
        for rule in driver["rules"]:
            texts = {"shortDescription": dict, "fullDescription": dict, "help": dict}
            check_object(rule, {"id": str, "helpUri": str, **texts}, {"defaultConfiguration": dict})
            assert (ROOT / "docs" / "codes" / rule["helpUri"].rpartition("/")[2]).is_file()
            assert rule["shortDescription"]["text"] and rule["help"]["text"]
            assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
        for result in run["results"]:
            check_object(
                result,
                {"message": dict, "ruleId": str, "ruleIndex": int, "level": str},
                {"locations": list, "relatedLocations": list, "partialFingerprints": dict},
            )
            assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
            assert result["level"] in ("none", "note", "warning", "error")
            assert result["message"]["text"]
            for location in result["locations"]:
                check_location(location)
            for location in result.get("relatedLocations", []):
                check_location(location, id=int, message=dict)


def test_sarif_has_what_the_standard_requires() -> None:
    log = json.loads(render(REPORT, "sarif"))
    check_sarif(log)
    first, second, third = log["runs"][0]["results"]
    assert [result["level"] for result in (first, second, third)] == ["error", "warning", "note"]
    assert first["message"]["text"].startswith("two, layers: 100%\nsame id\n")
    (location,) = first["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "sub%20dir/a%3Ab%2Cc.xml"},
        "region": {"startLine": 7, "startColumn": 12, "endColumn": 15},
    }
    assert location["logicalLocations"] == [{"name": "漢", "kind": "element"}]
    assert first["relatedLocations"][0]["message"]["text"] == "first"
    assert second["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}
    assert third["locations"] == []


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("found {0}", "found {{0}}"),
        ("see [a](https://b)", r"see \[a\](https://b)"),
        (r"\[a](1)", r"\\\[a\](1)"),
        ("[3,4]", r"\[3,4\]"),
    ],
)
def test_sarif_text_holds_no_placeholder_and_no_link(message: str, text: str) -> None:
    log = json.loads(render(Report([Diagnostic("O001", Severity.ERROR, message)]), "sarif"))
    assert log["runs"][0]["results"][0]["message"]["text"] == text


def test_sarif_of_no_findings_states_that_there_are_none() -> None:
    log = json.loads(render(Report(), "sarif"))
    check_sarif(log)
    assert log["runs"][0]["results"] == []


def test_sarif_rules_come_from_the_table_of_codes() -> None:
    report = Report([Diagnostic(code, entry.severity, "m") for code, entry in CODES.items()])
    log = json.loads(render(report, "sarif"))
    check_sarif(log)
    rules = {rule["id"]: rule for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert rules.keys() == CODES.keys()
    for code, entry in CODES.items():
        assert rules[code]["shortDescription"]["text"] == entry.title
        assert f"irexec explain {code}" in rules[code]["help"]["text"]


@pytest.mark.parametrize(
    ("here", "expected"), [(".", "models/m%20%231.xml"), ("models", "m%20%231.xml"), ("other", None)]
)
def test_sarif_states_paths_below_the_current_folder_relative_to_it(
    here: str, expected: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Services compare the paths with those in the repository, wherever it was checked out."""
    path = tmp_path / "models" / "m #1.xml"
    for folder in ("models", "other"):
        (tmp_path / folder).mkdir()
    monkeypatch.chdir(tmp_path / here)

    def result(file: str) -> Any:
        return json.loads(render(Report([Diagnostic("O001", Severity.ERROR, "m", Place(file, 1, 1))]), "sarif"))[
            "runs"
        ][0]["results"][0]

    found = result(str(path))
    assert found["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == (expected or path.as_uri())
    if expected is not None:
        assert found == result(str(path.relative_to(Path.cwd())))


def test_sarif_fingerprints_stay_when_lines_move() -> None:
    def fingerprints(*lines: int) -> list[str]:
        report = Report([Diagnostic("O001", Severity.ERROR, "m", Place("m.xml", line, 1), found="3") for line in lines])
        results = json.loads(render(report, "sarif"))["runs"][0]["results"]
        return [result["partialFingerprints"]["irexec/v1"] for result in results]

    assert fingerprints(3, 9) == fingerprints(4, 20)
    assert len(set(fingerprints(3, 9))) == 2


def test_a_path_has_one_form_in_annotations_and_fingerprints() -> None:
    plain, dotted = (
        Report([Diagnostic("O001", Severity.ERROR, "m", Place(file))]) for file in ("a/b.xml", "./a/b.xml")
    )
    assert render(plain, "github") == render(dotted, "github")
    assert render(plain, "sarif") == render(dotted, "sarif")


def test_a_line_distinguishes_safe_and_unsafe_fixes() -> None:
    def line(*safeties: Safety) -> str:
        fixes = tuple(Fix("t", safety, ()) for safety in safeties)
        return render(Report([Diagnostic("O001", Severity.ERROR, "m", fixes=fixes)]), "concise")

    assert line(Safety.SAFE, Safety.UNSAFE).endswith("m [fix]\n")
    assert line(Safety.SUGGESTION, Safety.UNSAFE).endswith("m [unsafe fix]\n")
    assert line(Safety.SUGGESTION).endswith(" m\n")
