"""The HTML file: the drawing, the facts as JSON, a style sheet, and a script that is allowed nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from irexec.diagnostics.render.characters import visible_text
from irexec.show.drawing.svg import Drawing, drawing_style
from irexec.show.report.data import report_data, script_text
from irexec.show.report.overlays import overlays
from irexec.survey.facts import Survey
from irexec.survey.observed import Observed


def report_page(survey: Survey, observed: Sequence[Observed] = (), *, cut: bool = False) -> str:
    """The report on a model as the text of one HTML file. `cut`: there is a command that extracts a layer."""
    drawing = Drawing(survey, insides=True)
    data = report_data(survey, drawing.scene.folded, overlays(survey, observed), observed, cut=cut)
    return filled(
        "model.html",
        title=escape(visible_text(survey.name or "model")),
        width=str(round(drawing.width)),
        height=str(round(drawing.height)),
        drawing=drawing.body,
        data=script_text(data),
        script=own("model.js"),
        style=drawing_style() + own("report.css"),
    )


def filled(template: str, *, script: str = "", **parts: str) -> str:
    """A page of this room with its parts in place. The browser is told to run this script and no other."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    pieces = own(template).split("{{")
    found = {"policy": policy, "script": script, **parts}
    text = [pieces[0]]
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        text += (found[name], rest)
    return "".join(text)


def own(name: str) -> str:
    """The text of a file of this room."""
    return files("irexec.show.report").joinpath(name).read_text("utf-8")
