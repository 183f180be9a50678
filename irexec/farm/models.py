"""Validation of many models and snippets."""

from __future__ import annotations

import os
from collections.abc import Iterable

from irexec.api import is_onnx
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Mode
from irexec.farm.task import PathLike, Task
from irexec.ir.files import named_files
from irexec.mend.files import validate_file
from irexec.records import record

SUFFIXES = (".xml", ".onnx")


@record(frozen=True)
class Validate(Task[Report]):
    """Every finding about a file, as `irexec.validate` gives them."""

    mode: Mode = "strict"
    strict: bool = False
    weights: str | None = None
    others: bool = False

    def __call__(self, item: str) -> Report:
        return validate_file(item, weights=self.weights, mode=self.mode, strict=self.strict, others=self.others)

    def files(self, item: str) -> list[PathLike]:
        if is_onnx(item):
            from pathlib import Path

            # Its external data may be any files below its folder.
            beside = (path for path in sorted(Path(item).parent.rglob("*")) if path.suffix.lower() not in SUFFIXES)
            return [item, *(path for path in beside if path.is_file())]
        return [item, self.weights or os.path.splitext(item)[0] + ".bin"]

    def needed(self, item: str) -> list[PathLike]:
        return [item] if self.weights is None else [item, self.weights]

    def report(self, result: Report) -> Report:
        return result


def models_in(paths: Iterable[PathLike]) -> list[str]:
    """The files that are named, and those below the folders that are (.xml, .onnx): each once, in a fixed order."""
    return named_files(paths, SUFFIXES)
