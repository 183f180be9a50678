"""Reports and findings as values: counted, capped, found again, pickled and copied."""

from __future__ import annotations

import copy
import json
import pickle

import pytest

import irexec
from irexec.core.diagnostics import Diagnostic, IRError, LayerRef, Place, Report, Severity
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.render import FORMATS, render


def finding(line: int, code: str = "P007", severity: Severity = Severity.ERROR) -> Diagnostic:
    return Diagnostic(code, severity, "three ports", Place("m.xml", line, 1, 1, "<layer>"))


def refused() -> IRError:
    with pytest.raises(IRError) as caught:
        irexec.read_model(b"<a")
    return caught.value


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_crosses_processes_whole(again) -> None:
    error = refused()
    other = again(error)
    assert type(other) is IRError
    assert str(other) == str(error)
    assert other.report == error.report
    assert not other.report.ok
    assert len(error.report) > 0


def test_a_report_is_pickled_with_its_counts() -> None:
    report = Report([finding(n) for n in range(9)]).capped(4)
    again = pickle.loads(pickle.dumps(report))
    assert again == report
    assert again.left_out == {(Severity.ERROR, "P007"): 5}


def test_a_report_is_capped_per_code_and_severity() -> None:
    warnings = [finding(n, severity=Severity.WARNING) for n in range(3)]
    errors = [finding(n) for n in range(5)]
    other = [finding(n, "E004") for n in range(2)]
    report = Report([*warnings, *errors, *other]).capped(2)
    assert [d.severity for d in report] == [*["warning"] * 2, *["error"] * 4]
    assert report.left_out == {(Severity.WARNING, "P007"): 1, (Severity.ERROR, "P007"): 3}
    assert not report.ok
    assert report.capped(1).left_out == {
        (Severity.WARNING, "P007"): 2,
        (Severity.ERROR, "P007"): 4,
        (Severity.ERROR, "E004"): 1,
    }
    whole = Report()
    whole.extend(report)
    whole.extend(report)
    assert whole.sorted().left_out == {(Severity.WARNING, "P007"): 2, (Severity.ERROR, "P007"): 6}


@pytest.mark.parametrize("format", FORMATS)
def test_every_renderer_states_how_many_are_left_out(format) -> None:
    text = render(Report([finding(n) for n in range(4330)]).capped(9), format)
    assert "4321" in text.replace(",", "")
    assert text.count("three ports") == 9


def test_json_states_what_is_left_out_only_where_something_is() -> None:
    assert "left_out" not in json.loads(Report([finding(1)]).to_json())
    assert json.loads(Report([finding(1), finding(2)]).capped(1).to_json())["left_out"] == {"P007": 1}


def test_the_summary_counts_everything() -> None:
    text = render(Report([finding(n) for n in range(1500)]).capped())
    assert "1500 errors\n500 more findings of P007 are not shown\n" in text


def test_what_was_found_about_a_layer_is_known() -> None:
    layer, other = LayerRef("1", "a", "Add"), LayerRef("2", "b", "Add")
    findings = Findings()
    assert not findings.has_finding("P007", layer)
    findings.add("P007", "three ports", layer=layer)
    assert findings.has_finding("P007", layer)
    assert findings.has_error(layer)
    assert not findings.has_finding("P007", other)
    assert not findings.has_finding("E004", layer)
    findings.add("L008", "unused", layer=other)
    assert findings.has_finding("L008", other)
    assert not findings.has_error(other)


def test_errors_follow_the_findings_however_they_change() -> None:
    report = Report([finding(1), finding(2, severity=Severity.NOTE)])
    assert [d.line for d in report.errors] == [1]
    report.add(finding(3))
    report.diagnostics.append(finding(4))
    assert [d.line for d in report.errors] == [1, 3, 4]
    del report.diagnostics[0]
    assert [d.line for d in report.errors] == [3, 4]
    report.replace([finding(5, severity=Severity.WARNING), *list(report)[1:]])
    assert [d.line for d in report.errors] == [3, 4]
    report.replace([finding(5, severity=Severity.WARNING)])
    assert report.ok


def test_no_finding_is_looked_at_twice_for_the_errors() -> None:
    looked = []

    class Watched(list):
        def __getitem__(self, index):
            part = super().__getitem__(index)
            looked.extend(part if isinstance(index, slice) else ())
            return part

    report = Report()
    report.diagnostics = Watched()
    for number in range(1000):
        report.add(finding(number))
        assert not report.ok
    assert len(looked) == 1000


def test_an_error_has_the_hint_or_the_allowed_names() -> None:
    findings = Findings()
    findings.add("U005", "inputs['q']: no input has this name", allowed="image")
    findings.add("U005", "inputs['img']: no input has this name", hint="did you mean image?", allowed="image")
    assert str(IRError(findings.report)).splitlines() == [
        "error[U005] inputs['q']: no input has this name; allowed: image",
        "error[U005] inputs['img']: no input has this name; did you mean image?",
    ]
