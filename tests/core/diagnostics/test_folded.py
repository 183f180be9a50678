"""Findings about many items: each is reported once, and names the items that have it."""

from __future__ import annotations

from irexec.core.diagnostics import Diagnostic, LayerRef, Place, Report, Severity
from irexec.core.diagnostics.people import for_people, merged


def finding(message: str, file: str = "m.xml", layer: str = "0") -> Diagnostic:
    return Diagnostic("O008", Severity.ERROR, message, Place(file), LayerRef(layer, layer, "Parameter"))


def test_a_finding_is_reported_once_with_the_items_that_have_it() -> None:
    reports = [("a", Report([finding("one"), finding("two")])), ("b", Report()), ("c", Report([finding("one")]))]
    assert [(found.message, found.notes) for found in merged(reports, "inputs")] == [
        ("one", (("inputs", "a, c"),)),
        ("two", (("input", "a"),)),
    ]


def test_the_same_words_about_another_layer_are_another_finding() -> None:
    reports = [("a", Report([finding("one")])), ("b", Report([finding("one", layer="1")]))]
    assert len(merged(reports, "inputs")) == 2


def test_findings_about_the_items_own_files_are_one() -> None:
    reports = [(item, Report([finding("no array", item)])) for item in "abc"]
    (found,) = merged(reports, "inputs")
    assert found.place.file == "a" and found.notes == (("inputs", "a, b, c"),)


def test_of_many_items_the_first_are_named() -> None:
    names = [f"{number}.npy" for number in range(1011)]
    ((_, text),) = next(iter(merged([(name, Report([finding("one")])) for name in names], "inputs"))).notes
    assert text == ", ".join(names[:10]) + " and 1,001 more; --format json lists all"


def test_what_reports_left_out_is_counted() -> None:
    report = Report([finding("one"), finding("two")]).capped(1)
    assert merged([("a", report), ("b", report)], "inputs").left_out.total() == 2


def test_what_must_be_corrected_comes_first() -> None:
    """Errors, then errors that others may have caused, then missing weights, then warnings; each in file order."""
    order = ("A001:warning", "C010:error", "P005:error:assumed", "O001:error", "Q018:warning", "D001:error")
    rows = [row.split(":") for row in order]
    found = [Diagnostic(code, Severity(kind), code, assumption="".join(why) or None) for code, kind, *why in rows]
    shown = [finding.code for finding in for_people(Report(found))]
    assert shown == ["O001", "D001", "P005", "C010", "A001", "Q018"]
