"""The vocabulary: every diagnostic code, its title, default severity, and what OpenVINO does with the same input.

The first letter names the room that finds it: X text, N root and sections, L layers, P ports, D attributes, S shapes,
C constants, E edges, B bodies, V variables, R rt_info, O operators, Q repairs of printed snippets,
T documented results, U the command line.
"""

from __future__ import annotations

from dataclasses import dataclass

from irexec.diagnostics.diagnostic import Severity

E, W, N = Severity.ERROR, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True, slots=True)
class Code:
    """One entry. `lenient`: OpenVINO accepts such a file, so in "openvino" mode an error is only a warning."""

    code: str
    severity: Severity
    title: str
    openvino: str | None = None
    lenient: bool = False


_TABLE = [
    Code("O001", E, "an operator's constraint is broken"),
    Code("O002", E, "an input's element type is not one the operator takes"),
    Code("O003", E, "element types that must agree do not"),
    Code("O004", E, "the operator is known but not implemented yet"),
    Code("O005", E, "a value breaks the operator's constraint"),
    Code("O006", E, "a result is not what the file declares"),
    Code("O007", E, "the kernel failed"),
    Code("O008", E, "an input does not fit the model"),
    Code("O009", N, "the page leaves the result open"),
    Code("U001", E, "a file cannot be read"),
    Code("U002", E, "an extension file cannot be loaded"),
    Code("U003", E, "an option does not fit the other arguments"),
]

CODES: dict[str, Code] = {entry.code: entry for entry in _TABLE}
