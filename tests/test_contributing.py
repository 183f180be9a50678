"""CONTRIBUTING.md, executed as far as a checkout allows; the changelog and the package have the same version."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support.transcripts import blocks, commands, differs, run
from support.waiting import PATIENCE

import irexec

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
COMMANDS = [pair for block in blocks(PAGE) if block.language == "console" for pair in commands(block)]


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=lambda value: value if isinstance(value, str) else "")
def test_a_command_prints_what_is_shown(command: str, expected: list[str]) -> None:
    if command.startswith("ruff "):
        result = subprocess.run(
            [sys.executable, "-m", *command.split()], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE
        )
    else:
        result = run(command, ROOT)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert not (wrong := differs(result.stdout, expected)), f"{wrong}\n{result.stderr}"


def test_the_set_up_is_that_of_the_package() -> None:
    (block,) = [block for block in blocks(PAGE) if block.language == "sh"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (extra,) = re.findall(r"-e '\.\[(\w+)\]'", block.text)
    assert extra in project["optional-dependencies"]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_the_files_that_a_page_points_to_are_there(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if not link.startswith("https:")]
    paths = [path for path in re.findall(r"`([\w./-]+/[\w./-]*)`", text) if path == path.lower()]
    assert [path for path in [*links, *paths] if not (ROOT / path).exists()] == []


def test_the_version_is_the_one_that_the_changelog_begins_with() -> None:
    heading = re.search(r"^## (\S+)( \(in progress\))?$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert heading is not None
    assert irexec.__version__ == heading[1] + (".dev0" if heading[2] else "")


def test_the_package_states_where_things_are() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["urls"]) >= {"Homepage", "Documentation", "Changelog", "Issues"}
    assert project["dynamic"] == ["version"]
