"""Writing a model in the text form, and beside it the weights that the text does not contain."""

from __future__ import annotations

import io
import os

from irexec.frontends.text.printer import print_text
from irexec.ir.document import Document
from irexec.ir.io.writing import together
from irexec.ir.weights.file import weights_beside
from irexec.model.graph.model import Model


def has_own_weights(path: str | os.PathLike[str], weights: str | os.PathLike[str] | None) -> bool:
    """Return whether a text needs a copy of the `weights` of its model, because it is not written beside them."""
    beside = weights_beside(path)
    return weights is None or not (os.path.isfile(beside) and os.path.samefile(beside, weights))


def save_text(
    model: Model,
    path: str | os.PathLike[str],
    document: Document | None = None,
    *,
    full: bool = False,
    weights: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Write a model in the text form; return the files that were written.

    `document`: see `print_text`. `weights`: the file of the document's weights, which is used if the text is written
    beside it. Raises IRError and OSError.
    """
    copies, stream = document is None or has_own_weights(path, weights), io.BytesIO()
    text = print_text(model, document, full=full, weights=stream if copies else None)
    written = [os.fspath(path)]
    with together() as files:
        if copies and stream.getbuffer().nbytes:
            written.append(weights_beside(path))
            with files.create(written[1]) as data:
                data.write(stream.getbuffer())
        with files.create(path) as out:
            out.write(text.encode())
    return written
