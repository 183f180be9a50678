"""The operator that a page, or a section of it, is about: its versioned name, or the heading of a page of ONNX."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import PurePath

from irexec.frontends.pages.reader import version_from_name
from irexec.ops.spec import contents


@dataclass(frozen=True, slots=True)
class Named:
    """An operator named on a page: type, version, and system. `start`: the offset from which the page describes it.

    An operator without an opset (created by a plugin from other operators) has no version.
    """

    type: str
    version: int | None
    origin: str = "opset"
    start: int = 0

    def __str__(self) -> str:
        prefix = "ONNX " if self.origin == "onnx" else ""
        return f"{prefix}{self.type}-{self.version}" if self.version is not None else self.type

    @property
    def opset(self) -> str | None:
        """The version of a layer: "opset15", "onnx18". The number of a page is not always the opset's number."""
        if self.version is None:
            return None
        if self.origin == "onnx":
            return f"onnx{self.version}"
        return contents.versioned(self.type, self.version) or f"opset{self.version}"


_VERSIONED = re.compile(r"versioned\s+name\W{1,12}?([A-Za-z]\w*?)(?:[-_](\d{1,3}))?\b", re.IGNORECASE)
# "ScatterND - 18#" (a page), "## <a name="ScatterND-18"></a>**ScatterND-18**" (the changelog)
_HEADING = re.compile(
    r"^[# \t*]*+(?:<a name=[^<>\n]*></a>)?[ \t*]*+([A-Z]\w*) ?- ?(\d{1,3})[ \t*]*+[#¶]?[ \t]*$", re.MULTILINE
)
_ONNX = re.compile(r"since_version\W{1,6}(\d+)|since version (\d+) of|available since version (\d+)")
_NEAR = 2000


def names_in(text: str, file: str | None = None) -> list[Named]:
    """Return the operators named on a page, in order; if there are none, the operator in the file name."""
    found = [
        Named(contents.canonical_type(match[1]) or match[1], int(match[2]) if match[2] else None, start=match.start())
        for match in _VERSIONED.finditer(text)
    ]
    for match in _HEADING.finditer(text):
        near = _ONNX.search(text, match.end(), match.end() + _NEAR)
        if near is not None and match[2] in near.groups():
            found.append(Named(match[1], int(match[2]), "onnx", match.start()))
    if not found and file is not None:
        found += _from_file(file)
    return sorted(found, key=lambda named: named.start)


def named_at(names: list[Named], offset: int) -> Named | None:
    """Return the operator that the text at `offset` is about: the last one named before it, or the page's first one."""
    if not names:
        return None
    return names[max(0, bisect_right([named.start for named in names], offset) - 1)]


def _from_file(file: str) -> list[Named]:
    """Return the operator in the name of the file or its folder: `slice-scatter-15.rst`, `Slice_8/1.xml`."""
    for part in reversed(PurePath(file).parts[-2:]):
        for kind in contents.CONTENTS:
            if (version := version_from_name(part, kind)) is not None:
                return [Named(kind, int(version))]
    return []
