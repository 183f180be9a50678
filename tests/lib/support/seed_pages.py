"""The table of the pages in tests/data/pages; `python tests/lib/support/seed_pages.py` prints docs/seed-pages.md."""

from __future__ import annotations

from pathlib import Path

from irexec.pages.doctest import check_page
from irexec.pages.errata_report import pages_table

PAGES = Path(__file__).parents[2] / "data" / "pages"
SYSTEMS = {
    "scatter-nd-update-15.page.txt": "OpenVINO",
    "slice-scatter-15.page.txt": "OpenVINO",
    "scatter-elements-update-3.page.txt": "OpenVINO",
    "onnx-scatter-nd.page.txt": "ONNX",
}
"""File → the system that it documents."""


def table() -> str:
    """The Markdown table of what doctest finds on the pages."""
    return pages_table((system, check_page(PAGES / file)) for file, system in SYSTEMS.items())


if __name__ == "__main__":
    print(table(), end="")
