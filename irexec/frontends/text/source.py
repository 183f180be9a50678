"""The source of a model in the text form: its XML, whose findings are located in the text."""

from __future__ import annotations

import re

from irexec.frontends.text.elements import Written
from irexec.frontends.text.parser import parse
from irexec.ir.xml.events import NOT_XML, Span
from irexec.ir.xml.source import Limits, Source


class TextSource(Source):
    """A text in the text form, as the XML that it stands for. `constants`: the bytes of the constants in the text."""

    is_xml = False

    def __init__(self, text: str, file: str | None = None) -> None:
        super().__init__("", file=file, display_text=text, encoding=None)
        written = self._written(text)
        if written is not None:
            self.text, self.constants = written.text, written.constants
            # Errors of the text itself are found in it, not in the XML.
            self._remap = None if self._faults else written.original

    def _written(self, text: str) -> Written | None:
        if len(text) > Limits().size:
            self._fault("X005", f"the text is longer than {Limits().size:,} characters", Span(0, 1))
            return None
        if (wrong := re.search(NOT_XML, text)) is not None:
            message = f"character U+{ord(wrong[0]):04X} is not allowed in XML"
            self._fault("X007", message, Span(wrong.start(), 1))
            return None
        net = parse(text, self._fault)
        if net is None and not self._faults:
            self._fault("X008", "the file contains no model", Span(0, 1))
        # Without its wrong lines a text lacks names that other lines use.
        return Written(net, self._fault) if net is not None and not self._faults else None
