"""The generated files of the repository: the table of operators, schemas, pages and ONNX's definitions.

`python docs/stored.py` writes those that are out of date, `python docs/stored.py --check` prints the differences.
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterator
from difflib import unified_diff
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from irexec.tools.catalog.facts import all_facts  # noqa: E402
from irexec.tools.catalog.schema import schema_files  # noqa: E402
from irexec.tools.catalog.table import TABLE, table  # noqa: E402
from irexec.tools.render.operators import page_text  # noqa: E402

SCHEMAS = ROOT / "schemas"
OF_ONNX = "1.23"
"""The version of the package onnx that the files about ONNX describe; with other versions they are left out."""
_MOST_LINES = 40


def files() -> Iterator[tuple[Path, str | None]]:
    """Yield the generated files with their texts; None for the schema of an operator that no longer exists."""
    yield TABLE, table()
    made = {SCHEMAS / path: text for path, text in schema_files()}
    yield from made.items()
    yield from ((path, None) for path in sorted((SCHEMAS / "operators").glob("*.json")) if path not in made)
    yield ROOT / "docs" / "operators.md", page_text(all_facts())
    if _onnx_version().startswith(OF_ONNX):
        from irexec.frontends.onnx import definitions, status

        yield ROOT / "docs" / "onnx.md", status.page()
        yield Path(definitions.__file__).with_name("definitions.txt"), definitions.text()


def _onnx_version() -> str:
    try:
        return importlib.metadata.version("onnx")
    except importlib.metadata.PackageNotFoundError:
        return ""


def changed() -> Iterator[tuple[Path, str, str | None]]:
    """Yield the files that are out of date, with their present and their new text."""
    for path, text in files():
        present = path.read_text("utf-8") if path.exists() else ""
        if present != text:
            yield path, present, text


def differences() -> Iterator[str]:
    """Yield the first differing lines of each file that is out of date."""
    for path, present, text in changed():
        name = path.relative_to(ROOT).as_posix()
        before, after = (each.splitlines() for each in (present, text or ""))
        lines = list(unified_diff(before, after, f"{name} (in the repository)", f"{name} (generated)", lineterm=""))
        more = [f"... and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
        yield "\n".join([*lines[:_MOST_LINES], *more])


def write() -> None:
    """Write all files that are out of date, and begin again after the table, from which the others are made."""
    for path, _, text in changed():
        print(path.relative_to(ROOT).as_posix())
        if text is None:
            path.unlink()
        else:
            path.write_text(text, "utf-8")
        if path == TABLE:
            sys.stdout.flush()
            os.execv(sys.executable, [sys.executable, *sys.argv])


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        found = list(differences())
        sys.exit("\n\n".join(found) if found else 0)
    write()
