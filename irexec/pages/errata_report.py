"""Errata in Markdown: a report to a page's maintainers, and a table of the pages that were checked."""

from __future__ import annotations

import re
from collections.abc import Iterable

from irexec.pages.doctest import CheckedPage
from irexec.pages.errata import Erratum


def errata_report(pages: Iterable[CheckedPage]) -> str:
    """A Markdown report that whoever keeps the pages can act on."""
    lines = ["# Errata of the operation pages", ""]
    found = [page for page in pages if page.errata]
    total = sum(len(page.errata) for page in found)
    lines += [f"{total} errata on {len(found)} pages." if total else "No errata were found.", ""]
    for page in found:
        lines += [f"## {page.file}", ""]
        if page.about:
            lines += [f"About {', '.join(page.about)}.", ""]
        several = len(set(page.about)) > 1
        entries = [
            (f"{example.label} of {example.operator}" if several else example.label, entry)
            for example in page.examples
            for entry in example.errata
        ]
        for number, (label, entry) in enumerate(entries, 1):
            lines += [*_entry(number, label, entry), ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(number: int, label: str, entry: Erratum) -> list[str]:
    found = entry.diagnostic
    lines = [f"### {number}. Line {found.line}, column {found.column} ({label})", "", "Printed:", ""]
    lines += [*_fenced(entry.printed), ""]
    if entry.right:
        lines += [f"Right: {_code(entry.right)}", ""]
    why = f"{found.constraint}: {found.message}" if found.constraint else found.message
    lines += [f"Why: {_prose(why)} (`irexec explain {found.code}`)", ""]
    if entry.replacement is not None:
        lines += ["Suggested replacement:", "", *_fenced(entry.replacement), ""]
    return lines[:-1]


def _fenced(text: str) -> list[str]:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return [f"{fence}text", *text.splitlines(), fence]


def _prose(text: str) -> str:
    """Text of a page inside Markdown: on one line, with nothing in it that is markup."""
    return re.sub(r"([\\`*_<|])", r"\\\1", " ".join(text.split()))


def _code(text: str) -> str:
    """Text as a code span."""
    ticks = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{ticks}{' '.join(text.split())}{ticks}" if "`" not in text else f"{ticks} {' '.join(text.split())} {ticks}"


def pages_table(rows: Iterable[tuple[str, CheckedPage]]) -> str:
    """A Markdown table of pages (each with the name of the system that it documents), a row per version."""
    lines = [
        "| system | version | examples | executed | agree | errata found |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for system, page in rows:
        for version in dict.fromkeys(example.operator for example in page.examples):
            of = [example for example in page.examples if example.operator == version]
            executed = sum(example.executed for example in of)
            documented = sum(example.agrees is not None for example in of)
            agree = sum(example.agrees is True for example in of)
            errata = sum(len(example.errata) for example in of)
            agreeing = f"{agree} of {documented}" if documented else "-"
            lines.append(f"| {system} | {version} | {len(of)} | {executed} | {agreeing} | {errata} |")
    return "\n".join(lines) + "\n"
