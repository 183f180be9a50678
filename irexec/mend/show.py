"""What fixing did to a file, as text: a line for each fix, or a unified difference."""

from __future__ import annotations

import os
from collections.abc import Iterator

from irexec.diagnostics import Safety
from irexec.diagnostics.render.characters import visible_text
from irexec.ir.xml.encoding import EncodingProblem, decode
from irexec.mend.mend import Mended


def made_text(path: str | os.PathLike[str], mended: Mended) -> str:
    """One line for each fix that was made, in the order of the file, then how many there were."""
    if not mended.made:
        return ""
    lines = []
    for finding, fix in sorted(mended.made, key=lambda choice: (choice[0].line or 0, choice[0].column or 0)):
        unsafe = " (unsafe)" if fix.safety is Safety.UNSAFE else ""
        lines.append(f"{os.fspath(path)}:{finding.line}: {finding.code} {fix.title}{unsafe}")
    count = len(mended.made)
    lines.append(f"fixed {count} finding{'' if count == 1 else 's'} in {os.fspath(path)}")
    return "".join(f"{visible_text(line)}\n" for line in [*lines, ""])


def difference(path: str | os.PathLike[str], before: bytes, after: bytes) -> str:
    """The change as a unified difference, as `patch` reads it; nothing where there is none."""
    from difflib import unified_diff

    old, new = list(_lines(before)), list(_lines(after))
    name = os.fspath(path)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
        for line in unified_diff(old, new, name, name)
    )


def _lines(data: bytes) -> Iterator[str]:
    try:
        text = decode(data)
    except EncodingProblem:
        return
    *lines, last = text.split("\n")
    yield from (f"{line}\n" for line in lines)
    if last:
        yield last
