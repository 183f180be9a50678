"""Tests of operators as rows of text, in files `NAME.rows`; CONTRIBUTING.md describes their form."""

from __future__ import annotations

import itertools
import math
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import irexec.ops.internal  # noqa: F401 - registers its operators
from irexec.core.types import ElementType, PartialShape, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import Operator
from support import references
from support.cases import KINDS, data
from support.row_checks import Case, check

_HEADING = re.compile(r"\w+-\w+(, \w+-\w+)*:")
_CHOICE = re.compile(r"\{([^{}]*\|[^{}]*)\}")
_ATTRIBUTE = re.compile(r"([a-z][\w.-]*)=(?!=)(.*)")
_TYPES = "|".join([*sorted(ElementType.by_name, key=len, reverse=True), "T"])
_TYPED = re.compile(rf"({_TYPES})(?:\[([^\]]*)\](?: (\S+)\.\.(\S+))?| (.+))")
_NUMBERS = {"np": np, "math": math, "inf": math.inf, "nan": math.nan}
_MOST_TYPES = 2
"""The number of element types of a row for which more than the kernel is compared."""


class Row(NamedTuple):
    """One row: the operator, the columns, and the names that the file defines above it."""

    operator: str
    line: int
    call: str
    verdicts: tuple[str, ...]
    names: dict[str, Any]


def rows_of(path: Path) -> Iterator[Row]:
    """Yield the rows of a file, once for each operator of their heading."""
    operators: list[str] = []
    usual: list[str] = []
    names: dict[str, Any] = _NUMBERS | vars(references) | {"kernel": _kernel}
    for number, text in _lines(path):
        if _HEADING.fullmatch(text):
            operators, usual = text[:-1].split(", "), []
        elif text.startswith("with "):
            usual = text.removeprefix("with ").split("; ")
        elif text.startswith("let "):
            exec(text.removeprefix("let "), names)
        else:
            call, *verdicts = re.split(r" {2,}", text)
            assert operators and verdicts, (
                f"{path}:{number}: a row has a heading, a call and, after two spaces, a result"
            )
            always = _CHOICE.sub(lambda choice: "" if "; " in choice[0] else choice[0], call)
            given = {item.partition("=")[0] for item in always.split("; ")}
            call = "; ".join([call, *(item for item in usual if item.partition("=")[0] not in given)])
            for operator in operators:
                yield Row(operator, number, call, tuple(verdicts), names)


def _lines(path: Path) -> list[tuple[int, str]]:
    """Return the lines without comments; one that begins with a space adds columns to the line before."""
    found: list[tuple[int, str]] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.startswith(" "):
            found[-1] = found[-1][0], f"{found[-1][1]}  {line.strip()}"
        elif line and not line.startswith("#"):
            found.append((number, line.rstrip()))
    return found


class RowsFile(pytest.File):
    """A file of rows, each of which is a test."""

    def collect(self) -> Iterator[pytest.Item]:
        for row in rows_of(self.path):
            yield RowItem.from_parent(self, name=f"{row.operator}:{row.line}", row=row)


