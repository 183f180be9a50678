"""The README, executed: its commands and Python code in a copy of the samples, with the output compared line by line.

In CI, the set-up that it describes is also executed, in a fresh virtual environment.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from support.transcripts import Block, blocks, commands, differs, run
from support.waiting import PATIENCE

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCKS = blocks(README)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The samples, and the files that the README shows."""
    path = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "samples", path / "samples")
    for block in BLOCKS:
        if block.file:
            block.write(path)
    return path


def of(language: str) -> list[Block]:
    found = [block for block in BLOCKS if block.language == language and not block.file]
    assert found
    return found


def line(block: Block) -> str:
    return f"line {block.line}"


@pytest.mark.parametrize("block", of("console"), ids=line)
def test_a_command_prints_what_is_shown(block: Block, folder: Path) -> None:
    for command, expected in commands(block):
        result = run(command, folder)
        assert not (wrong := differs(result.stdout, expected)), f"{wrong}\n{result.stderr}"


@pytest.mark.parametrize("block", of("pycon"), ids=line)
def test_python_prints_what_is_shown(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    test = doctest.DocTestParser().get_doctest(block.text, {}, "README", str(README), block.line)
    assert len(test.examples) > 5
    said: list[str] = []
    assert not doctest.DocTestRunner(verbose=False).run(test, out=said.append).failed, "".join(said)


def test_openvino_reads_the_wrong_file_without_a_word(folder: Path) -> None:
    openvino = pytest.importorskip("openvino")
    assert openvino.Core().read_model(folder / "samples" / "wrong.xml").outputs


def test_files_that_it_points_to_are_there() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text("utf-8"))
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_it_is_short() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert len(lines) <= 140
    first = "\n".join(lines[:22])
    assert [c for c in ("run", "validate", "fix", "compare", "reduce", "report") if f"irexec {c}" not in first] == []
    assert ".svg" in first


def test_uses_are_shown_before_the_installation() -> None:
    """A finding with its fix, a first wrong layer, and a picture of the report."""
    before = README.read_text("utf-8").partition("\n## ")[0]
    shown = [command for block in blocks(README) for command, _ in commands(block) if command in before]
    assert [command.split()[1] for command in shown] == ["validate", "compare"]
    assert "fixable with `irexec fix" in before and "docs/images/report.png" in before


def set_up() -> list[str]:
    """Return the two commands of the set-up: the installation with a run, and the tests."""
    found = [block.text.strip() for block in of("sh")]
    assert len(found) == 2
    return found


def test_ci_runs_the_tests_as_the_readme_describes() -> None:
    *_, install, tests = set_up()[1].split(" && ")
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    assert install.removeprefix(".venv/bin/pip install -q ") in ci
    assert tests.removeprefix(".venv/bin/") in ci.replace('"$bin/pytest"', "pytest")


@pytest.mark.in_ci("makes a virtual environment")
def test_the_main_job_in_a_fresh_environment(tmp_path: Path) -> None:
    command = set_up()[0]
    unwanted = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "*.egg-info")
    checkout = tmp_path / "irexec"
    shutil.copytree(ROOT, checkout, ignore=unwanted)
    # The environment that runs the tests must not be visible.
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME")}
    # In a virtual environment `python3` is the interpreter that created it.
    result = subprocess.run(
        ["bash", "-c", command],
        cwd=checkout,
        env=clean | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    shown = next(pair for block in of("console") for pair in commands(block) if command.endswith(pair[0]))
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    assert not (wrong := differs(result.stdout, shown[1])), f"{wrong}\n{result.stderr}"
