"""Rows of sizes: which of many listed combinations a model accepts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from irexec.core.records import record
from irexec.core.types import MAX_LENGTH
from irexec.ir.beside import Unreadable, read_csv
from irexec.tools.shapes.answer import Shapes
from irexec.tools.shapes.probe import Refusal, Sizes


@record(frozen=True)
class Row:
    """One combination: the number of its line in the file, and its refusal (None if it is accepted)."""

    line: int
    sizes: Sizes
    refusal: Refusal | None

    def to_dict(self, shapes: Shapes) -> dict[str, Any]:
        refusal = self.refusal
        found: dict[str, Any] = {"line": self.line, "sizes": shapes.assignment(self.sizes), "accepted": refusal is None}
        if refusal is not None:
            found |= refusal.to_dict()
        return found


def read_rows(text: str, shapes: Shapes) -> list[Row]:
    """Read a CSV text and infer the model at each row's sizes.

    The header has symbols, whose columns hold sizes, or names of inputs, whose columns hold shapes such as 1x3x224x224
    or "1,3,224,224". Raises Unreadable.
    """
    table = read_csv(text, skipinitialspace=True)
    header = [cell.strip() for cell in next(table, (0, []))[1]]
    inputs = shapes.input_names
    known = {*shapes.symbols, *inputs}
    columns = ", ".join(dict.fromkeys((*shapes.symbols, *inputs)))
    if not header:
        raise Unreadable(f"line 1: the header is missing; possible columns are {columns}")
    for name in header:
        if name not in known:
            raise Unreadable(f"line 1: the column {name!r} is not one of {columns}")
    rows: list[Row] = []
    for line, cells in table:
        if not any(cell.strip() for cell in cells):
            continue
        try:
            sizes = _sizes(dict(zip(header, cells, strict=True)), shapes, inputs)
        except ValueError as error:
            reason = str(error) if isinstance(error, Unreadable) else f"{len(cells)} values, expected {len(header)}"
            raise Unreadable(f"line {line}: {reason}") from None
        rows.append(Row(line, sizes, shapes.refusal_at(sizes)))
    return rows


def _sizes(cells: dict[str, str], shapes: Shapes, inputs: Sequence[str]) -> Sizes:
    sizes: list[int | None] = [None] * len(shapes.dims)
    for name, text in cells.items():
        numbers = [_whole(part) for part in re.split(r"[x,\s]+", text.strip(" []")) if part]
        is_symbol = name in shapes.symbols
        for index, dim in enumerate(shapes.dims):
            if is_symbol and shapes.symbols[index] == name:
                if len(numbers) != 1:
                    raise Unreadable(f"{name} is {text!r}, expected one size")
                sizes[index] = numbers[0]
            elif not is_symbol and (axis := dim.axis_of(inputs.index(name))) is not None:
                if axis >= len(numbers):
                    count = len(shapes.input_text(inputs.index(name)))
                    raise Unreadable(f"{name} is {text!r}, expected {count} dimensions")
                if sizes[index] not in (None, numbers[axis]):
                    raise Unreadable(f"{name} is {text!r}, expected {sizes[index]} for {shapes.symbols[index]}")
                sizes[index] = numbers[axis]
    missing = [shapes.symbols[index] for index, size in enumerate(sizes) if size is None]
    if missing:
        raise Unreadable(f"the column {missing[0]} is missing")
    return tuple(size for size in sizes if size is not None)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise Unreadable(f"{text!r} is not a size")
    if int(text) > MAX_LENGTH:
        raise Unreadable(f"{text} exceeds the 64-bit range of a dimension")
    return int(text)
