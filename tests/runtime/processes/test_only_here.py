"""One room starts processes: no other module of irexec can, checked in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import irexec

pytestmark = pytest.mark.any_python

PACKAGE = Path(irexec.__file__).parent
# Names that start processes, or describe how to: modules, and names of any module.
MODULES = {"subprocess", "multiprocessing", "_posixsubprocess", "_winapi", "pty", "concurrent.futures.process"}
NAMES = {"ProcessPoolExecutor", "system", "popen", "startfile", "create_subprocess_exec", "create_subprocess_shell"}
BEGINNINGS = ("fork", "exec", "spawn", "posix_spawn")
HERE = "runtime/processes/starting.py"
# Only files with one of these words are parsed.
WORDS = re.compile(rf"\b(?:{'|'.join({*NAMES, *MODULES, 'asyncio', 'concurrent', 'os'})})\b")


def starting(path: Path) -> Iterator[str]:
    """Yield the lines of a file that could start a process."""
    text = path.read_text("utf-8")
    for node in ast.walk(ast.parse(text)) if WORDS.search(text) else ():
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if _starts(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [f"{module}.{a.name}" for a in node.names if _starts(module) or _starts(f"{module}.{a.name}")]
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_of_os = node.value.id in ("os", "asyncio") and (node.attr in NAMES or node.attr.startswith(BEGINNINGS))
            names = [f"{node.value.id}.{node.attr}"] if is_of_os or node.attr == "ProcessPoolExecutor" else []
        elif isinstance(node, ast.Constant) and node.value in ("subprocess", "multiprocessing"):
            names = [node.value]  # As in import_module("subprocess").
        yield from (f"{path.relative_to(PACKAGE).as_posix()}:{node.lineno} {name}" for name in names)


def _starts(name: str) -> bool:
    return name.split(".")[0] in MODULES or name in MODULES or name.rpartition(".")[2] in NAMES


def test_one_module_starts_processes() -> None:
    found = [line for path in sorted(PACKAGE.rglob("*.py")) for line in starting(path)]
    elsewhere = [line for line in found if not line.startswith(f"{HERE}:")]
    # serve.py is a script that imports nothing of irexec: it forks itself in the process that starting.py started.
    assert [line.partition(":")[0] for line in elsewhere] == ["runtime/processes/serve.py"]
    assert any(line.startswith(f"{HERE}:") for line in found)


def test_every_process_is_started_by_one_call() -> None:
    calls = [
        ast.unparse(node.func)
        for node in ast.walk(ast.parse((PACKAGE / HERE).read_text("utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("subprocess.")
    ]
    assert calls == ["subprocess.Popen"]
    assert '"-P"' in (PACKAGE / HERE).read_text("utf-8")
