"""docs/adding-an-operator.md, executed: its files are written, its commands and Python code run, and the output
compared.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from support.transcripts import Block, blocks, commands, differs, run

PAGE = Path(__file__).parents[2] / "docs" / "adding-an-operator.md"
BLOCKS = blocks(PAGE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page")
    for block in BLOCKS:
        if block.file:
            block.write(path)
    return path


def named(block: Block) -> str:
    return f"line {block.line}"


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "console"], ids=named)
def test_a_command_prints_what_is_shown(block: Block, folder: Path) -> None:
    for command, expected in commands(block):
        result = run(command, folder)
        assert not differs(result.stdout, expected), differs(result.stdout, expected) or result.stderr


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.language == "python" and not b.file], ids=named)
def test_python_runs(block: Block, folder: Path) -> None:
    (folder / "block.py").write_text(block.text)
    result = run("python block.py", folder)
    assert result.returncode == 0, result.stderr


def test_the_page_is_one_page() -> None:
    assert {b.language for b in BLOCKS} == {"python", "xml", "console"}
    assert len(PAGE.read_text("utf-8").splitlines()) < 256
