"""A model through the text form and back: the same text, the same file, the same findings."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path

from irexec.core.diagnostics import IRError
from irexec.frontends.reading import Reading, read
from irexec.frontends.text.printer import print_text
from irexec.model.graph.model import Model
from irexec.model.graph.write import write_model

LOST = {
    "C008", "C009",  # Constants in the text no longer share the weights.
    "D009", "E009", "L007", "N004", "N005", "N006", "N010", "P002", "P006", "P010", "S004",
}  # fmt: skip
"""The codes of findings about how something is written in XML, and not about what it means."""


def saved(model: Model) -> tuple[bytes, bytes] | str:
    """Return the files of a model, or the reason why it cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.xml"
        try:
            write_model(model, file)
        except IRError as error:
            return str(error)
        return file.read_bytes(), file.with_suffix(".bin").read_bytes()


def found(reading: Reading) -> Counter[tuple[str, str]]:
    return Counter((f.code, f.layer.name if f.layer else "") for f in reading.report if f.code not in LOST)


def fault(file: Path, weights: bytes | None = None) -> str | None:
    """Return what differs after a file was printed, short and with everything, and read again."""
    first = read(file, weights)
    assert first.model is not None, first.report
    beside = file.with_suffix(".bin")
    weights = beside.read_bytes() if weights is None and beside.exists() else weights
    for full in (False, True):
        text = print_text(first.model, first.document, full=full)
        again = read(text.encode(), weights)
        if again.model is None:
            return f"cannot be read: {again.report}\n{text}"
        other = print_text(again.model, again.document, full=full)
        if other != text:
            return f"another text:\n{text}\n{other}"
    if saved(again.model) != saved(first.model):
        return f"another file:\n{text}"
    if found(again) != found(first):
        return f"other findings: {found(first) - found(again)}, {found(again) - found(first)}\n{text}"
    return None
