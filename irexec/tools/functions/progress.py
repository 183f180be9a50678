"""The progress of slow functions, shown below the cell of a notebook."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from irexec.tools.sensitivity import analysis
from irexec.tools.shapes import ask
from irexec.tools.status import NotebookStatus

P = ParamSpec("P")
R = TypeVar("R")


def in_notebooks(function: Callable[P, R], text: str) -> Callable[P, R]:
    """Return the function with a default for its argument `progress`: a callback that shows `text` below the cell.

    `text`: a format for the numbers of completed and of planned steps.
    """

    @wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        with NotebookStatus() as status:
            keywords.setdefault("progress", lambda *numbers: status.show(text.format(*numbers)))
            return function(*args, **keywords)

    return called


sensitivity = in_notebooks(analysis.sensitivity, "{0} of {1} groups of layers measured")
shapes = in_notebooks(ask.shapes, "{0} combinations of sizes")
