"""Inputs for which a page does not define the result: ties, duplicate indices, integer overflow, NaN in an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irexec.core.types import Array, ElementType
from irexec.model.graph.model import Node
from irexec.ops.spec.contents import category_of
from irexec.tools.run.ties import tied, undefined_parts

_SUMMING = {"arithmetic", "reduction", "matrix", "convolution", "activation", "movement"}
Inputs = Sequence[Array | None]


def is_float(array: Array) -> bool:
    """Return whether an array has floating-point values, including bf16."""
    return array.dtype.kind in "fV" and bool(ElementType.of(array.dtype).is_real)


def instead_of_nan(node: Node) -> tuple[float, ...]:
    """Return the numbers that a layer may read instead of NaN; an empty tuple if it does not order values."""
    nan = node.operator.allowed.nan if node.operator is not None else ()
    return nan.get(str(node.all_attributes.get("reduction")), ()) if isinstance(nan, dict) else nan


def is_undefined(node: object, inputs: Inputs, *, partly: bool = True) -> bool:
    """Return whether the result of a layer is open for these inputs.

    `partly`: also return True if only some of its elements are open.
    """
    assert isinstance(node, Node)
    found = undefined_parts(node, inputs)
    whole = partly and any(mask.any() for mask in found) if isinstance(found, tuple) else bool(found)
    graphs = partly and (_moves(node, inputs) or _loses(node, inputs))
    return whole or graphs or any(rule(node, inputs) for rule in RULES)


def is_meaningless(node: object, inputs: Inputs) -> bool:
    """Return whether a layer has no result at all for these inputs, so that even a crash is allowed."""
    assert isinstance(node, Node)
    return undefined_parts(node, inputs) == "no result"


def exceeds(node: object, inputs: Inputs) -> bool:
    """Return whether a layer's integer results differ from those computed in 64 bits, so that they wrap."""
    assert isinstance(node, Node)
    if node.operator is None or not node.outputs or category_of(node.type) not in _SUMMING:
        return False
    kinds = {value.element_type for value in node.outputs}
    if not any(kind.is_integral_number and kind.bitwidth < 64 for kind in kinds):
        return False
    wide = [a.astype(np.int64) if a is not None and a.dtype.kind in "iu" else a for a in inputs]
    try:
        both = [node.operator.compute(*given, **node.all_attributes) for given in (inputs, wide)]
    except (TypeError, ValueError, ArithmeticError):
        return False
    narrow, exact = ([*made] if isinstance(made, (tuple, list)) else [made] for made in both)
    return any(
        a.shape != b.shape or bool((a.astype(np.float64) != b.astype(np.float64)).any())
        for a, b in zip(map(np.asarray, narrow), map(np.asarray, exact), strict=True)
        if a.dtype.kind in "iu"
    )


def _moves(node: Node, inputs: Inputs) -> bool:
    """Return whether a runtime may move all results of a layer, which a following layer could make large."""
    if node.operator is None or node.operator.allowed.moves is None or any(a is None for a in inputs):
        return False
    return node.operator.allowed.moves(*inputs, **node.all_attributes)


def _loses(node: Node, inputs: Inputs) -> bool:
    """Return whether the formula of a layer may lose small results, which a following layer could make large."""
    if node.operator is None or not node.operator.allowed.cancels or inputs[0] is None or not is_float(inputs[0]):
        return False
    with np.errstate(all="ignore"):
        found = np.abs(np.asarray(node.operator.compute(*inputs, **node.all_attributes)).astype(np.float64))
    return bool(((found > 0) & (found < _SMALL)).any())


def _has_nan(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer orders values that include NaN."""
    return bool(instead_of_nan(node)) and any(a is not None and is_float(a) and np.isnan(a).any() for a in inputs)


def _ties(node: Node, inputs: Inputs) -> bool:
    return tied(node, inputs) is not None


def _rounds_to_integer(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer averages or interpolates integers: the pages do not specify the rounding."""
    is_open = node.operator is not None and node.operator.allowed.rounding == "open"
    return is_open and bool(node.outputs[0].element_type.is_integral_number)


_SMALL = 1e-5
"""The magnitude below which a result that cancels may be lost."""
RULES: tuple[Callable[[Node, Inputs], bool], ...] = (_ties, _has_nan, _rounds_to_integer)
