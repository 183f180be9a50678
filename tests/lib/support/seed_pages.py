"""The table of the pages in tests/data/pages; `python tests/lib/support/seed_pages.py` prints docs/seed-pages.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from irexec.core.diagnostics.render.markdown import prose
from irexec.tools.doctest.doctest import CheckedPage, check_page

PAGES = Path(__file__).parents[2] / "data" / "pages"
SYSTEMS = {
    "scatter-nd-update-15.page.txt": "OpenVINO",
    "slice-scatter-15.page.txt": "OpenVINO",
    "scatter-elements-update-3.page.txt": "OpenVINO",
    "onnx-scatter-nd.page.txt": "ONNX",
}
"""File → the system that it documents."""


def table() -> str:
    """Return the Markdown table of doctest's results for the pages."""
    return _pages_table((system, check_page(PAGES / file)) for file, system in SYSTEMS.items())


def _pages_table(rows: Iterable[tuple[str, CheckedPage]]) -> str:
    """Return a Markdown table of pages (each with the name of the system that it documents), a row per version."""
    lines = [
        "| system | version | examples | executed | agree | errors found |",
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
            lines.append(f"| {prose(system)} | {prose(version)} | {len(of)} | {executed} | {agreeing} | {errata} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(table(), end="")
