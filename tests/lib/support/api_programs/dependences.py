"""The statements that each node of a program depends on."""

from __future__ import annotations

import re
from functools import lru_cache

_NODE = re.compile(r"^(\w+) = (?!ov\.Model\()(.*(?:ops\.|\.output\(|[-+*]).*)$")


@lru_cache
def dependences(program: str) -> list[str]:
    """Return, for each node that a program defines, the statements that it depends on and its own, in order."""
    lines = program.split("\n")
    found: dict[str, set[int]] = {}
    for number, line in enumerate(lines):
        defined = _NODE.match(line)
        if defined is not None:
            named = re.findall(r"\w+", defined[2])
            found[defined[1]] = {number}.union(*(found[name] for name in named if name in found))
    return ["\n".join(lines[number] for number in sorted(numbers)) for numbers in found.values()]
