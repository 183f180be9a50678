"""What no page defines, and which values are therefore not drawn for an operator."""

from __future__ import annotations

from functools import lru_cache

from irexec.ops.declare.contents import CONTENTS
from irexec.ops.declare.operator import Operator

_ANY_VALUES = ("activation", "arithmetic", "comparison", "movement", "logical", "condition", "infrastructure")
"""The categories whose pages define the result for infinities and NaN."""
_NO_EDGES = frozenset({
    "Maximum", "Minimum", "CumSum", "Mod", "FloorMod", "Power", "Divide", "SoftMax", "LogSoftmax",
    "Clamp", "HSigmoid", "HardSigmoid", "HSwish", "GatherTree", "ReLU",
})  # fmt: skip
"""Operators of these categories whose results for NaN, infinities or zeros are left open."""
_TIES = ("sort", "reduction", "comparison", "condition")


@lru_cache(maxsize=512)
def profiles_of(operator: Operator) -> tuple[str, ...]:
    """The profiles of values that a case of this operator may have."""
    category = CONTENTS[operator.type][0].split(".")[0]
    found = ["plain", "plain", "plain"]
    if category in _ANY_VALUES and operator.type not in _NO_EDGES:
        found.append("edges")
    if category in _TIES and category != "sort":
        found.append("ties")
    if category in ("activation", "normalization", "movement", "comparison", "reduction"):
        found.append("tails")
    if category in ("movement", "comparison", "type"):
        found.append("large")
    return tuple(found)
