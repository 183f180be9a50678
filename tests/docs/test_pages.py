"""Every written page of the site, executed: its commands and its Python code, with the output compared."""

from __future__ import annotations

import doctest
import re
import shutil
from pathlib import Path

import pytest
from support.transcripts import Block, blocks, commands, differs, run

pytestmark = pytest.mark.any_python

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# Pages with tests of their own, and generated pages.
ELSEWHERE = {"codes", "reference", "_build", "adding-an-operator.md", "operators.md", "seed-pages.md"}
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if not ELSEWHERE & set(page.relative_to(DOCS).parts)]


def named(page: Path) -> str:
    return page.relative_to(DOCS).as_posix()


@pytest.mark.by_hand(1)
@pytest.mark.parametrize(
    "page", [p for p in PAGES if any(b.language in ("console", "pycon") for b in blocks(p))], ids=named
)
def test_a_page_does_what_it_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in a folder with the samples: files are written, commands and Python code run."""
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        if block.file:
            block.write(tmp_path)
        elif block.language == "console":
            check_commands(block, tmp_path)
        elif block.language == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line)
            test.globs = GLOBALS
            said: list[str] = []
            runner = doctest.DocTestRunner(verbose=False)
            assert not runner.run(test, out=said.append, clear_globs=False).failed, "".join(said)


GLOBALS: dict[str, object] = {}


def check_commands(block: Block, folder: Path) -> None:
    for command, expected in commands(block):
        result = run(command, folder, alone=False)
        assert not (wrong := differs(result.stdout, expected)), f"{command}\n{wrong}\n{result.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_states_in_one_sentence_what_it_is_for(page: Path) -> None:
    lines = page.read_text("utf-8").splitlines()
    assert lines[0].startswith("# ")
    assert len(lines[2]) > 30


def test_every_command_that_is_shown_there_is_a_command() -> None:
    from irexec.cli.main import COMMANDS

    pages = {page.stem for page in (DOCS / "commands").glob("*.md")} - {"index"}
    assert pages <= COMMANDS.keys()


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_what_a_page_points_to_is_there(page: Path) -> None:
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    targets = [DOCS / link[1:] if link.startswith("/") else page.parent / link for link in links]
    assert [target for target in targets if not target.exists() and "reference" not in target.parts] == []