class RowItem(pytest.Item):
    """The test of one row."""

    def __init__(self, *, row: Row, **given: Any) -> None:
        super().__init__(**given)
        self.row = row

    def runtest(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of expressions, and of what irexec.validate reports of a layer.
            for case in cases_of(self.row):
                try:
                    check(case)
                except BaseException as error:
                    error.add_note(f"{self.path}:{self.row.line}: {case.operator}: {case.text}")
                    raise

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.row.line - 1, self.name


def cases_of(row: Row) -> Iterator[Case]:
    """Yield the calls of a row: for each combination of its choices, and each element type that T stands for."""
    operator = _operator(row.operator)
    whole = "  ".join((row.call, *row.verdicts))
    choices = list(dict.fromkeys(_CHOICE.findall(whole)))
    for number, chosen in enumerate(itertools.product(*(choice.split("|") for choice in choices))):
        text = _CHOICE.sub(lambda found, chosen=chosen: chosen[choices.index(found[1])], whole)
        for place, kind in enumerate(_types(operator, text)):
            yield _case(operator, text, kind, row.names, not number and place < _MOST_TYPES)


def _operator(name: str) -> Operator:
    type, version = name.rsplit("-", 1)
    found = find(type, f"opset{version}" if version.isdigit() else version)
    assert found is not None and found.versioned_name == name, (
        f"{name} is not in irexec/ops/spec/table.txt: `python docs/stored.py` adds a declared operator"
    )
    return found


def _kernel(name: str, *inputs: Any, **attributes: Any) -> Any:
    """Return what the kernel of an operator returns, for expressions: "DFT-7"."""
    values, faults = _operator(name).parse_attributes(attributes)
    assert not faults, faults
    return _operator(name)(*map(np.asarray, inputs), **values)


def _types(operator: Operator, text: str) -> Sequence[str]:
    """Return the element types for T: one of each kind that its first port accepts."""
    items = text.split("  ")[0].split("; ")
    port = next((n for n, item in enumerate(items) if re.match(r"T[\[ ]", item)), None)
    if port is None:
        return [""]
    accepted = operator.signature.input(port).elements.types
    return [kind for kind in KINDS if ElementType.by_name[kind] in accepted]


def _case(operator: Operator, text: str, kind: str, names: dict[str, Any], is_first: bool) -> Case:
    call, *verdicts = text.split("  ")
    rng = np.random.default_rng(zlib.crc32(f"{operator} {text}".encode()))
    scope, attributes = dict(names), {}
    if kind:
        scope["dtype"] = ElementType.by_name[kind].dtype
    inputs: list[Any] = []
    literal: list[int] = []
    for item in call.split("; "):
        if (attribute := _ATTRIBUTE.fullmatch(item)) is not None:
            attributes.setdefault(attribute[1], attribute[2])  # What a choice gives stands before what `with` does.
        elif item:
            inputs.append(_input(item, kind, scope, rng, verdicts[0].startswith(":")))
            if not re.match(rf"({_TYPES})\[", item) and inputs[-1] is not None:
                literal.append(len(inputs) - 1)
            scope[operator.signature.input(len(inputs) - 1).name] = inputs[-1]
    scope |= {"inputs": inputs, "operator": str(operator), "attributes": attributes}
    literal = literal if len(literal) < len(inputs) else literal[1:]
    return Case(operator, f"{text} ({kind})", inputs, literal, attributes, tuple(verdicts), scope, is_first)


def _input(text: str, kind: str, scope: dict[str, Any], rng: np.random.Generator, is_unknown: bool) -> Any:
    """Return an input: an array; a type if its elements are not known; None for `-`."""
    if text == "-":
        return None
    typed = _TYPED.fullmatch(text)
    if typed is None:
        array = np.array(eval(text, scope))
        name = {"f": "f32", "i": "i64", "b": "boolean", "U": "string"}.get(array.dtype.kind, "")
        is_own = array.dtype not in (np.float64, np.int64) and array.dtype.kind != "U"
        return array if is_own else array.astype(ElementType.by_name[name].dtype)
    element_type = ElementType.by_name[kind if typed[1] == "T" else typed[1]]
    if typed[5] is not None:
        value = eval(typed[5], scope)
        dtype = element_type.dtype
        is_kept = dtype is not None and dtype.kind in "iuT" and dtype.names is None
        return np.array(value, dtype if is_kept else None).astype(dtype)
    shape = PartialShape.parse(typed[2])
    if is_unknown or shape.is_dynamic or element_type.dtype is None:
        return TensorType(element_type, shape)
    if typed[3] is None:
        return data(rng, element_type.name, *shape.to_shape())
    low, high = (float(eval(bound, scope)) for bound in (typed[3], typed[4]))
    if element_type.is_real:
        return rng.uniform(low, high, shape.to_shape()).astype(element_type.dtype)
    return rng.integers(int(low), int(high) + 1, shape.to_shape()).astype(element_type.dtype)
