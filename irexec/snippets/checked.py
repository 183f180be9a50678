"""Which numbered constraints an operator's code checks: the numbers that its kernel and shape rule can report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from irexec.ops.declare.operator import Operator

_NUMBER = re.compile(r"C[1-9]\d*")


def checked_constraints(operator: Operator) -> list[str]:
    """`["C1", "C2"]`: the constraint numbers in the code of the operator and of what it calls among the operators."""
    numbers: set[str] = set()
    seen: set[int] = set()
    work: list[Any] = [operator]
    while work:
        item = work.pop()
        if isinstance(item, str):
            numbers.update([item] if _NUMBER.fullmatch(item) else [])
        elif id(item) not in seen:
            seen.add(id(item))
            work.extend(_parts(item))
    return sorted(numbers, key=lambda number: int(number[1:]))


def _parts(item: Any) -> Iterator[Any]:
    """What an object's constraints can be named in: constants, functions and operators that it refers to."""
    if isinstance(item, Operator):
        yield from (item.kernel, item.rule)
    elif isinstance(item, partial):
        yield from (item.func, item.args, item.keywords)
    elif isinstance(item, (tuple, list)):
        yield from item
    elif isinstance(item, dict):
        yield from item.values()
    elif isinstance(item, FunctionType) and not item.__module__.startswith(("numpy", "irexec.types")):
        yield from (cell.cell_contents for cell in item.__closure__ or ())
        yield from _code_parts(item.__code__, item.__globals__)


def _code_parts(code: CodeType, names: dict[str, Any]) -> Iterator[Any]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant, names)
        else:
            yield constant
    yield from (names[name] for name in code.co_names if name in names)
