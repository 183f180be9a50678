"""Statements of OpenVINO's Python API, area by area: with irexec each gives the same value, or raises as OpenVINO does.

A file in tests/data/openvino_statements is one program. A line that ends in `# differs: REASON` gives something else.
"""

from __future__ import annotations

from pathlib import Path

import pytest

openvino = pytest.importorskip("openvino")
pytest.importorskip("openvino.passes")
pytest.importorskip("openvino._offline_transformations")

from support.api_programs import execute
from support.api_programs.comparing import agree

import irexec

AREAS = sorted((Path(__file__).parents[1] / "data" / "openvino_statements").glob("*.txt"))
MARK = "  # differs: "


@pytest.mark.any_python
@pytest.mark.parametrize("area", AREAS, ids=lambda path: path.stem)
def test_each_statement_gives_the_same(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [line for line in area.read_text().splitlines() if line]
    theirs, mine = (execute(lines, library) for library in (openvino, irexec))
    found = [
        f"{line}\n    OpenVINO: {one}\n    irexec:   {other}"
        for line, one, other in zip(lines, theirs, mine, strict=True)
        if agree(one, other) == (MARK in line)
    ]
    assert not found, "\n".join(found)


def test_there_are_statements_of_many_areas() -> None:
    lines = [line for area in AREAS for line in area.read_text().splitlines()]
    assert len(AREAS) >= 6
    assert len(lines) > 1200
    assert sum(MARK in line for line in lines) < len(lines) / 20
