"""Printing what the text form writes as it is in the file: attributes and elements in braces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from irexec.frontends.text.words import quote, value, word
from irexec.ir.document import Element

TEXT = "#text"
"""The name, in quotes, under which an element has text instead of elements."""


def attributes_text(attributes: Mapping[str, str]) -> str:
    """Return attributes with a blank before each."""
    return "".join(f" {word(name)}={value(text)}" for name, text in attributes.items())


def rest_text(attributes: Mapping[str, str], elements: Sequence[Element]) -> str:
    """Return attributes and elements in braces, with a blank before them; an empty text for none."""
    if not attributes and not elements:
        return ""
    inside = attributes_text(attributes) + "".join(map(_element, elements))
    return f" {{{inside[1:]}}}"


def _element(element: Element) -> str:
    inner = "".join(map(_element, element.children))
    return f" {_head(element)}" + (f" {{{inner[1:]}}}" if inner else "")


def _head(element: Element) -> str:
    text = f" {quote(TEXT)}={quote(element.text)}" if element.text and element.text.strip() else ""
    return word(element.tag) + attributes_text(element.attributes) + text


def element_lines(element: Element, indent: str) -> Iterator[str]:
    """Yield an element in lines: one for each element inside."""
    if not element.children:
        yield f"{indent}{_head(element)}"
        return
    yield f"{indent}{_head(element)} {{"
    for child in element.children:
        yield from element_lines(child, f"{indent}  ")
    yield f"{indent}}}"
