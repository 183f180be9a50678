"""The differences between the outcomes of one program's statements with two libraries."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from support.api_programs.running import Outcome

SHOWN = 300
TOLERANCES = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-4}


class Difference(NamedTuple):
    """A statement with different outcomes: its class, the line, both outcomes as text, the whole program, and its
    earlier statements that raised an exception.

    `kind`: "exception type", "stricter" (only irexec raises), "looser" (only OpenVINO raises), "names", "shapes" or
    "results".
    """

    kind: str
    line: str
    theirs: str
    mine: str
    program: str
    raised: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.line}\n    OpenVINO: {self.theirs[:SHOWN]}\n    irexec:   {self.mine[:SHOWN]}"


def differences(lines: list[str], theirs: list[Outcome], mine: list[Outcome]) -> list[Difference]:
    """Return the differences up to the first one after which the two programs have other variables."""
    found: list[Difference] = []
    raised: list[str] = []
    # OpenVINO's device computes layers of f16 in f32.
    least = TOLERANCES["float16"] if any("f16" in line or "float16" in line for line in lines) else 0.0
    for line, one, other in zip(lines, theirs, mine, strict=True):
        kind = _kind(line, one, other, least)
        if kind is not None:
            texts = "\n".join(lines), "\n".join(raised)
            found.append(Difference(kind, line, _text(one), _text(other), *texts))
        if one.raised or other.raised:
            raised.append(line)
        if bool(one.raised) != bool(other.raised):
            break
    return found


def _kind(line: str, theirs: Outcome, mine: Outcome, least: float) -> str | None:
    if agree(theirs, mine, least):
        return None
    if theirs.raised and mine.raised:
        return "exception type"
    if theirs.raised or mine.raised:
        return "stricter" if mine.raised else "looser"
    if "name" in line:
        return "names"
    return "results" if _has_array(theirs.value) else "shapes"


def agree(theirs: Outcome, mine: Outcome, least: float = 0.0) -> bool:
    """Return whether a program that expects OpenVINO's outcome gets it: the value, or an exception that it catches."""
    if theirs.raised or mine.raised:
        return bool(theirs.raised and mine.raised) and theirs.raised[0] in mine.raised
    return alike(theirs.value, mine.value, least)


def alike(theirs: Any, mine: Any, least: float = 0.0) -> bool:
    """Return whether two plain values agree; arrays of floats up to the rounding of their type, and `least`."""
    if isinstance(theirs, np.ndarray) and isinstance(mine, np.ndarray):
        if theirs.dtype != mine.dtype or theirs.shape != mine.shape:
            return False
        tolerance = TOLERANCES.get(str(theirs.dtype), 0)
        tolerance = max(tolerance, least) if tolerance else 0
        if not tolerance:
            return bool(np.array_equal(theirs, mine))
        return bool(np.allclose(mine, theirs, rtol=tolerance, atol=tolerance, equal_nan=True))
    if isinstance(theirs, (list, tuple)) and isinstance(mine, (list, tuple)):
        return len(theirs) == len(mine) and all(map(partial(alike, least=least), theirs, mine))
    if isinstance(theirs, dict) and isinstance(mine, dict):
        return theirs.keys() == mine.keys() and all(alike(theirs[key], mine[key], least) for key in theirs)
    return type(theirs) is type(mine) and theirs == mine


def _has_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) or (isinstance(value, list) and any(map(_has_array, value)))


def _text(outcome: Outcome) -> str:
    if outcome.raised:
        return f"{outcome.raised[0]}: {' '.join(outcome.message.split())}"
    return " ".join(str(outcome.value).split())
