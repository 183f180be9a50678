"""Mending documentation pages and files of loose layers: their errata become corrections of the text."""

from __future__ import annotations

from irexec.mend.files import read_bytes, replace_file
from irexec.mend.mend import Examined, Mended, PathLike, improve
from irexec.pages.doctest import check_page


def mend_page(path: PathLike, *, unsafe: bool = False, write: bool = True) -> tuple[bytes, Mended]:
    """Mend the examples of a page in its file. Returns the bytes that it held, and the outcome; see `mend_file`.

    A result that the page states is replaced by the one that the operator makes. Unsafe are corrections where something
    else may be wrong instead: the dims of an input, or the values listed for it. One stays only if nothing else is
    found wrong then: examples are short, and hide nothing.
    """
    before = read_bytes(path)
    mended = improve(
        before, lambda data: Examined(data, check_page(path, data=data).report), unsafe=unsafe, hidden=False
    )
    if write:
        replace_file(path, before, mended.data)
    return before, mended
