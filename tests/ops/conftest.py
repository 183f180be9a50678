"""Files of rows are collected as tests, see support.rows."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.rows import RowsFile


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> RowsFile | None:
    return RowsFile.from_parent(parent, path=file_path) if file_path.suffix == ".rows" else None
