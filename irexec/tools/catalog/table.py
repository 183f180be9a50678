"""The table of contents of the operators, made from their declarations."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import irexec.ops
from irexec.ops.spec.operator import REGISTRY

TABLE = Path(__file__).parents[2] / "ops" / "spec" / "table.txt"


def table() -> str:
    """Return the text of irexec/ops/spec/table.txt, a line for each module: see contents.py."""
    for module in _modules():
        importlib.import_module(module)
    versions: dict[str, dict[str, list[int]]] = {}
    for (type, opset), operator in REGISTRY.items():
        number = opset.removeprefix("opset")
        if number.isdecimal() and not operator.is_own:
            module = operator.__module__.removeprefix("irexec.ops.")
            versions.setdefault(module, {}).setdefault(type, []).append(int(number))
    return "".join(f"{module}: {_words(types)}\n" for module, types in sorted(versions.items()))


def _words(types: dict[str, list[int]]) -> str:
    return " ".join("-".join(map(str, (type, *sorted(numbers)))) for type, numbers in sorted(types.items()))


def _modules() -> Iterator[str]:
    for category in pkgutil.iter_modules(irexec.ops.__path__, "irexec.ops."):
        if category.name not in ("irexec.ops.spec", "irexec.ops.onnx", "irexec.ops.tokenizers"):
            folder = importlib.import_module(category.name).__path__
            yield from (module.name for module in pkgutil.iter_modules(folder, f"{category.name}."))
