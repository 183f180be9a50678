"""The common interface of the results of all functions: a short `repr`, the text of the command as `str`, and HTML."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

from irexec.tools.render.printing import Printout


class Result:
    """A result that is shown in a terminal, in a notebook, and in a debugger."""

    __slots__ = ()

    @property
    def verdict(self) -> str:
        """The result in one line."""
        raise NotImplementedError

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return 0

    def show(self, page: Printout) -> None:
        """Print the same text as the command."""
        raise NotImplementedError

    def __str__(self) -> str:
        return printed(self.show)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.verdict}>"

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def printed(show: Callable[[Printout], None]) -> str:
    """Return the text that the function prints on a page."""
    page = Printout()
    show(page)
    return page.text.rstrip("\n")


def preformatted(text: str) -> str:
    """Return a text as HTML with unchanged lines and columns."""
    return f'<pre style="font-family: monospace; white-space: pre; overflow-x: auto">{escape(text)}</pre>'
