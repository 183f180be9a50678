"""No test waits without a limit for a process, a thread or a lock, checked in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.waiting import PATIENCE

pytestmark = pytest.mark.any_python

TESTS = Path(__file__).parent
# Programs that OpenVINO also executes: its requests wait in the same way.
OTHERS = "lib/support/openvino_programs"
PROCESSES = {"run", "call", "check_call", "check_output"}
WAITS = {"communicate", "wait", "join", "result", "exception", "acquire"}


def without_limit(text: str) -> Iterator[int]:
    """Yield the lines of waits without a limit."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        named = {keyword.arg for keyword in node.keywords}
        whose, name = node.func.value, node.func.attr
        is_module = isinstance(whose, ast.Name) and whose.id == "subprocess"
        if (is_module and name in PROCESSES and not named & {"timeout", None}) or (
            name in WAITS and not node.args and not named & {"timeout", "blocking"}
        ):
            yield node.lineno


def test_every_wait_has_a_limit() -> None:
    files = [path for path in sorted(TESTS.rglob("*.py")) if OTHERS not in path.as_posix()]
    assert [f"{path}:{line}" for path in files for line in without_limit(path.read_text("utf-8"))] == []
    assert PATIENCE <= 60


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("subprocess.run(['x'])", [1]),
        ("subprocess.run(['x'], timeout=3)", []),
        ("subprocess.run(['x'], **details)", []),
        ("thread.join()\nprocess.wait(3)\nfuture.result()", [1, 3]),
        ("','.join(names)", []),
    ],
)
def test_waits_are_found(text: str, lines: list[int]) -> None:
    assert list(without_limit(text)) == lines
