"""docs/openvino-api.md, executed, and the names that it and README mention."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.transcripts import Block, blocks, run

PAGE = Path(__file__).parents[2] / "docs" / "openvino-api.md"


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("block", blocks(PAGE), ids=lambda block: f"line {block.line}")
def test_python_runs(block: Block, tmp_path: Path) -> None:
    assert block.language == "python"
    (tmp_path / "block.py").write_text(block.text)
    result = run("python block.py", tmp_path)
    assert result.returncode == 0, result.stderr
