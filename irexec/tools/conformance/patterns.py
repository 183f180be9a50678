"""Patterns of graphs in data/*.patterns: the choices of each pattern, and layers that depend on them.

    pattern leaky: a product and its activation
      act: relu | none
      form: plain | scaled | twice

      x = MatMul-1(input([N, 4]), random(4, 8, scale=0.3))
      x = ReLU-1(x) when act: relu
      x = by form
        scaled: Multiply-1(x, 0.5)
        twice: Add-1(x, x)
      result(x)

The choices come first; the first one of each is the default. The lines after them are done in order.
`TYPE-VERSION(inputs, attribute=value)` adds a layer: among its inputs, a list or an integer is a constant of i64, and a
number with a point is one of the pattern's element type. All other expressions are Python's, with the names that
`_Building` knows; in `[N, 4]` the first extent is dynamic, or differs between the calls. A line with
`when NAME: CHOICE | CHOICE`, `when CONDITION` or `unless ...` is done only then. `by NAME` does the row of one choice,
or the row `else`, or nothing; `repeat COUNT` does the lines below it several times. `chain f(x, ...)` names lines that
change a value: `f(y, ...)` is what x is after them, and `rows of f` are the choices of its first `by`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from types import CodeType
from typing import Any, NamedTuple

import numpy as np

from irexec.model.graph.model import Value
from irexec.tools.conformance.builder import Graph
from irexec.tools.conformance.case import operator_named

_LAYER = re.compile(r"\b([A-Z]\w*-\d+)\(")
_HEAD = re.compile(r"(pattern|chain) (\w+)(?:\((.*)\))?(?:: .*)?")
_TARGETS = re.compile(r"(\w+(?:, \w+)*) = (.*)")
_GUARD = re.compile(r" (when|unless) (.*)")
_CONDITION = re.compile(r"(\w+): (.*)")


class Line(NamedTuple):
    """A line with those that are indented below it."""

    text: str
    below: list[Line]


class Texts(NamedTuple):
    """All patterns and chains by their names, with choices or parameters; `constants`: the lines outside of them."""

    patterns: dict[str, tuple[dict[str, tuple[str, ...]], list[Line]]]
    chains: dict[str, tuple[list[str], list[Line]]]
    constants: list[Line]


@cache
def texts() -> Texts:
    """Return what the files contain."""
    found = Texts({}, {}, [])
    heads = []
    for path in sorted(files("irexec.tools.conformance").joinpath("data").iterdir(), key=str):
        heads += _lines(path.read_text(encoding="utf-8")) if path.name.endswith(".patterns") else []
    for line in heads:
        match = _HEAD.fullmatch(line.text)
        if match is None:
            found.constants.append(line)
        elif match[1] == "chain":
            found.chains[match[2]] = match[3].split(", "), line.below
    for line in heads:
        if (match := _HEAD.fullmatch(line.text)) is not None and match[1] == "pattern":
            stated = [m for below in line.below if (m := _CONDITION.fullmatch(below.text)) is not None]
            choices = {m[1]: _choices(m[2], found) for m in stated}
            found.patterns[f"graph.{match[2]}"] = choices, line.below[len(stated) :]
    return found


def _lines(text: str) -> list[Line]:
    """Return the lines of a file; a line that begins with `|` continues the one before."""
    found: list[Line] = []
    inside: list[tuple[int, list[Line]]] = [(-1, found)]
    for row in re.sub(r"\n +\|", " |", text).splitlines():
        line = Line(row.strip(), [])
        if line.text and line.text[0] != "#":
            indent = len(row) - len(row.lstrip())
            while inside[-1][0] >= indent:
                inside.pop()
            inside[-1][1].append(line)
            inside.append((indent, line.below))
    return found


def _choices(text: str, found: Texts) -> tuple[str, ...]:
    name = text.removeprefix("rows of ")
    return tuple(text.split(" | ")) if name == text else _rows(found, name)


def _rows(found: Texts, chain: str) -> tuple[str, ...]:
    """Return the choices for which a chain has rows."""
    rows = next(line.below for line in found.chains[chain][1] if line.below)
    return tuple(name for row in rows for name in row.text.partition(":")[0].split(" | "))


def build(name: str, graph: Graph, **chosen: str) -> None:
    """Build a pattern with these choices. Raises IRError or ValueError if they do not fit together."""
    _Building(graph).do(texts().patterns[name][1], chosen)


class _Building:
    """The names that lines may use, and their execution."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[str, Any] = {
            "N": "N", "S": "S", "H": "H", "base": graph.base.name, "is_f32": graph.base.name == "f32", "inf": math.inf,
            "op": self.op, "input": graph.input, "result": graph.result, "constant": graph.constant,
            "number": graph.number, "random": graph.array, "integers": graph.integers, "need": _need,
            "pick": graph.pick, "channels": graph.channels, "chance": lambda share: bool(graph.rng.random() < share),
            "permutation": lambda count: graph.rng.permutation(count).tolist(), "rank_of": _rank,
            "extent": lambda value, axis: value.type.shape[axis].value, "backwards": lambda v: [*range(_rank(v))][::-1],
            "assign": graph.assign, "is_static": lambda value: value.type.shape.is_static, "full": graph.full,
            "number_input": graph.number_input, "order_input": graph.order_input,
            "rows": lambda name: _rows(texts(), name),
        }  # fmt: skip
        for name, (parameters, lines) in texts().chains.items():
            self._known[name] = self._chain(parameters, lines)
        self._do(texts().constants, self._known)

    def do(self, lines: Sequence[Line], names: dict[str, Any]) -> dict[str, Any]:
        """Do lines with these names and those that are known; returns all names."""
        names = {**self._known, **names}
        self._do(lines, names)
        return names

    def _chain(self, parameters: list[str], lines: Sequence[Line]) -> Any:
        return lambda *given: self.do(lines, dict(zip(parameters, given, strict=True)))[parameters[0]]

    def _do(self, lines: Sequence[Line], names: dict[str, Any]) -> None:
        for text, below in lines:
            text, *guard = _GUARD.split(f" {text}", maxsplit=1)
            if guard and _holds(guard[1], names) != (guard[0] == "when"):
                continue
            match = _TARGETS.fullmatch(text.strip())
            targets, text = match.groups() if match is not None else ("", text.strip())
            word, _, rest = text.partition(" ")
            if word == "by":
                self._do(_row(below, str(_value(rest, names)), targets), names)
            elif word == "repeat":
                for _ in range(_value(rest, names)):
                    self._do(below, names)
            elif not text:
                self._do(below, names)
            else:
                value, places = _value(text, names), targets.split(", ")
                names.update(zip(places, value, strict=True) if len(places) > 1 else [(targets, value)])

    def op(self, kind: str, *inputs: Any, **attributes: Any) -> Any:
        """Add a layer; returns its output, or a list if the operator has several."""
        operator = operator_named(kind)
        names = {attribute.name: attribute.file_name for attribute in operator.attributes}
        given = {names[name]: _written(value) for name, value in attributes.items()}
        outputs = self._graph.ops(kind, [self._input(value) for value in inputs], given)
        return outputs if len(outputs) > 1 or operator.signature.makes_any_number else outputs[0]

    def _input(self, value: Any) -> Any:
        if isinstance(value, float):
            return self._graph.number(value)
        return np.array(value, np.int64) if isinstance(value, (list, int)) else value


def _row(rows: Sequence[Line], choice: str, targets: str) -> list[Line]:
    """Return the lines of a row."""
    for text, below in rows:
        names, _, rest = text.partition(":")
        if choice in names.split(" | ") or names == "else":
            return [Line(f"{targets} = {rest.strip()}" if targets else rest.strip(), below)] if rest else below
    return []


def _holds(condition: str, names: dict[str, Any]) -> bool:
    parts = [_CONDITION.fullmatch(part) for part in condition.split(", ")]
    if None in parts:
        return bool(_value(condition, names))
    return all(names[match[1]] in match[2].split(" | ") for match in parts if match is not None)


@cache
def _code(text: str) -> CodeType:
    return compile(_LAYER.sub(r'op("\1", ', text), text, "eval")


def _value(text: str, names: dict[str, Any]) -> Any:
    return eval(_code(text), names)


def _written(value: Any) -> str:
    """Return an attribute as in a file."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _rank(value: Value | np.ndarray) -> int:
    return value.ndim if isinstance(value, np.ndarray) else value.type.rank or 0


def _need(condition: bool, reason: str) -> None:
    if not condition:
        raise ValueError(reason)
