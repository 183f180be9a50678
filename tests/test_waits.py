"""Every wait of a test for a process, a thread or a lock has the same limit, checked in the source."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.any_python

TESTS = Path(__file__).parent
# Programs that OpenVINO also executes: its requests wait in the same way.
OTHERS = "lib/support/openvino_programs"
PROCESSES = {"run", "call", "check_call", "check_output"}
WAITS = {"communicate", "wait", "join", "result", "exception", "acquire"}


def with_another_limit(text: str) -> Iterator[int]:
    """Yield the lines of waits without a limit, or with a number of their own; 0 does not wait."""
    tree = ast.parse(text)
    numbers = {ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign) and own(node.value)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        named = {keyword.arg: keyword.value for keyword in node.keywords}
        whose, name = node.func.value, node.func.attr
        is_process = isinstance(whose, ast.Name) and whose.id == "subprocess" and name in PROCESSES
        limits = [*(node.args if name in WAITS else ()), *(value for key, value in named.items() if key == "timeout")]
        if any(own(limit) or ast.unparse(limit) in numbers for limit in limits) or (
            not limits and not named.keys() & {"blocking", None} and (is_process or name in WAITS)
        ):
            yield node.lineno


def own(limit: ast.expr) -> bool:
    return isinstance(limit, ast.Constant) and isinstance(limit.value, int | float) and limit.value > 0


def test_every_wait_has_the_same_limit() -> None:
    files = [path for path in sorted(TESTS.rglob("*.py")) if OTHERS not in path.as_posix()]
    assert [f"{path}:{line}" for path in files for line in with_another_limit(path.read_text("utf-8"))] == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("subprocess.run(['x'])", [1]),
        ("subprocess.run(['x'], timeout=PATIENCE)", []),
        ("subprocess.run(['x'], timeout=3)\nprocess.communicate(timeout=0)", [1]),
        ("LIMIT = 60\nevent.wait(LIMIT)", [2]),
        ("subprocess.run(['x'], **details)", []),
        ("thread.join()\nprocess.wait(3)\nfuture.result()\nthread.join(PATIENCE)", [1, 2, 3]),
        ("','.join(names)", []),
    ],
)
def test_waits_are_found(text: str, lines: list[int]) -> None:
    assert list(with_another_limit(text)) == lines
