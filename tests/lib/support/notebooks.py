"""Notebooks, executed without Jupyter: `python tests/lib/support/notebooks.py FILE.ipynb` writes the outputs."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def read(path: Path) -> dict[str, Any]:
    notebook: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return notebook


def text_of(lines: list[str] | str) -> str:
    """Return a text that a notebook stores as a list of lines."""
    return lines if isinstance(lines, str) else "".join(lines)


def code_cells(notebook: dict[str, Any]) -> list[Cell]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(notebook: dict[str, Any], folder: Path) -> Iterator[list[Cell]]:
    """Run the code cells in order, in a folder, and yield the outputs of each, as Jupyter stores them."""
    known: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(code_cells(notebook), 1):
        printed = io.StringIO()
        with chdir(folder), redirect_stdout(printed):
            value = _value(text_of(cell["source"]), known)
        made: list[Cell] = []
        if printed.getvalue():
            made.append({"output_type": "stream", "name": "stdout", "text": printed.getvalue().splitlines(True)})
        if value is not None:
            shown = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
            data = {kind: text.splitlines(True) for kind, text in (shown | {"text/plain": repr(value)}).items()}
            made.append({"output_type": "execute_result", "execution_count": number, "metadata": {}, "data": data})
        yield made


def changed(cell: Cell, now: list[Cell]) -> str | None:
    """Return the difference of a cell's outputs from the stored ones, in their kinds or in the beginnings of their
    texts.
    """
    if [_kinds(each) for each in cell["outputs"]] != [_kinds(each) for each in now]:
        return f"the kinds of outputs are {[_kinds(each) for each in now]}"
    for stored, made in zip(cell["outputs"], now, strict=True):
        for kind in _kinds(stored):
            old, new = (text_of(each["text"] if kind == "stream" else each["data"][kind]) for each in (stored, made))
            if _beginning(old) != _beginning(new):
                return f"{kind} is {new}"
    return None


def execute(path: Path, folder: Path) -> None:
    """Write a notebook with the present outputs of its cells."""
    notebook = read(path)
    for number, (cell, made) in enumerate(zip(code_cells(notebook), outputs(notebook, folder), strict=True), 1):
        cell |= {"outputs": made, "execution_count": number}
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _beginning(text: str) -> str:
    """Return the first line up to a colon, without numbers and signs: the kind and the subject of the output."""
    return re.sub(r"[^a-zA-Z ]+", "", text.partition("\n")[0].partition(":")[0])


def _kinds(output: Cell) -> list[str]:
    return ["stream"] if output["output_type"] == "stream" else sorted(output["data"])


def _value(source: str, known: dict[str, Any]) -> Any:
    """Run a cell; return the value of its last line, if that is an expression."""
    *before, last = ast.parse(source).body
    ends = isinstance(last, ast.Expr)
    exec(compile(ast.Module(before if ends else [*before, last], []), "cell", "exec"), known)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), known) if isinstance(last, ast.Expr) else None


if __name__ == "__main__":
    for name in sys.argv[1:]:
        execute(Path(name), Path.cwd())
