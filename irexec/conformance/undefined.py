"""Inputs for which a page leaves the result open: ties, duplicate indices, integers that overflow, NaN in an order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irexec.conformance.ordering import identity_of, is_float
from irexec.debug.ties import of_boxes, of_top_k, scattered
from irexec.graph.model import Node
from irexec.ops.declare.contents import CONTENTS
from irexec.types import Array

_ARITHMETIC = {"Abs", "Power", "ReduceMean", "ReduceL1", "ReduceL2", "PReLU"}
_ORDERS = {"TopK", "Unique"}
_SUMMING = {"arithmetic", "reduction", "matrix", "convolution", "activation", "movement"}
_BOXES = {"NonMaxSuppression", "MulticlassNms", "MatrixNms", "NMSRotated"}
Inputs = Sequence[Array | None]


def is_undefined(node: object, inputs: Inputs) -> bool:
    """Return whether the result of a layer is open for these inputs."""
    assert isinstance(node, Node)
    return any(rule(node, inputs) for rule in RULES)


def is_meaningless(node: object, inputs: Inputs) -> bool:
    """Return whether a layer has no result at all for these inputs, so that even a crash is allowed."""
    assert isinstance(node, Node)
    return any(rule(node, inputs) for rule in (_divides_by_zero, _negative_count, _inconsistent))


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
    """Return whether a layer's integer results are others than those of 64 bits, so that they wrap."""
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


