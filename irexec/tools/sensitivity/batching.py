"""Batched calls: one call of a kernel for many rows, which are values of the same shape along a new first axis.

Each operator type has a rule that changes inputs and attributes so that the kernel computes all rows at once. Where
there is no rule, or it does not apply, the caller runs the rows one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from irexec.core.types import Array
from irexec.model.graph.model import Node


@dataclass(slots=True)
class Batch:
    """The arguments of a kernel's call. `folded`: the rows are part of axis 0 of the first input and of the results."""

    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Many:
    """The inputs of a node: those with `is_many` have an axis of `rows` before their own axes."""

    node: Node
    inputs: Sequence[Array | None]
    is_many: Sequence[bool]
    rows: int

    def rank(self, port: int = 0) -> int:
        """Return the rank of an input without the axis of rows."""
        array = self.inputs[port]
        return 0 if array is None else array.ndim - self.is_many[port]

    @property
    def only_first(self) -> bool:
        """Whether only the first input differs between rows."""
        return self.is_many[0] and not any(self.is_many[1:])

    def get(self, name: str) -> Any:
        """Return the value of an attribute."""
        return self.node.all_attributes.get(name)

    def with_input(self, port: int, array: Array) -> list[Array | None]:
        """Return the inputs with one of them replaced."""
        return [*self.inputs[:port], array, *self.inputs[port + 1 :]]


Rule = Callable[[Many], Batch | None]


