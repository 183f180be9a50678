"""Results of a campaign: new failures beside old ones, JUnit, baselines."""

from __future__ import annotations

import datetime
import xml.etree.ElementTree as ElementTree
from typing import Any

from irexec.tools.conformance.baseline import Known, unexpected, unmet
from irexec.tools.conformance.clusters import clusters_of
from irexec.tools.conformance.report import compared, failures, from_json, junit, to_json
from irexec.tools.conformance.results import Finding, Tally


def finding(number: int, operator: str = "Negative-1", word: str = "wrong", **facts: str) -> Finding:
    name = f"{operator}/f32/x=[{number}]/seed1"
    return Finding(name, word, "off by 1", operator, "static", {"type": "f32"} | facts)


def tally(*findings: Finding, cases: int = 40) -> Tally:
    made = Tally(findings=list(findings), runtime="mine")
    for name in {"Negative-1", "Abs-1", *(f.operator for f in findings)}:
        made.cells[f"{name}|f32|static"] = {"passed": cases}
    return made


def test_new_failures_of_a_known_kind_are_new() -> None:
    before, after = tally(finding(1)), tally(*map(finding, range(1, 6)))
    found = compared(before, after)
    assert found["broke"] == [f"{clusters_of(failures(after)[1:], after)[0].title} (4 cases)"]
    assert len(found["both"]) == 1
    assert compared(after, before)["broke"] == []
    assert len(compared(after, before)["mended"]) == 1


def test_of_other_cases_only_other_causes_are_new() -> None:
    before, after = tally(finding(1), cases=10), tally(*map(finding, range(7, 10)), finding(1, word="shape"))
    found = compared(before, after)
    assert len(found["broke"]) == 1 and "wrong shape" in found["broke"][0]
    assert compared(before, tally(finding(3, "Relu-1")))["only once"] == ["Relu-1"]


def test_a_new_failure_beside_a_known_one_is_a_failure() -> None:
    made = tally(finding(1), finding(22), finding(1, "Abs-1"))
    known = {finding(1).name: "known", finding(1, "Abs-1").name: "known, too"}
    suite = ElementTree.fromstring(junit(made, clusters_of(failures(made), made), known))
    results: dict[str, Any] = {case.get("name"): [child.tag for child in case] for case in suite}
    assert suite.get("failures") == "1"
    assert results == {"Abs-1": ["skipped"], "Negative-1": ["failure"]}


def test_an_expired_entry_hides_no_valid_one() -> None:
    today = datetime.date(2026, 11, 28)
    known = [Known("Negative-1/*", "old", expires=datetime.date(2026, 1, 1)), Known("Negative-1/f32/*", "valid")]
    assert unexpected([finding(1)], known, today) == []
    assert unexpected([finding(1)], known[:1], today) == [finding(1)]


def test_an_entry_is_unmet_only_if_its_operator_ran() -> None:
    known = [Known("Negative-1/*", "a"), Known("Abs-1/*", "b"), Known("*", "c")]
    assert unmet(known, ["Negative-1"]) == ["Negative-1/*", "*"]


def test_all_failures_are_in_the_file() -> None:
    made = tally(*(finding(n, word="refused") for n in range(20_010)), *map(finding, range(30_000, 30_003)))
    read = from_json(to_json(made, [], [], 0))
    assert len(failures(read)) == 3
    assert len(read.findings) == 20_003


def test_clusters_that_read_alike_are_one() -> None:
    made = tally(*map(finding, range(9)), finding(50, layers="a b"))
    titles = [cluster.title for cluster in clusters_of(failures(made), made)]
    assert len(titles) == len(set(titles))
