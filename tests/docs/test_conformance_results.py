"""The page of conformance results: each case that it names can be repeated."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import irexec
from irexec.tools.conformance.made import case_named

PAGE = Path(__file__).parents[2] / "docs" / "conformance" / "results.md"
NAMES = re.findall(r"^  `(.+/seed\d+)`$", PAGE.read_text("utf-8"), re.MULTILINE)


def test_the_page_names_cases() -> None:
    assert len(NAMES) > 100


@pytest.mark.any_python
@pytest.mark.parametrize("name", NAMES)
def test_a_case_is_made_from_its_name(name: str) -> None:
    case = case_named(name)
    compiled = irexec.compile_model(case.model)
    assert [array.shape for array in compiled(case.inputs[0]).values()]
