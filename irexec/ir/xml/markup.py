"""Writing XML: one element to a line, indented by tabs, escaped so that every character reads back unchanged."""

from __future__ import annotations

import re
from collections.abc import Mapping

from irexec.ir.xml.events import NOT_XML

_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_SPECIAL = re.compile('[&<>"\t\n\r]')
_TAG = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


class Markup:
    """Collects lines; `text()` returns the whole document."""

    def __init__(self) -> None:
        self._lines = ['<?xml version="1.0"?>']
        self._indent = ""

    def open(self, tag: str, attributes: Mapping[str, str] | None = None) -> None:
        self._lines.append(f"{self._indent}<{tag}{_attributes(attributes)}>")
        self._indent += "\t"

    def close(self, tag: str) -> None:
        self._indent = self._indent[:-1]
        self._lines.append(f"{self._indent}</{tag}>")

    def empty(self, tag: str, attributes: Mapping[str, str] | None = None) -> None:
        """Write an element without content."""
        self._lines.append(f"{self._indent}<{tag}{_attributes(attributes)} />")

    def leaf(self, tag: str, text: str) -> None:
        """Write an element that contains only text."""
        self._lines.append(f"{self._indent}<{tag}>{_escaped(text)}</{tag}>")

    def text(self) -> str:
        return "\n".join([*self._lines, ""])


def illegal_character(text: str) -> str | None:
    """Return the first character of a text that XML cannot represent, not even escaped, or None."""
    match = re.search(NOT_XML, text)
    return match[0] if match else None


def is_tag(text: str) -> bool:
    """Return True if the text is a valid element name for every reader."""
    return _TAG.fullmatch(text) is not None


def _attributes(attributes: Mapping[str, str] | None) -> str:
    return "".join(f' {name}="{_escaped(value)}"' for name, value in attributes.items()) if attributes else ""


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: _ESCAPES[match[0]], text) if _SPECIAL.search(text) else text