def compute_rows(node: Node, inputs: Sequence[Array | None], is_many: Sequence[bool], rows: int) -> list[Array] | None:
    """Return the results of a node for all rows, each with the axis of rows first; None: run the rows one by one."""
    rule = _RULES.get(node.type)
    operator = node.operator
    if rule is None or operator is None or operator.is_own or not operator.opset.startswith("opset"):
        return None
    try:
        made = rule(Many(node, inputs, is_many, rows))
        if made is None:
            return None
        found = operator.kernel(*made.inputs, **operator.bind(node.all_attributes | made.attributes))
    except Exception:
        # The caller runs the rows one by one, which gives their results or the error.
        return None
    arrays = [np.asarray(array) for array in (found if isinstance(found, (tuple, list)) else (found,))]
    if made.folded:
        arrays = [a.reshape(rows, a.shape[0] // rows, *a.shape[1:]) for a in arrays]
    fits = all(
        a.ndim > 0 and a.shape[0] == rows and v.type.shape.accepts(a.shape[1:])
        for a, v in zip(arrays, node.outputs, strict=False)
    )
    return arrays if fits and len(arrays) >= len(node.outputs) else None


def _elementwise(many: Many) -> Batch | None:
    """Return the call for inputs that broadcast, or have equal shapes: axes after the axis of rows align the ranks."""
    if many.get("auto_broadcast") not in (None, "numpy", "none"):
        return None
    return Batch(_aligned(many))


def _aligned(many: Many) -> list[Array | None]:
    rank = max(many.rank(port) for port in range(len(many.inputs)))
    found: list[Array | None] = []
    for port, (array, is_many) in enumerate(zip(many.inputs, many.is_many, strict=True)):
        if array is not None and is_many:
            array = array.reshape(many.rows, *[1] * (rank - many.rank(port)), *array.shape[1:])
        found.append(array)
    return found


def _matmul(many: Many) -> Batch | None:
    a, b = many.inputs
    if a is None or b is None or many.rank(0) < 2 or many.rank(1) < 2:
        return None
    if many.is_many[0] and not many.is_many[1] and b.ndim == 2 and not many.get("transpose_a"):
        # One product of all rows with the matrix.
        return Batch([a.reshape(many.rows * a.shape[1], *a.shape[2:]), b], folded=True)
    return Batch(_aligned(many))


def _folded(many: Many) -> Batch | None:
    """Return the call of operators for which axis 0 of the first input is a batch: rows become a part of it."""
    data = many.inputs[0]
    if not many.only_first or data is None or data.ndim < 3 or any(v.users for v in many.node.outputs[1:]):
        return None
    return Batch([data.reshape(data.shape[0] * data.shape[1], *data.shape[2:]), *many.inputs[1:]], folded=True)


def _interpolated(many: Many) -> Batch | None:
    """Return the call of an Interpolate whose axis 0 keeps its size and is not padded. Without a list of axes, axis 0
    would be interpolated.
    """
    axes = many.inputs[-1]
    if axes is None or len(many.inputs) < 3 or not np.all(axes >= 1):
        return None
    padded = (*(many.get("pads_begin") or ()), *(many.get("pads_end") or ()))
    return None if any(padded) else _folded(many)


def _axis_attribute(many: Many) -> Batch | None:
    """Return the call for an attribute `axis`, which is increased by one unless it counts from the end."""
    if not many.only_first:
        return None
    return Batch([*many.inputs], {"axis": _moved(many.get("axis"))})


def _axes_input(port: int) -> Rule:
    """Return the rule for an input of axes, which are increased by one unless they count from the end."""

    def rule(many: Many) -> Batch | None:
        axes = many.inputs[port] if len(many.inputs) > port else None
        if not many.only_first or axes is None:
            return None
        return Batch(many.with_input(port, _moved(axes)))

    return rule


def _moved(axis: Any) -> Any:
    if isinstance(axis, int):
        return axis + 1 if axis >= 0 else axis
    return np.where(axis >= 0, axis + 1, axis).astype(axis.dtype)


def _squeezed(many: Many) -> Batch | None:
    axes = many.inputs[1] if len(many.inputs) > 1 else None
    return None if axes is None or axes.size == 0 else _axes_input(1)(many)


def _concatenated(many: Many) -> Batch | None:
    wide = [
        array if array is None or is_many else np.broadcast_to(array, (many.rows, *array.shape))
        for array, is_many in zip(many.inputs, many.is_many, strict=True)
    ]
    return Batch(wide, {"axis": _moved(many.get("axis"))})


def _gathered(many: Many) -> Batch | None:
    if not many.only_first or many.get("batch_dims"):
        return None
    return _axes_input(2)(many)


def _reshaped(many: Many) -> Batch | None:
    return _prefixed({1: many.rows})(many)


def _transposed(many: Many) -> Batch | None:
    order = many.inputs[1]
    if not many.only_first or order is None:
        return None
    whole = order if order.size else np.arange(many.rank())[::-1]
    return Batch(many.with_input(1, np.concatenate([[0], whole + 1]).astype(order.dtype)))


def _prefixed(first: Mapping[int, int], masks: Sequence[str] = (), begin_end: Sequence[str] = ()) -> Rule:
    """Return the rule for inputs with an entry for each axis: an entry for the axis of rows is inserted."""

    def rule(many: Many) -> Batch | None:
        inputs = list(many.inputs)
        if not many.only_first:
            return None
        for port, value in first.items():
            array = inputs[port] if port < len(inputs) else None
            if array is not None:
                inputs[port] = np.concatenate([[value], array]).astype(array.dtype)
        changed = {name: [0, *(many.get(name) or ())] for name in masks}
        changed |= {name: [1, *(many.get(name) or ())] for name in begin_end}
        return Batch(inputs, changed)

    return rule


def _strided(many: Many) -> Batch | None:
    masks = ("new_axis_mask", "shrink_axis_mask", "ellipsis_mask")
    return _prefixed({1: 0, 2: 0, 3: 1}, masks, ("begin_mask", "end_mask"))(many)


def _sliced(many: Many) -> Batch | None:
    start = many.inputs[1]
    if not many.only_first or start is None:
        return None
    inputs = [*many.inputs]
    if len(inputs) < 5 or inputs[4] is None:
        inputs = [*inputs, *[None] * (5 - len(inputs))]
        inputs[4] = np.arange(start.size, dtype=start.dtype)
    assert inputs[4] is not None
    inputs[4] = _moved(inputs[4])
    return Batch(inputs)


def _broadcast(many: Many) -> Batch | None:
    target = many.inputs[1]
    data = many.inputs[0]
    if not many.only_first or target is None or data is None or many.get("mode") not in ("numpy", "bidirectional"):
        return None
    rank = max(target.size, many.rank())
    wide = np.concatenate([[many.rows], np.ones(rank - target.size, target.dtype), target]).astype(target.dtype)
    return Batch([data.reshape(many.rows, *[1] * (rank - many.rank()), *data.shape[1:]), wide])


def _tiled(many: Many) -> Batch | None:
    repeats = many.inputs[1]
    return None if repeats is None or repeats.size != many.rank() else _prefixed({1: 1})(many)


_ELEMENTWISE = (
    "Add Subtract Multiply Divide Maximum Minimum Power SquaredDifference Mod FloorMod Equal NotEqual Greater Less "
    "GreaterEqual LessEqual LogicalAnd LogicalOr LogicalXor LogicalNot Select FakeQuantize Convert ReLU Sigmoid Tanh "
    "Gelu Swish HSwish HSigmoid Mish Elu Clamp SoftPlus Exp Log Sqrt Abs Negative Sign Floor Ceiling Round Erf Sin Cos "
    "IsNaN IsInf"
)
_FOLDED = (
    "Convolution GroupConvolution ConvolutionBackpropData GroupConvolutionBackpropData MaxPool AvgPool PRelu "
    "BatchNormInference GroupNormalization DepthToSpace SpaceToDepth AdaptiveAvgPool"
)
_AXES = "ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 MVN NormalizeL2 Split VariadicSplit"

_RULES: dict[str, Rule] = {
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(_FOLDED.split(), _folded),
    **dict.fromkeys(_AXES.split(), _axes_input(1)),
    "SoftMax": _axis_attribute,
    "LogSoftmax": _axis_attribute,
    "MatMul": _matmul,
    "Interpolate": _interpolated,
    "Concat": _concatenated,
    "Gather": _gathered,
    "Reshape": _reshaped,
    "Transpose": _transposed,
    "Squeeze": _squeezed,
    "Unsqueeze": _axes_input(1),
    "Pad": _prefixed({1: 0, 2: 0}),
    "StridedSlice": _strided,
    "Slice": _sliced,
    "Broadcast": _broadcast,
    "Tile": _tiled,
}
"""The rule of each operator type; operators of other types are run row by row."""
