"""Texts of the results of `irexec.shapes` and `irexec.sensitivity`, for printing and notebooks: see core/display.py."""

from __future__ import annotations

from irexec.tools.functions.result import preformatted, printed
from irexec.tools.render.shapes import show_shapes
from irexec.tools.sensitivity.result import Sensitivity
from irexec.tools.shapes.answer import Shapes


def text(value: Shapes | Sensitivity) -> str:
    """Return the output of the command."""
    return printed(lambda page: show_shapes(value, page)) if isinstance(value, Shapes) else value.text()


def html(value: Shapes | Sensitivity) -> str:
    """Return the output of the command as HTML, with its lines and columns."""
    return preformatted(text(value))
