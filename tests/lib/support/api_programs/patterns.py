"""Patterns of intended differences."""

from __future__ import annotations

import re
from typing import NamedTuple

from support.api_programs.comparing import Difference
from support.api_programs.dependences import dependences

# Statements that run a model, or read the results of a run.
RUN = r"[cr]\d+(\.infer)?\(|r\d+\.(results|get_output_tensor|get_tensor|output_tensors)"


class Known(NamedTuple):
    """A pattern of differences: regular expressions for the class, the statement, both outcomes, the whole program, and
    the earlier statements that raised an exception.

    `layers`: for the statements that one node depends on, in order.
    `longer`: only if irexec returns more than OpenVINO.
    """

    kind: str
    why: str
    line: str = ""
    theirs: str = ""
    mine: str = ""
    program: str = ""
    raised: str = ""
    layers: str = ""
    longer: bool = False

    def holds(self, difference: Difference) -> bool:
        """Return whether a difference is of this pattern."""
        patterns = (
            (self.line, difference.line),
            (self.theirs, difference.theirs),
            (self.mine, difference.mine),
            (self.program, difference.program),
            (self.raised, difference.raised),
        )
        if self.longer and len(difference.mine) <= len(difference.theirs):
            return False
        if self.layers and not any(re.search(self.layers, each) for each in dependences(difference.program)):
            return False
        matching = re.fullmatch(self.kind, difference.kind) is not None
        return matching and all(re.search(pattern, text) for pattern, text in patterns)
