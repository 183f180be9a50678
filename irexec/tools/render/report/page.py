"""The HTML file of a report: the drawing, the facts as JSON, a style sheet and a script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from irexec.core.diagnostics.render.characters import visible_text
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.observed import Observed
from irexec.tools.inspect.together import together
from irexec.tools.render.drawing.svg import Drawing, drawing_style
from irexec.tools.render.html_page import html_page
from irexec.tools.render.report.data import packed, report_data
from irexec.tools.render.report.overlays import overlays
from irexec.tools.render.shapes import SizeRows

# The scripts, in the order of their dependencies.
_SCRIPTS = (
    "view.js", "blocks.js", "columns.js", "map.js", "choose.js", "panel.js", "overlays.js", "export.js", "start.js",
)  # fmt: skip


def report_page(models: Sequence[Summary], observed: Sequence[Observed] = (), sizes: Sequence[SizeRows] = ()) -> str:
    """Return the report on a model, or on two side by side, as the text of one HTML file.

    `sizes`: for each model, the rows about its dynamic sizes; rows about costs replace other rows of the same name.
    """
    shown = together(models)
    drawing = Drawing(shown, insides=True)
    data = report_data(shown, drawing.folded, overlays(shown, observed), observed)
    for model, rows in zip(data["models"], sizes, strict=False):
        model["sizes"] = [list(row) for row in rows.conditions]
        known = dict(rows.costs)
        model["size"] = [(name, known.get(name, text)) for name, text in model["size"]]
    title = visible_text(" and ".join(dict.fromkeys(model.name or "model" for model in models)))
    script = "".join(map(own, _SCRIPTS))
    body = filled(
        "model.html",
        title=escape(title),
        width=str(round(drawing.width)),
        height=str(round(drawing.height)),
        drawing=drawing.body,
        data=packed(data),
        script=script,
    )
    return html_page(title, body, style=drawing_style() + own("report.css"), script=script)


def filled(name: str, **parts: str) -> str:
    """Return a body, a file of this package, with its parts inserted."""
    first, *pieces = own(name).split("{{")
    text = [first]
    for piece in pieces:
        part, _, rest = piece.partition("}}")
        text += (parts[part], rest)
    return "".join(text)


def own(name: str) -> str:
    """Return the text of a file of this package."""
    return files("irexec.tools.render.report").joinpath(name).read_text("utf-8")
