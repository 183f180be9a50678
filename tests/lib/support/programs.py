"""Starting other processes in tests: always with a limit, and able to import irexec and the tests' own modules."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.waiting import PATIENCE

LIBRARY = Path(__file__).parents[1]
ROOT = Path(__file__).parents[3]


def environment(**more: str) -> dict[str, str]:
    """Return the environment of a program that can import irexec and the tests' own modules, wherever it is started."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(LIBRARY), str(ROOT), *map(os.path.abspath, filter(None, given))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | more


def run(words: Sequence[str | os.PathLike[str]], **details: Any) -> subprocess.CompletedProcess[Any]:
    """Return the result of `subprocess.run` with a limit, and with all output. Raises TimeoutExpired."""
    return subprocess.run(words, **{"capture_output": True, "timeout": PATIENCE, "check": False} | details)


def run_python(*arguments: str | os.PathLike[str], **details: Any) -> subprocess.CompletedProcess[Any]:
    """Run this Python interpreter with arguments; return the result, with the output as text."""
    return run([sys.executable, *arguments], **{"text": True} | details)
