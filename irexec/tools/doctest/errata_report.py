"""Errata in Markdown: a report to the maintainers of pages."""

from __future__ import annotations

from collections.abc import Iterable

from irexec.core.diagnostics.render.markdown import code, fenced, prose
from irexec.model.arrays.brief import plural
from irexec.tools.doctest.doctest import CheckedPage
from irexec.tools.doctest.errata import Erratum


def errata_report(pages: Iterable[CheckedPage]) -> str:
    """Return a Markdown report for the maintainers of the pages."""
    lines = ["# Errors in the operation pages", ""]
    found = [page for page in pages if page.errata]
    total = sum(len(page.errata) for page in found)
    lines += [f"{plural(total, 'error')} on {plural(len(found), 'page')}." if total else "No errors were found.", ""]
    for page in found:
        lines += [f"## {prose(page.file)}", ""]
        if page.about:
            lines += [f"About {prose(', '.join(page.about))}.", ""]
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
    lines = [f"### {number}. Line {found.line}, column {found.column} ({prose(label)})", "", "Printed:", ""]
    lines += [*fenced(entry.printed), ""]
    if entry.right:
        lines += [f"Correct: {code(entry.right)}", ""]
    why = f"{found.constraint}: {found.message}" if found.constraint else found.message
    lines += [f"Why: {prose(why)} (`irexec explain {found.code}`)", ""]
    if entry.replacement is not None:
        lines += ["Suggested replacement:", "", *fenced(entry.replacement), ""]
    return lines[:-1]
