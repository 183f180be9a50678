"""How tests start other processes: always with a limit, and able to import irexec and the tests' own modules."""

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
    """That of a program that can import irexec and the tests' own modules, wherever it is started."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [str(LIBRARY), str(ROOT), *map(os.path.abspath, filter(None, given))]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | more


def run(words: Sequence[str | os.PathLike[str]], **details: Any) -> subprocess.CompletedProcess[Any]:
    """`subprocess.run` with a limit, and with all that the program prints. Raises TimeoutExpired."""
    return subprocess.run(words, **{"capture_output": True, "timeout": PATIENCE, "check": False} | details)


def run_python(*arguments: str | os.PathLike[str], **details: Any) -> subprocess.CompletedProcess[Any]:
    """This Python with arguments; what it prints as text."""
    return run([sys.executable, *arguments], **{"text": True} | details)
