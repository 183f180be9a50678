"""Did you mean: the names that are similar to a wrong name; long texts are never compared."""

from __future__ import annotations

import difflib
from typing import Any

import pytest

from irexec.core.diagnostics.nearest import LONGEST, alike, did_you_mean, nearest


def test_letter_case_makes_no_difference() -> None:
    assert nearest("softmax", ["SoftMax", "Sort"], 1) == ["SoftMax"]
    assert nearest("AXES", ["axis", "mode"], 1) == ["axis"]


def test_the_best_is_first_and_dissimilar_names_are_omitted() -> None:
    assert nearest("dims", ["dim", "dims", "rt_info"]) == ["dims", "dim"]
    assert nearest("zzz", ["dim", "dims"]) == []


def test_a_hint_in_the_callers_form() -> None:
    assert did_you_mean("axes", ["axis"], form=repr) == "did you mean 'axis'?"
    assert did_you_mean("prot", ["port", "ports"]) == "did you mean port or ports?"
    assert did_you_mean("zzz", ["axis"]) is None


def test_a_long_text_is_not_a_slip() -> None:
    name = "x" * (LONGEST + 1)
    assert nearest(name, [name, name + "y"]) == []
    assert not alike(name, name + "y", 0.5)
    assert alike("layer", "lager", 0.7)


def test_a_name_that_is_wrong_many_times_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[str] = []
    search = difflib.get_close_matches

    def counted(name: str, *others: Any) -> list[str]:
        searched.append(name)
        return search(name, *others)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    known = ["softmax", "sort", "searched once"]
    assert [nearest("sotfmax", known) for _ in range(3)] == [["softmax"]] * 3
    assert nearest("sotfmax", known[1:]) == []
    assert searched == ["sotfmax"] * 2
