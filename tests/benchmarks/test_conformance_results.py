"""The page of conformance results: counts of each release, and the causes of the newest one's failures."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.benchmark import benchmark

from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.report import failures, to_json
from irexec.tools.conformance.results import Finding, Tally

pytestmark = pytest.mark.any_python

NAME = "Sigmoid-1/f32/x=[2|3]/seed1"


def results(release: str, word: str) -> str:
    tally = Tally(runtime=f"OpenVINO {release} CPU", processor="a processor")
    tally.count("Sigmoid-1", "f32", "sequence", word, {})
    if word != "passed":
        tally.findings.append(Finding(NAME, word, "off by 3 %", "Sigmoid-1", "sequence"))
    return json.dumps(to_json(tally, clusters_of(failures(tally), tally), [], 0))


@pytest.mark.parametrize(
    ("cause", "shown"),
    [
        ({"cause": "first wrong pass: NopElimination (3 of 9)", "first": "2.0", "avoided by": "NUM_STREAMS=1"},
         "pass NopElimination | 2.0 | NUM_STREAMS=1"),
        ({"cause": "all 9 passes keep the results: the kernels are wrong: y", "first": "1.0 or before"},
         "kernel | 1.0 or before | –"),
        ({"cause": "compiling fails after Last (9): it crashed", "first": "2.0 (refused before)"},
         "after Last | 2.0 (refused before) | –"),
        ({"cause": ""}, "– | – | –"),
    ],
)  # fmt: skip
def test_the_page_states_causes(
    cause: dict[str, str],
    shown: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = benchmark("conformance_results")
    known = tmp_path / "causes.json"
    known.write_text(json.dumps({"releases": ["1.0", "2.0"], "cases": {NAME: cause}}))
    files = [tmp_path / "1.0.json", tmp_path / "2.0.json"]
    for file, word in zip(files, ("passed", "wrong"), strict=True):
        file.write_text(results(file.stem, word))
    monkeypatch.setattr(page, "CAUSES", known)
    monkeypatch.setattr("sys.argv", ["conformance_results.py", *map(str, files)])
    assert page.main() == 0
    text = capsys.readouterr().out
    assert "| 2.0 | 1 | 0 | 0 | 0 | 1 | 0 | 0 | 1 |" in text and "| Sigmoid-1 | 0 of 1 | 1 of 1 |" in text
    assert f"| Sigmoid-1: wrong result | {shown} |" in text
    assert f"`{NAME}`" in text


def test_the_first_release_with_the_same_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    causes = benchmark("conformance_causes")
    answers = {
        "passed before": ["passed", "passed", "wrong"],
        "another failure before": ["error", "wrong", "wrong"],
        "refused before": ["passed", "refused", "crash"],
        "always": ["wrong", "wrong", "wrong"],
        "once": ["wrong", "passed", "passed"],
    }
    task = SimpleNamespace(defendant=lambda case: None)
    monkeypatch.setattr(causes, "task_of", lambda *arguments, **options: task)
    monkeypatch.setattr(causes, "word_of", lambda case, defendant: answers[case].pop(0))
    found = causes.first_releases({name: name for name in answers}, [["1", ""], ["2", ""], ["3", ""]])
    assert found == {
        "passed before": "3", "another failure before": "2 (error before)", "refused before": "3 (refused before)",
        "always": "1 or before",
    }  # fmt: skip
