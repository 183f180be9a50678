"""The table of contents of the operators, written from their declarations: `python -m irexec.catalog.table`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import irexec.ops
from irexec.arrays.saving import save_text
from irexec.ops.declare.operator import REGISTRY

TABLE = Path(__file__).parents[1] / "ops" / "declare" / "table.py"
_HEAD = '''"""The module in which each operator is declared, so that it is imported when a model needs it.

Generated from the declarations: python -m irexec.catalog.table
"""

from __future__ import annotations

# type as a file writes it → (module below irexec.ops, opsets that introduced a version)
CONTENTS: dict[str, tuple[str, tuple[int, ...]]] = {
'''


def table() -> str:
    """Return the text of irexec/ops/declare/table.py."""
    for module in _modules():
        importlib.import_module(module)
    versions: dict[tuple[str, str], list[int]] = {}
    for (type, opset), operator in REGISTRY.items():
        number = opset.removeprefix("opset")
        if number.isdecimal() and not operator.is_own:
            module = operator.__module__.removeprefix("irexec.ops.")
            versions.setdefault((module, type), []).append(int(number))
    entries = (
        f'    "{type}": ("{module}", {_tuple(numbers)}),\n' for (module, type), numbers in sorted(versions.items())
    )
    return _HEAD + "".join(entries) + "}\n"


def _tuple(numbers: list[int]) -> str:
    return repr(tuple(sorted(numbers)))


def _modules() -> Iterator[str]:
    for category in pkgutil.iter_modules(irexec.ops.__path__, "irexec.ops."):
        if category.name not in ("irexec.ops.declare", "irexec.ops.onnx", "irexec.ops.tokenizers"):
            folder = importlib.import_module(category.name).__path__
            yield from (module.name for module in pkgutil.iter_modules(folder, f"{category.name}."))


if __name__ == "__main__":
    save_text(TABLE, table())
