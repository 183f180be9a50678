"""The notebook in docs, executed: its stored outputs are those of its cells, and each cell has an output."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.notebooks import changed, code_cells, outputs, read, text_of

pytestmark = pytest.mark.any_python

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
ANEW = "PYTHONPATH=tests/lib python tests/lib/support/notebooks.py docs/notebook.ipynb writes the outputs anew"


def test_the_stored_outputs_are_those_of_the_cells(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "samples", tmp_path / "samples")
    notebook = read(NOTEBOOK)
    for cell, now in zip(code_cells(notebook), outputs(notebook, tmp_path), strict=True):
        wrong = changed(cell, now)
        assert wrong is None, f"{text_of(cell['source'])}\n{wrong}\n{ANEW}"
    assert (tmp_path / "classifier.html").stat().st_size > 50_000


def test_values_are_shown_as_html() -> None:
    shown = [output["data"] for cell in code_cells(read(NOTEBOOK)) for output in cell["outputs"]]
    html = "\n".join(text_of(data["text/html"]) for data in shown if "text/html" in data)
    for part in ("data:image/svg+xml", "<table>", "first wrong layer: block1/pointwise/norm", "epsilon", "snr", "H"):
        assert part in html, part
    assert all(len(text_of(data["text/plain"])) < 200 for data in shown)
