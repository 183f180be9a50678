"""Models in notebooks: the graph as a picture, or a text if the picture would be too large (see core/display.py)."""

from __future__ import annotations

from base64 import b64encode

from irexec.core.diagnostics import IRError
from irexec.model.graph.model import Model
from irexec.model.inference import infer
from irexec.tools.functions.given import model_of
from irexec.tools.functions.result import preformatted
from irexec.tools.inspect.summary import summarize
from irexec.tools.render.drawing.svg import svg_document
from irexec.tools.render.printing import Printout
from irexec.tools.render.summary import show

_MOST_DRAWN = 2000
_HEIGHT = 500


def html(model: Model) -> str:
    """Return a scrollable picture of the graph, or a summary as text for a model of thousands of layers.

    For a model that was changed and has errors since, return its text and the findings.
    """
    try:
        own = model_of(model)
    except IRError as error:
        return preformatted(f"{model!r}\n\n{error.report}")
    summary = summarize(own, infer(own).report)
    if len(summary.layers) > _MOST_DRAWN:
        page = Printout(columns=100)
        show(summary, page)
        return preformatted(page.text)
    # The style sheet of an image does not affect the notebook.
    picture = b64encode(svg_document(summary).encode()).decode()
    image = f'<img alt="the graph of the model" style="max-width: none" src="data:image/svg+xml;base64,{picture}">'
    return f'<div style="max-height: {_HEIGHT}px; overflow: auto">{image}</div>'
