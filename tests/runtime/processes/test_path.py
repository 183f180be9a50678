"""The import path of the command: without the current folder, unless it is given as a full path."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from irexec.runtime.processes.path import leave_current_folder


@pytest.mark.parametrize(
    ("given", "stays"),
    [("", True), (os.pathsep, False), (".", False), ("{here}", True), (f".{os.pathsep}{{here}}", True), ("lib", True)],
)
def test_relative_and_empty_entries_are_taken_off(
    given: str, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", given.format(here=tmp_path))
    # Python makes the entries of PYTHONPATH absolute.
    monkeypatch.setattr(sys, "path", ["", str(tmp_path), str(tmp_path / "lib"), "relative", "/elsewhere"])
    leave_current_folder()
    assert (str(tmp_path) in sys.path) == stays
    assert (str(tmp_path / "lib") in sys.path) == (given != "lib")
    assert "" not in sys.path and "relative" not in sys.path and sys.path[-1] == "/elsewhere"
