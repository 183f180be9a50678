"""The schemas as files: RELAX NG of the file format, JSON Schema of each operator's attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from irexec.ir.io.writing import remove
from irexec.model.arrays.saving import save_text
from irexec.ops.spec import contents
from irexec.ops.spec.operator import Operator
from irexec.tools.catalog.json_schema import operator_schema
from irexec.tools.catalog.relaxng import ir_schema

RNG_NAME = "ir.rng"


def json_text(operator: Operator) -> str:
    """Return the JSON Schema of an operator as the text of its file."""
    return json.dumps(operator_schema(operator), indent=2, ensure_ascii=False) + "\n"


def file_name(operator: Operator) -> str:
    """Return the name of an operator's JSON Schema, `Gather-opset8.json`."""
    return f"{operator.type}-{operator.opset}.json"


def schema_files() -> Iterator[tuple[Path, str]]:
    """Yield every schema: its path below the folder of schemas, and its text."""
    yield Path(RNG_NAME), ir_schema()
    for _, _, operator in contents.everything():
        if operator is not None:
            yield Path("operators") / file_name(operator), json_text(operator)


def write_schemas(folder: Path) -> list[Path]:
    """Write all schemas below `folder`, and remove schemas of operators that no longer exist. Raises OSError."""
    written = []
    for path, text in schema_files():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        save_text(target, text)
        written.append(target)
    for old in set((folder / "operators").glob("*-opset*.json")) - set(written):
        remove(old)
    return written


def write_schema(operator: Operator, folder: Path) -> Path:
    """Write the schema of one operator to `folder`; return its path. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file_name(operator)
    save_text(target, json_text(operator))
    return target
