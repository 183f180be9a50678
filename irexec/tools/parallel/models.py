"""Validation of many models and snippets."""

from __future__ import annotations

import os
from collections.abc import Iterable

from irexec.core.diagnostics import Report
from irexec.core.diagnostics.findings import Mode
from irexec.core.records import record
from irexec.frontends.reading import is_onnx, read
from irexec.ir.io.files import named_files
from irexec.model.graph.releases import Release
from irexec.tools.fixes.files import examined, with_lines
from irexec.tools.parallel.task import PathLike, Task

SUFFIXES = (".xml", ".onnx", ".irt")


@record(frozen=True)
class Validate(Task[Report]):
    """All findings about a file, as in `irexec.validate`; with `target`, also the findings for that OpenVINO
    release; with `lines`, the layers that findings are about, in the text form.
    """

    mode: Mode = "strict"
    strict: bool = False
    weights: str | None = None
    others: bool = False
    target: Release | None = None
    lines: bool = False

    def __call__(self, item: str) -> Report:
        return self.of(item)

    def of(self, given: str | bytes) -> Report:
        """Return every finding about a file or its bytes."""
        reading = read(given, self.weights, mode=self.mode, strict=self.strict, others=self.others)
        report = examined(reading, target=self.target)
        return with_lines(reading, report) if self.lines else report

    def files(self, item: str) -> list[PathLike]:
        if is_onnx(item):
            from pathlib import Path

            # External data may be in any file below the model's folder.
            beside = (path for path in sorted(Path(item).parent.rglob("*")) if path.suffix.lower() not in SUFFIXES)
            return [item, *(path for path in beside if path.is_file())]
        return [item, self.weights or os.path.splitext(item)[0] + ".bin"]

    def needed(self, item: str) -> list[PathLike]:
        return [item] if self.weights is None else [item, self.weights]

    def report(self, result: Report) -> Report:
        return result


def models_in(paths: Iterable[PathLike]) -> list[str]:
    """Return the named files, and the models below the named folders: each once, in a fixed order."""
    return named_files(paths, SUFFIXES)
