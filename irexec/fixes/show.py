"""The fixes made in a file, as text: one line for each fix, or a unified diff."""

from __future__ import annotations

import os
from collections.abc import Iterator

from irexec.diagnostics import Safety
from irexec.diagnostics.render.characters import visible_text
from irexec.fixes.applying import FixResult
from irexec.ir.xml.encoding import EncodingProblem, decode


def made_text(path: str | os.PathLike[str], repaired: FixResult) -> str:
    """Return one line for each applied fix in file order, followed by their number and by notes."""
    if not repaired.made:
        return ""
    lines = []
    for finding, fix in sorted(repaired.made, key=lambda choice: (choice[0].line or 0, choice[0].column or 0)):
        unsafe = " (unsafe)" if fix.safety is Safety.UNSAFE else ""
        lines.append(f"{os.fspath(path)}:{finding.line}: {finding.code} {fix.title}{unsafe}")
    count = len(repaired.made)
    lines.append(f"fixed {count} finding{'' if count == 1 else 's'} in {os.fspath(path)}")
    lines += [f"note: {os.fspath(path)}: {note}" for note in repaired.notes]
    return "".join(f"{visible_text(line)}\n" for line in [*lines, ""])


def difference(path: str | os.PathLike[str], before: bytes, after: bytes) -> str:
    """Return the change as a unified diff, as `patch` reads it; an empty text if there is none."""
    from irexec.fixes.difference import unified

    lines = unified(list(_lines(before)), list(_lines(after)), _quoted(os.fspath(path)))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _quoted(name: str) -> str:
    """Return a name as `patch` and git read it: quoted as in C if it contains characters other than printable ASCII."""
    if name.isascii() and name.isprintable() and '"' not in name and "\\" not in name:
        return name
    quoted = (chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:03o}" for byte in os.fsencode(name))
    return f'"{"".join(quoted)}"'


def _lines(data: bytes) -> Iterator[str]:
    try:
        text = decode(data)
    except EncodingProblem:
        return
    *lines, last = text.split("\n")
    yield from (f"{line}\n" for line in lines)
    if last:
        yield last
