"""Results as JSON and back: exactly equal, and only values of the supported types."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.seed_pages import PAGES

import irexec
from irexec.tools.parallel.log import Vocabulary
from irexec.tools.parallel.models import Validate
from irexec.tools.parallel.pages import CheckPage

SAMPLES = Path(__file__).parents[3] / "samples"


def through_json(value: Any, *words: type) -> Any:
    vocabulary = Vocabulary(words)
    return vocabulary.decode(json.loads(json.dumps(vocabulary.encode(value))))


@pytest.mark.parametrize("path", sorted(SAMPLES.rglob("*.xml")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_reports(path: Path) -> None:
    report = Validate()(str(path))
    again = through_json(report)
    assert again == report
    assert again.errors == report.errors and again.to_json() == report.to_json()


def test_what_a_report_left_out() -> None:
    report = irexec.validate(b'<net name="m" version="11"><layers/>' + b"<oops/>" * 1200 + b"</net>")
    assert report.left_out
    again = through_json(report)
    assert again.left_out == report.left_out and isinstance(again.left_out, Counter)


@pytest.mark.by_hand(1)
@pytest.mark.parametrize("page", sorted(PAGES.glob("*.txt")), ids=lambda page: page.stem)
def test_pages(page: Path) -> None:
    checked = CheckPage()(str(page))
    assert checked.examples
    assert through_json(checked, *CheckPage.words) == checked


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", SAMPLES, irexec.Severity])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(TypeError):
        Vocabulary().encode(value)


@pytest.mark.parametrize("value", [{"Path": {}}, {"a": 1, "b": 2}, {}, {"Severity": "fatal"}, {"Place": {"x": 1}}])
def test_objects_that_nobody_encoded_are_refused(value: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        Vocabulary().decode(value)
