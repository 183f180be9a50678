"""The generated files of the repository are those of the declarations; one command writes them."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

STORED = runpy.run_path(str(Path(__file__).parents[2] / "docs" / "stored.py"))


def test_every_generated_file_is_in_step() -> None:
    if found := list(STORED["differences"]()):
        pytest.fail("\n\n".join([*found, "write them: python docs/stored.py"]), pytrace=False)


def test_the_files_about_onnx_are_among_them() -> None:
    onnx = pytest.importorskip("onnx")
    names = {path.name for path, _ in STORED["files"]()}
    assert {"table.txt", "ir.rng", "Gather-opset8.json", "operators.md"} <= names
    assert ({"onnx.md", "definitions.txt"} <= names) is onnx.__version__.startswith(STORED["OF_ONNX"])
