"""Small legal calls of every operator without a body, from which cases are grown.

`data/calls.json` has one call per line: versioned name, inputs as [element type, shape] or [element type, shape,
values], null for an omitted input, and the attributes in the form of a file.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

Line = tuple[str, list[Any], dict[str, str]]


@cache
def table() -> list[Line]:
    """Return all calls."""
    return [
        tuple(line) for line in json.loads(files("irexec.tools.conformance").joinpath("data/calls.json").read_text())
    ]


@cache
def calls_of() -> dict[str, list[Line]]:
    """Return the calls of each operator, by its versioned name."""
    found: dict[str, list[Line]] = {}
    for line in table():
        found.setdefault(line[0], []).append(line)
    return found
