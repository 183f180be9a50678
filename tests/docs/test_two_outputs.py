"""docs/operators-with-two-outputs.md, executed: its file written and its Python run."""

from __future__ import annotations

from pathlib import Path

from support.transcripts import blocks, run

PAGE = Path(__file__).parents[2] / "docs" / "operators-with-two-outputs.md"


def test_the_page_does_what_it_shows(tmp_path: Path) -> None:
    operator, use = blocks(PAGE)
    operator.write(tmp_path)
    (tmp_path / "block.py").write_text(use.text)
    result = run("python block.py", tmp_path)
    assert result.returncode == 0, result.stderr
