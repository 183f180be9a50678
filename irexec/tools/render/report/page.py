"""The HTML file: the drawing, the facts as JSON, a style sheet, and the only script that its policy allows."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from irexec.core.diagnostics.render.characters import visible_text
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.observed import Observed
from irexec.tools.inspect.together import together
from irexec.tools.render.drawing.svg import Drawing, drawing_style
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
    return filled(
        "model.html",
        title=escape(visible_text(" and ".join(dict.fromkeys(model.name or "model" for model in models)))),
        width=str(round(drawing.width)),
        height=str(round(drawing.height)),
        drawing=drawing.body,
        data=packed(data),
        script="".join(map(own, _SCRIPTS)),
        style=drawing_style() + own("report.css"),
    )


def filled(body: str, *, script: str = "", **parts: str) -> str:
    """Return a page with this body and its parts inserted. Its security policy allows this script only."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; img-src blob:; base-uri 'none'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    pieces = own("page.html").replace("{{body}}", own(body)).split("{{")
    found = {"policy": policy, "script": script, **parts}
    text = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        text += (found[name], rest)
    return "".join(text)


def own(name: str) -> str:
    """Return the text of a file of this package."""
    return files("irexec.tools.render.report").joinpath(name).read_text("utf-8")
