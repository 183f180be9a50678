"""Well-formed XML from a repaired tree, with a map from every character to the original text."""

from __future__ import annotations

import re

from irexec.frontends.pages.repairs.parts import PrintedComment, PrintedElement, Text
from irexec.ir.xml.events import NOT_XML, Span
from irexec.ir.xml.mapped import Mapped, escaped


class Written(Mapped):
    """The text of a repaired tree; `PrintedElement.at` is the number of an element in this text."""

    def __init__(self, roots: list[PrintedElement], *, wrapper: str | None = None) -> None:
        super().__init__()
        self._count = 0
        if wrapper is not None:
            self.put(f"<{wrapper}>\n", Span(0, 1))
            self._count = 1
        for root in roots:
            self._element(root)
            self.put("\n", Span(max(root.end, 0), 1))
        if wrapper is not None:
            self.put(f"</{wrapper}>\n", Span(0, 1))

    def _element(self, root: PrintedElement) -> None:
        waiting: list[PrintedElement | Text | PrintedComment | str] = [root]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str):
                self.put(item, Span(0, 1))
            elif isinstance(item, Text):
                self.put(escaped(_clean(item.text)), Span(item.start, len(item.text)), verbatim=True)
            elif isinstance(item, PrintedComment):
                self.put(f"<!--{_comment(item.text)}-->", item.span)
            else:
                self._start_tag(item)
                if item.children:
                    waiting.append(f"</{item.name}>")
                    waiting += reversed(item.children)

    def _start_tag(self, node: PrintedElement) -> None:
        node.at, self._count = self._count, self._count + 1
        self.put(f"<{node.name}", node.span)
        for attribute in node.attributes.values():
            named = attribute.named or attribute.span
            self.attribute(attribute.name, _clean(attribute.value), attribute.span, named, verbatim=attribute.written)
        self.put(">" if node.children else "/>", Span(node.span.start + max(node.span.length - 1, 0), 1))


def _clean(text: str) -> str:
    return re.sub(NOT_XML, "\ufffd", text)


def _comment(text: str) -> str:
    text = re.sub("-(?=-)", "- ", _clean(text))
    return text + " " if text.endswith("-") else text
