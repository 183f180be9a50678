"""Docstrings and values as Markdown, for the pages that `generate.py` writes."""

from __future__ import annotations

import re

_CONSTRAINT = re.compile(r"(?:^|(?<=[.;:]\s))(?=C\d+(?:, C\d+)*(?::\s|  ))|(?<=\n)(?=C\d+  )")


def described(text: str) -> str:
    """What a docstring says, its constraints as a list: `C1: ... C2: ...`, or one to a line."""
    found = []
    for paragraph in text.split("\n\n"):
        before, *constraints = [part.strip() for part in _CONSTRAINT.split(paragraph)]
        listed = [" ".join(re.sub(r"^(C\d+)  ", r"\1: ", part).split()) for part in constraints]
        if before or not listed:
            found.append(prose(before))
        found.append("\n".join(f"- {prose(part)}" for part in listed))
    return "\n\n".join(filter(None, found))


def prose(text: str) -> str:
    """A docstring as Markdown: what looks like an element or a link is text."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<>*_\[\]$|\\])", r"\\\1", p) for p in parts)


def cell(text: str) -> str:
    return prose(text.replace("\n", " "))


def text_of_value(value: object) -> str:
    if isinstance(value, list):
        return ",".join(map(text_of_value, value))
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def first_sentence(text: str) -> str:
    return prose(" ".join(text.split("\n\n")[0].split()))
