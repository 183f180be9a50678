"""Statements of OpenVINO's Python API, by area: with irexec each gives the same value, or raises the same exception.

A file in tests/data/openvino_statements is one program. A line that ends in `# differs: REASON` gives another value.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

openvino = pytest.importorskip("openvino")
pytest.importorskip("openvino.passes")
pytest.importorskip("openvino._offline_transformations")

from support.api_programs import execute
from support.api_programs.comparing import agree
from support.waiting import PATIENCE

import irexec

AREAS = sorted((Path(__file__).parents[2] / "data" / "openvino_statements").glob("*.txt"))
MARK = "  # differs: "
# Areas in which OpenVINO changes the process: it flushes denormal numbers to zero, and reserves processors.
PROCESS_WIDE = {"states_and_properties"}


def differences(area: Path) -> list[str]:
    """Return the statements of an area with the values of both libraries, if they differ, or are marked as differing
    and do not.
    """
    lines = [line for line in area.read_text().splitlines() if line]
    theirs, mine = (execute(lines, library) for library in (openvino, irexec))
    return [
        f"{line}\n    OpenVINO: {one}\n    irexec:   {other}"
        for line, one, other in zip(lines, theirs, mine, strict=True)
        if agree(one, other) == (MARK in line)
    ]


@pytest.mark.by_hand(2)
@pytest.mark.any_python
@pytest.mark.parametrize("area", AREAS, ids=lambda path: path.stem)
def test_each_statement_gives_the_same(
    area: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    if area.stem not in PROCESS_WIDE:
        assert not (found := differences(area)), "\n".join(found)
        return
    places = [str(Path(__file__).parents[2] / "lib"), str(Path(irexec.__file__).parents[2])]
    done = subprocess.run(
        [sys.executable, __file__, str(area), "found.txt"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert Path("found.txt").read_text() == ""


def test_there_are_statements_of_many_areas() -> None:
    lines = [line for area in AREAS for line in area.read_text().splitlines()]
    assert len(AREAS) >= 6
    assert len(lines) > 1200
    assert sum(MARK in line for line in lines) < len(lines) / 20


if __name__ == "__main__":
    Path(sys.argv[2]).write_text("\n".join(differences(Path(sys.argv[1]))))
