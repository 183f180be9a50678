"""The lines of two models' text forms that differ, with the lines around them, as `diff -u` prints them."""

from __future__ import annotations

import difflib
import io
from collections.abc import Sequence

from irexec.frontends.text.printer import plain_lines
from irexec.ir.document import Document
from irexec.ir.weights.writer import Blobs
from irexec.model.graph.model import Model

_MOST_LINES = 100_000


class _Nowhere(io.RawIOBase):
    """A stream that keeps nothing: constants are only compared."""

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        return memoryview(data).nbytes  # type: ignore[arg-type]


def hunks(models: Sequence[Model], documents: Sequence[Document | None], files: Sequence[str]) -> str:
    """Return the hunks of two models with these documents and names. Raises IRError for a model that IR cannot
    represent.
    """
    blobs = Blobs(_Nowhere())  # type: ignore[arg-type]
    one, other = (plain_lines(model, document, blobs) for model, document in zip(models, documents, strict=True))
    if len(one) + len(other) > _MOST_LINES:
        return f"the texts have {len(one) + len(other):,} lines, too many to be compared\n"
    return "\n".join([*difflib.unified_diff(one, other, files[0], files[1], lineterm="", n=2), ""])
