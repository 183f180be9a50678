"""Generated files: a test fails with the difference and the command that regenerates them."""

from __future__ import annotations

from difflib import unified_diff
from pathlib import Path

import pytest

_MOST_LINES = 40


def assert_generated(path: Path, text: str, command: str) -> None:
    """Fail unless a file contains exactly this text."""
    there = path.read_text("utf-8") if path.exists() else ""
    if there == text:
        return
    names = f"{path.name} (in the repository)", f"{path.name} (generated)"
    lines = list(unified_diff(there.splitlines(), text.splitlines(), *names, lineterm=""))
    told = [f"{path} is out of date; regenerate it: {command}", *lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        told.append(f"... and {len(lines) - _MOST_LINES} more lines")
    pytest.fail("\n".join(told), pytrace=False)