def _has_nan(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer orders values of which some are NaN."""
    ordered = node.type in _ORDERS or identity_of(node) is not None
    return ordered and any(a is not None and is_float(a) and np.isnan(a).any() for a in inputs)


def _ties(node: Node, inputs: Inputs) -> bool:
    if node.type == "TopK":
        return of_top_k(node, inputs) is not None
    if node.type in _BOXES:
        return of_boxes(node, inputs) is not None
    return scattered(node, inputs) is not None


def _out_of_range(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer converts floats that the integer type cannot hold."""
    if node.type not in ("Convert", "ConvertLike", "Range") or not node.outputs[0].element_type.is_integral_number:
        return False
    kind, data = node.outputs[0].element_type, inputs[0]
    if data is None or kind.name == "boolean":
        return False
    wide = data.astype(np.float64)
    top = 2.0 ** (kind.bitwidth - (kind.kind == "i"))
    low = -top if kind.kind == "i" else 0.0
    return bool((~np.isfinite(wide) | (np.trunc(wide) >= top) | (np.trunc(wide) < low)).any())


def _shifts_all(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer shifts by at least the width of the type, or by a negative number."""
    if not node.type.startswith("Bitwise") or not node.type.endswith("Shift") or inputs[1] is None:
        return False
    return bool(((inputs[1] < 0) | (inputs[1] >= node.outputs[0].element_type.bitwidth)).any())


def _many_periods(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer computes a remainder whose quotient is too large to be exact."""
    if node.type not in ("Mod", "FloorMod") or inputs[0] is None or inputs[1] is None or inputs[0].dtype.kind in "iu":
        return False
    with np.errstate(all="ignore"):
        quotient = np.abs(inputs[0].astype(np.float64) / inputs[1].astype(np.float64))
    near = np.abs(quotient - np.rint(quotient)) <= 4 * np.finfo(np.float32).eps * np.maximum(quotient, 1.0)
    return bool((~np.isfinite(quotient) | near | (quotient > _PERIODS)).any())


def _rounds_to_integer(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer averages or interpolates integers: the pages do not specify the rounding."""
    return node.type in _ROUNDED and bool(node.outputs[0].element_type.is_integral_number)


def _only_padding(node: Node, inputs: Inputs) -> bool:
    """Return whether a pooling window contains no element of the data."""
    data = inputs[0] if inputs else None
    if node.operator is None or data is None:
        return False
    if node.type == "AvgPool":
        found = node.operator.compute(np.ones(data.shape, np.float32), **node.all_attributes)
        return bool((np.asarray(found[0] if isinstance(found, (tuple, list)) else found) == 0).any())
    if node.type != "MaxPool":
        return False
    top = np.iinfo(data.dtype).max if data.dtype.kind in "iu" else 1
    found = node.operator.compute(np.full_like(data, top), *inputs[1:], **node.all_attributes)
    return bool((np.asarray(found[0] if isinstance(found, (tuple, list)) else found) != top).any())


def _counts_closely(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer is a Range whose number of elements depends on the rounding of a quotient."""
    if node.type != "Range" or any(a is None for a in inputs[:3]):
        return False
    start, stop, step = (float(np.asarray(a).reshape(-1)[0]) for a in inputs[:3])
    if all(number.is_integer() and abs(number) < _EXACT for number in (start, stop, step)):
        return False
    count = (stop - start) / step if step else 0.0
    return abs(count - round(count)) < _CLOSE * max(1.0, abs(count))


def _negative_index(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer is a Gather with a negative index, which its page does not define."""
    old = node.type == "Gather" and node.operator is not None and node.operator.opset in ("opset1", "opset7")
    return bool(old and inputs[1] is not None and (inputs[1] < 0).any())


def _inconsistent(node: Node, inputs: Inputs) -> bool:
    """Return whether the channels of a detection layer contradict its attributes."""
    data = inputs[0] if inputs else None
    if data is None:
        return False
    if node.type == "ReorgYolo":
        return bool(data.shape[1] % int(node.attributes["stride"]) ** 2)
    if node.type == "RegionYolo":
        a = node.attributes
        regions = a["num"] if a.get("do_softmax", True) else len(a.get("mask") or ())
        return bool(a.get("axis") != 1 or data.shape[1] != regions * (a["classes"] + a["coords"] + 1))
    return False


def _between_levels(node: Node, inputs: Inputs) -> bool:
    """Return whether a value is so close to the middle of two levels that its rounding depends on the arithmetic."""
    if node.type != "FakeQuantize" or any(a is None for a in inputs[:3]):
        return False
    x, low, high = (a.astype(np.float64) for a in inputs[:3] if a is not None)
    with np.errstate(all="ignore"):
        place = (x - low) / (high - low) * (int(node.attributes["levels"]) - 1)
    inside = (x > low) & (x < high)
    return bool((inside & (np.abs(place - np.floor(place) - 0.5) < _BETWEEN)).any())


def _order_of_rows(node: Node, inputs: Inputs) -> bool:
    """Return whether the order of selected elements or boxes, or the rows after them, are not defined."""
    if node.type == "TopK":
        return node.attributes.get("sort") == "none"
    if node.type == "ExperimentalDetectronTopKROIs":
        return bool(inputs[1] is not None and inputs[1].size < int(node.attributes["max_rois"]))
    if node.type in ("MatrixNms", "MulticlassNms"):
        return node.attributes.get("sort_result_type") != "score"
    return node.type == "Proposal"


def _nothing_reduced(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer takes the least or largest of no elements."""
    data = inputs[0] if inputs else None
    return node.type in ("ReduceMin", "ReduceMax", "ReduceMean") and data is not None and not data.size


def _fractions(node: Node, inputs: Inputs) -> bool:
    """Return whether positions are not integers."""
    if node.type != "GatherTree":
        return False
    arrays = (a.astype(np.float64) for a in inputs if a is not None)
    return any(bool((a != np.rint(a)).any()) for a in arrays)


def _divides_by_zero(node: Node, inputs: Inputs) -> bool:
    """Return whether the layer divides an integer by zero."""
    divisor = inputs[1] if len(inputs) > 1 else None
    divides = node.type in ("Divide", "Mod", "FloorMod") and node.outputs[0].element_type.is_integral_number
    return bool(divides and divisor is not None and (divisor == 0).any())


def _negative_count(node: Node, inputs: Inputs) -> bool:
    """Return whether there is a negative number of repetitions, or a negative power of integers."""
    second = inputs[1] if len(inputs) > 1 else None
    if second is None or second.dtype.kind not in "i":
        return False
    return node.type in ("Tile", "Power") and bool((second < 0).any())


def _other_thresholds(node: Node, inputs: Inputs) -> bool:
    """Thresholds of another element type than that of the boxes: what is rounded to which type is open; a negative
    number of boxes; and an overlap of at most 0, of which pages say that it keeps all boxes."""
    if node.type not in ("NonMaxSuppression", "NMSRotated"):
        return False
    overlap = inputs[3] if len(inputs) > 3 else None
    if overlap is None or not 0.0 < float(np.asarray(overlap).reshape(-1)[0]) < 1.0:
        return True
    given = {a.dtype for a in (inputs[0], *inputs[3:]) if a is not None}
    return len(given) > 1 or (len(inputs) > 2 and inputs[2] is not None and bool((inputs[2] < 0).any()))


def _contradicting(node: Node, inputs: Inputs) -> bool:
    """Return whether attributes contradict each other, or values exceed the type that is computed."""
    a = node.attributes
    if node.type == "MVN" and node.operator is not None and node.operator.opset == "opset2":
        return bool(a.get("reduction_axes"))
    if node.type.startswith("PriorBox") and a.get("max_size"):
        # Without scale_all_sizes the page counts boxes of max_size that it does not compute.
        return len(a.get("min_size") or ()) != len(a["max_size"]) or not a.get("scale_all_sizes", True)
    return node.type == "MaxPool" and inputs[0] is not None and inputs[0].dtype == np.uint64


def _rows_of_old_versions(node: Node, inputs: Inputs) -> bool:
    """The number of rows of NonMaxSuppression before version 5: the pages' formula leaves out the images."""
    return node.type == "NonMaxSuppression" and node.operator is not None and node.operator.opset in _OLD_SELECTIONS


def _empty_maps(node: Node, inputs: Inputs) -> bool:
    """Regions of feature maps that have no elements."""
    return "ROI" in node.type and any(a is not None and a.ndim == 4 and not a.size for a in inputs)


_OLD_SELECTIONS = ("opset1", "opset3", "opset4")
_BETWEEN = 1e-3
_CLOSE, _EXACT = 1e-5, 2**11
_PERIODS = 1 << 16
_ROUNDED = {
    "GridSample", "Interpolate", "ROIAlign", "AvgPool", "AdaptiveAvgPool", "ReduceMean", "NormalizeL2", "ReduceL2",
    "Sin", "Cos", "Sigmoid", "Tanh", "Atan", "Erf", "Elu", "Selu", "HardSigmoid", "Gelu", "Swish", "Mish", "SoftPlus",
    "Exp", "Log", "Sqrt", "Sinh", "Cosh", "Tan", "Acos", "Asin", "Acosh", "Atanh", "Asinh", "SoftSign", "HSwish",
}  # fmt: skip
_RULES_OF_VALUES = (
    _rounds_to_integer,
    _only_padding,
    _counts_closely,
    _negative_index,
    _inconsistent,
    _between_levels,
    _order_of_rows,
)
RULES: tuple[Callable[[Node, Inputs], bool], ...] = (
    _ties, _has_nan, _overflows, _out_of_range, _shifts_all, _many_periods, _nothing_reduced, _fractions,
    _divides_by_zero, _negative_count, _other_thresholds, _contradicting,
    _rows_of_old_versions, _empty_maps,
    *_RULES_OF_VALUES,
)  # fmt: skip
