"""Values that are not drawn for an operator, because no page defines its results for them."""

from __future__ import annotations

from functools import lru_cache

from irexec.ops.declare.contents import CONTENTS
from irexec.ops.declare.operator import Operator
from irexec.types import ElementType

_ANY_VALUES = ("activation", "arithmetic", "comparison", "movement", "logical", "condition", "infrastructure", "type")
"""The categories whose pages define the result for infinities and NaN."""
_LINEAR = ("reduction", "matrix", "convolution", "pooling", "shape", "sparse", "sort")
"""The categories in which an infinity or NaN affects only the results that depend on it."""
_NO_EDGES = frozenset({
    "CumSum", "Mod", "FloorMod", "Power", "Divide", "SoftMax", "LogSoftmax", "HSigmoid", "HardSigmoid", "HSwish",
    "GatherTree",
})  # fmt: skip
"""Operators of these categories whose results for NaN, infinities or zeros are left open."""
_INTERPOLATING = frozenset({"DeformableConvolution"})
"""Operators of linear categories whose weights may be 0: an infinity beside a sample becomes NaN or nothing."""
_TIES = ("sort", "reduction", "comparison", "condition")


@lru_cache(maxsize=2048)
def profiles_of(operator: Operator, kind: ElementType) -> tuple[str, ...]:
    """Return the profiles of values that a case of this operator may have, for the element type of its first input."""
    category = CONTENTS[operator.type][0].split(".")[0]
    found = ["plain", "plain", "plain"]
    if category in _ANY_VALUES and operator.type not in _NO_EDGES:
        found.append("edges")
    if category in _TIES and (category != "sort" or operator.type == "TopK"):
        found.append("ties")
    if category in ("activation", "arithmetic", "normalization", "movement", "comparison", "reduction"):
        found.append("tails")
    if category in ("activation", "arithmetic") and kind.is_real:
        found.append("far")
    if category in _LINEAR and kind.is_real and operator.type not in _INTERPOLATING:
        found.append("sparse")
    if category in ("movement", "comparison", "type"):
        found.append("large")
    if kind.is_integral and kind.bitwidth >= 32 and category not in ("detection", "image", "signals", "generation"):
        found += ["wide", "wide"]
        if kind.name != "i32":
            found.append("beyond")
    if operator.type in ("Convert", "ConvertLike") and kind.is_real:
        found.append("beyond")
    if operator.type in ("IsFinite", "IsInf", "IsNaN"):
        found += ["denormal", "edges"]
    return tuple(found)
