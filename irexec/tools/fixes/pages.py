"""Fixing documentation pages and files of loose layers: errata become corrections of the text."""

from __future__ import annotations

from irexec.frontends.reading import PathLike
from irexec.tools.fixes.applying import FixResult, Wanted, examine_page, improve
from irexec.tools.fixes.replacing import read_bytes, replace_file


def fix_page(
    path: PathLike, *, unsafe: bool = False, wanted: Wanted = lambda _: True, write: bool = True
) -> tuple[bytes, FixResult]:
    """Fix the examples of a page in its file. Return the original bytes and the result.

    A result stated in the page is replaced by the operator's result. Corrections are unsafe if something else may be
    wrong instead: the dims of an input, or the values listed for it. Such a correction is kept only if it introduces no
    finding.

    An unchanged file is not written; with `write=False` no file is written. Raises FileChanged and OSError.
    """
    before = read_bytes(path)
    fixed = improve(before, lambda data: examine_page(data, path), unsafe=unsafe, wanted=wanted)
    if write:
        fixed.notes += replace_file(path, before, fixed.data)
    return before, fixed
