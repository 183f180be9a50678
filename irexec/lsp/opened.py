"""One version of a document that is open in an editor, with its check."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import cached_property

from lsprotocol import types as lsp

from irexec.core.diagnostics import Diagnostic
from irexec.ir.xml.events import Span
from irexec.lsp.analysis import Analysis
from irexec.lsp.units import Unit, Units


@dataclass
class Opened:
    """One version of an open document. `checking` ends with the analysis, which is `checked` from then on.

    `earlier`: the last version that was checked, until this version is checked. A replaced version drops its task: the
    cancelled task refers to the coroutine and so to the version, which would otherwise wait for the garbage collector.
    """

    text: str
    version: int
    unit: Unit
    pause: float = 0.0
    checking: asyncio.Task[Analysis] | None = None
    checked: Analysis | None = None
    findings: list[tuple[lsp.Range, Diagnostic]] = field(default_factory=list)
    earlier: Opened | None = None

    def stop(self) -> None:
        """Cancel the check, because this version is no longer needed."""
        if self.checking is not None:
            self.checking.cancel()
            self.checking = None

    @cached_property
    def units(self) -> Units:
        return Units(self.text, self.unit)

    def range(self, span: Span) -> lsp.Range:
        return self.units.range(span.start, span.stop)
