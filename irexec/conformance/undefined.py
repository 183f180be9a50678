"""Inputs for which a page does not define the result: ties, duplicate indices, integer overflow, NaN in an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irexec.debug.ties import of_boxes, of_top_k, scattered
from irexec.graph.model import Node
from irexec.ops.declare.contents import CONTENTS
from irexec.ops.declare.operator import Undefined
from irexec.types import Array, ElementType

_ARITHMETIC = {"Abs", "Power", "ReduceMean", "ReduceL1", "ReduceL2", "PReLU"}
_SUMMING = {"arithmetic", "reduction", "matrix", "convolution", "activation", "movement"}
_BOXES = {"NonMaxSuppression", "MulticlassNms", "MatrixNms", "NMSRotated"}
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
    graphs = partly and (_has_no_zero(node, inputs) or _loses(node, inputs))
    return whole or graphs or any(rule(node, inputs) for rule in RULES)


def undefined_parts(node: Node, inputs: Inputs) -> Undefined:
    """Return the parts of the result that the operator's declaration leaves undefined for these inputs."""
    operator = node.operator
    if (
        operator is None
        or operator.undefined is None
        or any(a is None for a in inputs[: operator.signature.min_inputs])
    ):
        return False
    padded = [*inputs, *[None] * (len(operator.inputs) - len(inputs))]
    return operator.undefined(*padded, **node.all_attributes)


def is_meaningless(node: object, inputs: Inputs) -> bool:
    """Return whether a layer has no result at all for these inputs, so that even a crash is allowed."""
    assert isinstance(node, Node)
    return undefined_parts(node, inputs) == "no result"


def _overflows(node: Node, inputs: Inputs) -> bool:
    """Return whether integer arithmetic exceeds the range of the type where the order of the steps decides the result:
    sums and products wrap, whatever their order.
    """
    if node.type not in _ARITHMETIC or not node.outputs or not node.outputs[0].element_type.is_integral_number:
        return False
    kind = node.outputs[0].element_type
    arrays = [a.astype(np.float64) for a in inputs if a is not None and a.dtype.kind in "iu"]
    if not arrays or node.operator is None:
        return False
    top = 2.0 ** (kind.bitwidth - (kind.kind == "i"))
    tops = [float(np.abs(a).max(initial=0.0)) for a in arrays]
    largest, power, count = max(tops), tops[-1], max(a.size for a in arrays)
    bound = {
        "Abs": largest,
        "Power": float(np.exp2(min(1000.0, np.log2(max(largest, 1.0)) * power))),
        "ReduceMean": tops[0] * count,
        "ReduceL1": tops[0] * count,
        "ReduceL2": tops[0] ** 2 * count,
        "PReLU": largest * power,
    }
    return bool(bound[node.type] >= top)


def exceeds(node: object, inputs: Inputs) -> bool:
    """Return whether a layer's integer results differ from those computed in 64 bits, so that they wrap."""
    assert isinstance(node, Node)
    if node.operator is None or not node.outputs or CONTENTS.get(node.type, ("",))[0].split(".")[0] not in _SUMMING:
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


def _has_no_zero(node: Node, inputs: Inputs) -> bool:
    """Return whether a layer quantizes to a few levels, none of which is 0: a runtime that computes with integers moves
    all levels by up to half a level.
    """
    if node.type != "FakeQuantize" or node.all_attributes["levels"] > _FEW or any(a is None for a in inputs[:3]):
        return False
    low, high = (np.asarray(a).astype(np.float64) for a in inputs[1:3])
    with np.errstate(all="ignore"):
        zero = -low / (high - low) * (node.all_attributes["levels"] - 1)
    return bool((np.abs(zero - np.rint(zero)) > 1e-3).any())


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
    if node.type == "TopK":
        return of_top_k(node, inputs) is not None
    if node.type in _BOXES:
        return of_boxes(node, inputs) is not None
    return scattered(node, inputs) is not None


def _out_of_range(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer converts floats that the integer type cannot represent."""
    if node.type not in ("Convert", "ConvertLike", "Range") or not node.outputs[0].element_type.is_integral_number:
        return False
    kind, data = node.outputs[0].element_type, inputs[0]
    if data is None or kind.name == "boolean":
        return False
    wide = data.astype(np.float64)
    top = 2.0 ** (kind.bitwidth - (kind.kind == "i"))
    low = -top if kind.kind == "i" else 0.0
    return bool((~np.isfinite(wide) | (np.trunc(wide) >= top) | (np.trunc(wide) < low)).any())


def _rounds_to_integer(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer averages or interpolates integers: the pages do not specify the rounding."""
    is_open = node.operator is not None and node.operator.allowed.rounding == "open"
    return is_open and bool(node.outputs[0].element_type.is_integral_number)


def _exceeds_the_device(node: Node, inputs: Inputs) -> bool:
    """Return whether integers may exceed the types in which runtimes compute."""
    return node.type == "MaxPool" and inputs[0] is not None and inputs[0].dtype == np.uint64


def _empty_maps(node: Node, inputs: Inputs) -> bool:
    """Return whether a layer reads regions of feature maps without elements."""
    return "ROI" in node.type and any(a is not None and a.ndim == 4 and not a.size for a in inputs)


_SMALL = 1e-5
"""The magnitude below which a result that cancels may be lost."""
_FEW = 64
"""The number of levels up to which half a level exceeds the error allowed for graphs."""
RULES: tuple[Callable[[Node, Inputs], bool], ...] = (
    _ties, _has_nan, _overflows, _out_of_range, _exceeds_the_device, _empty_maps, _rounds_to_integer,
)  # fmt: skip
