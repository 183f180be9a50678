"""benchmarks/programs.py: random programs give the same values with OpenVINO and irexec, except for listed
differences.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

openvino = pytest.importorskip("openvino")
pytest.importorskip("openvino.passes")

from support.amounts import amount
from support.api_programs import Difference, differences, execute, program, reason
from support.api_programs.known import KNOWN

import irexec

pytestmark = pytest.mark.any_python


@pytest.mark.parametrize("first", range(0, amount(100, 20), 20))
def test_random_programs_differ_only_for_listed_reasons(
    first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in range(first, first + 20):
        lines = program(seed)
        found = differences(lines, execute(lines, openvino), execute(lines, irexec))
        assert [str(each) for each in found if reason(each) is None] == [], seed


def test_a_program_is_the_same_for_the_same_seed() -> None:
    assert program(3) == program(3)
    assert program(3) != program(4)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("len([1, 2])", None),
        ("ov.answer", "results"),
        ("ov.friendly_name", "names"),
        ("ov.refuse(1)", "stricter"),
        ("ov.accept(1)", "looser"),
        ("ov.wrong(1)", "exception type"),
    ],
)
def test_a_difference_has_a_class(statement: str, kind: str | None) -> None:
    found = differences([statement], execute([statement], Theirs), execute([statement], Mine))  # type: ignore[arg-type]
    assert [each.kind for each in found] == ([] if kind is None else [kind])
    assert all(reason(each) is None for each in found)


def test_each_listed_difference_names_its_reason() -> None:
    assert all(known.why and (known.line or known.theirs or known.mine or known.program) for known in KNOWN)
    assert reason(Difference("results", "x", "1", "2", "x")) is None


def _raise(error: type[Exception]) -> Any:
    def function(*_: Any) -> None:
        raise error("no")

    return function


class Theirs:
    answer = np.float32([1, 2])
    friendly_name = "a"
    refuse = staticmethod(int)
    accept = staticmethod(_raise(ValueError))
    wrong = staticmethod(_raise(RuntimeError))


class Mine:
    answer = np.float32([1, 3])
    friendly_name = "b"
    refuse = staticmethod(_raise(ValueError))
    accept = staticmethod(int)
    wrong = staticmethod(_raise(KeyError))
