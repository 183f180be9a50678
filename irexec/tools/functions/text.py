"""`text` as a function, and its opposite: a model as a text with one layer a line, and the model in a text."""

from __future__ import annotations

import os

from irexec.api.openvino.model import Model as OpenVINOModel
from irexec.core.diagnostics import IRError
from irexec.frontends.reading import accepted, read
from irexec.frontends.text.printer import print_text
from irexec.model.graph.model import Model
from irexec.tools.functions.given import ModelLike


def parse(text: str, weights: str | os.PathLike[str] | bytes | None = None) -> OpenVINOModel:
    """Return the model in a text: the text form, or an IR. Raises IRError with all errors and their places.

    `weights`: the file or the bytes of the constants that are not in the text.
    """
    found = accepted(read(text.encode(), weights, model_class=OpenVINOModel))
    assert isinstance(found, OpenVINOModel)
    return found


def text(model: ModelLike, weights: str | os.PathLike[str] | None = None, *, full: bool = False) -> str:
    """Return the text form of a model, as `irexec text` prints it. `full`: with everything that the file contains.

    Raises IRError for a file without a model, and for a model that IR cannot represent.
    """
    if isinstance(model, Model):
        return print_text(model, full=full)
    reading = read(model, weights)
    if reading.model is None:
        raise IRError(reading.report)
    return print_text(reading.model, reading.document, full=full)
