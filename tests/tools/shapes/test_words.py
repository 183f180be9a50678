"""Conditions as text: incomplete results are marked."""

from __future__ import annotations

from pathlib import Path

import pytest

import irexec
from irexec.tools.shapes.words import condition_rows, studied

pytestmark = pytest.mark.any_python

SEGMENTER = Path(__file__).parents[3] / "samples" / "segmenter" / "model.xml"


def test_rows_of_a_complete_answer() -> None:
    shapes = studied(irexec.read_model(SEGMENTER), 60.0)
    assert shapes is not None
    rows = condition_rows(shapes)
    assert rows == [("image", "[batch, 3, H, W]"), ("batch", "any"), *((name, rows[2][1]) for name in "HW")]
    assert rows[2][1] == "multiples of 4, at least 4"


def test_an_answer_without_time_is_marked_as_incomplete() -> None:
    shapes = studied(irexec.read_model(SEGMENTER), 0.0)
    rows = [] if shapes is None else condition_rows(shapes)
    assert not rows or rows[-1] == ("incomplete", "other sizes may be accepted, or refused")
    remarks = irexec.shapes(SEGMENTER, seconds=0.0).limits()
    assert not any("can be declared" in remark for remark in remarks)
