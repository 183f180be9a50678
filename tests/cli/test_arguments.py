"""Commands and functions of Python have the same arguments, with the same defaults."""

from __future__ import annotations

import inspect
import sys
from dataclasses import fields
from typing import Any

import pytest

import irexec
from irexec.cli.main import command_parsers
from irexec.tools.functions.causes import Bisect, FindCauses
from irexec.tools.functions.command import Command
from irexec.tools.functions.debugging import Compare
from irexec.tools.functions.judging import JudgeCases
from irexec.tools.functions.passes import FindPasses
from irexec.tools.functions.reducing import Reduce

CLASSES: dict[str, type[Command[Any]]] = {
    "bisect": Bisect, "blame": FindCauses, "compare": Compare, "conformance": JudgeCases, "passes": FindPasses,
    "reduce": Reduce,
}  # fmt: skip
NAMED = {"model": "file", "inputs": "input", "shapes": "shape"}
"""Arguments in Python whose option has another name, as it is given once for each."""
ELSEWHERE = {
    "compare other": "--with may be given several times",
}
DEFAULTS = {
    "reduce output": "a program may keep the smallest model in memory",
    "conformance cases": "one of several options for the amount, of which it is the default",
}


@pytest.mark.parametrize("command", CLASSES)
def test_options_and_arguments_agree(command: str) -> None:
    options = {action.dest: action for action in command_parsers([command])[1][command]._actions}
    lacking, other = set(), set()
    for field in fields(CLASSES[command]):  # type: ignore[arg-type]
        name = NAMED.get(field.name, field.name)
        if f"{command} {field.name}" in ELSEWHERE or name not in options:
            lacking.add(f"{command} {field.name}")
        elif field.name not in NAMED and (options[name].default or None) != (field.default or None):
            other.add(f"{command} {field.name}")
    assert lacking == {each for each in ELSEWHERE if each.split()[0] == command}
    assert other - {f"{command} model", f"{command} other"} == {each for each in DEFAULTS if each.split()[0] == command}


@pytest.mark.parametrize("command", CLASSES)
def test_a_function_has_the_arguments_of_its_command(command: str) -> None:
    # `irexec.passes` is also a module of OpenVINO.
    shown = inspect.signature(getattr(sys.modules[CLASSES[command].__module__], command))
    assert [*shown.parameters] == [field.name for field in fields(CLASSES[command])]  # type: ignore[arg-type]
    assert shown.return_annotation == CLASSES[command].work.__annotations__["return"]


def test_the_earlier_name_of_an_argument() -> None:
    wanted: dict[str, Any] = {"case": "Abs-1/f32/x=[2]/seed1", "mode": "kernels"}
    assert irexec.conformance("irexec", **wanted, limit=20).agrees
