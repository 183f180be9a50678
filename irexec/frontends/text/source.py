"""The source of a model in the text form: its XML, whose findings are located in the text."""

from __future__ import annotations

import re
from typing import NamedTuple

from irexec.core.diagnostics.findings import Findings
from irexec.frontends.text.elements import Written
from irexec.frontends.text.parser import parse
from irexec.ir.xml.events import Span
from irexec.ir.xml.source import FORBIDDEN, Limits, Source

_MOST_ERRORS = 50


class _Error(NamedTuple):
    code: str
    message: str
    span: Span
    hint: str | None


class TextSource(Source):
    """A text in the text form, as the XML that it stands for. `constants`: the bytes of the constants in the text."""

    is_xml = False

    def __init__(self, text: str, file: str | None = None) -> None:
        self._errors: list[_Error] = []
        written = self._written(text)
        self.constants = written.constants if written is not None else b""
        super().__init__(
            written.text if written is not None else "",
            file=file,
            remap=written.original if written is not None else None,
            display_text=text,
            encoding=None,
        )

    def _written(self, text: str) -> Written | None:
        if len(text) > Limits().size:
            self._report("X005", f"the text is longer than {Limits().size:,} characters", Span(0, 1), None)
            return None
        if (wrong := re.search(FORBIDDEN, text)) is not None:
            message = f"character U+{ord(wrong[0]):04X} is not allowed in XML"
            self._report("X007", message, Span(wrong.start(), 1), None)
            return None
        net = parse(text, self._report)
        if net is None and not self._errors:
            self._report("X008", "the file contains no model", Span(0, 1), None)
        # Without its wrong lines a text lacks names that other lines use.
        return Written(net, self._report) if net is not None and not self._errors else None

    def _report(self, code: str, message: str, span: Span, hint: str | None) -> None:
        if len(self._errors) < _MOST_ERRORS:
            self._errors.append(_Error(code, message, span, hint))

    @property
    def readable(self) -> bool:
        """Whether the text has no errors of its own."""
        return not self._errors and super().readable

    def report(self, findings: Findings) -> None:
        """Add the errors in the text to `findings`."""
        for code, message, span, hint in self._errors:
            findings.add(code, message, place=self.display_place(span), hint=hint)
        if not self._errors:
            super().report(findings)
