"""Mending documentation pages and files of loose layers: their errata become corrections of the text."""

from __future__ import annotations

from irexec.mend.mend import Examined, Mended, PathLike, Wanted, improve
from irexec.mend.replacing import read_bytes, replace_file
from irexec.pages.doctest import check_page


def mend_page(path: PathLike, *, unsafe: bool = False, write: bool = True) -> tuple[bytes, Mended]:
    """Mend the examples of a page in its file. Returns the bytes that it held, and the outcome; see `mended_page`.

    A file that stays as it is is not written; without `write`, none is. Raises FileChanged and OSError.
    """
    before = read_bytes(path)
    mended = mended_page(before, path, unsafe=unsafe)
    if write:
        replace_file(path, before, mended.data)
    return before, mended


def mended_page(data: bytes, path: PathLike, *, unsafe: bool = False, wanted: Wanted = lambda _: True) -> Mended:
    """A page with its examples mended; `path` names it.

    A result that the page states is replaced by the one that the operator makes. Unsafe are corrections where something
    else may be wrong instead: the dims of an input, or the values listed for it. One stays only if nothing else is
    found wrong then: examples are short, and hide nothing.
    """

    def look(data: bytes) -> Examined:
        return Examined(data, check_page(path, data=data).report)

    return improve(data, look, unsafe=unsafe, wanted=wanted, hidden=False)
