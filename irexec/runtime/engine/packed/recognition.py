"""Finds matrices that layers compute from packed weights, and that are read only by layers that accept them packed."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from irexec.core.structure import CONVERT, PARAMETER
from irexec.core.types import BF16, F16, F32, F64, Array, TensorType
from irexec.model.graph.model import Node, Value
from irexec.model.inference import Inference
from irexec.ops.spec.traits import (
    Convolution,
    Difference,
    MatrixProduct,
    Product,
    Reshaping,
    Selection,
    ShapeReading,
    Trait,
    Transposition,
    Unpacking,
)
from irexec.runtime.engine.constants import Folding, may_be_packed
from irexec.runtime.engine.packed.codes import INTEGERS, TYPES, Codes
from irexec.runtime.engine.packed.matrix import PackedMatrix, is_zero_exact

_FLOATS = frozenset({F16, BF16, F32, F64})
Kind = type[Trait]


def packed_matrix(value: Value, inference: Inference, folding: Folding) -> PackedMatrix | None:
    """Return the packed matrix from which layers compute a value; None for other values, and if a reader of the value
    needs an array.
    """
    type = inference[value]
    if type.element_type not in _FLOATS or not may_be_packed(value, type):
        return None
    readers = [(node, index) for node, index in value.uses() if ShapeReading not in node.traits]
    search = _Search(inference, folding)
    if type.rank != 2:
        kinds = {node.traits.find(Convolution) if index == 1 else None for node, index in readers}
        kind = kinds.pop() if len(kinds) == 1 else None
        # The leading axes of a convolution's kernel number the output channels.
        axes = 0 if kind is None else 1 + kind.grouped
        return search.matrix(value, type, axes) if axes and not _is_depthwise(type.shape.to_shape(), axes) else None
    is_upright = any(_takes_upright(*reader) for reader in readers)
    takes = all(_takes_upright(*reader) if is_upright else _takes_rows(*reader, inference) for reader in readers)
    return search.matrix(value, type, is_upright=is_upright) if takes else None


def _is_depthwise(shape: tuple[int, ...], axes: int) -> bool:
    """Return whether each group of a kernel `[G, O, I, *K]` has one input channel and one output channel."""
    return axes == 2 and shape[1:3] == (1, 1)


def _takes_rows(node: Node, index: int, inference: Inference) -> bool:
    """Return whether a layer reads a matrix `[N, K]` row by row at this input."""
    if MatrixProduct in node.traits:
        return index == 1 and node.all_attributes["transpose_b"] and not node.all_attributes["transpose_a"]
    if Selection in node.traits:
        axis = node.inputs[2]
        is_first = axis is not None and inference[axis].scalar in (0, -2)
        return index == 0 and is_first and not node.all_attributes.get("batch_dims")
    return False


def _takes_upright(node: Node, index: int) -> bool:
    """Return whether a layer multiplies rows by a matrix `[K, N]` at this input."""
    attributes = node.all_attributes
    return MatrixProduct in node.traits and index == 1 and not (attributes["transpose_b"] or attributes["transpose_a"])


class _Search:
    """Follows a value back to its constant: Transpose, Convert, Reshape, Multiply, Subtract, Convert, of which some are
    absent.
    """

    def __init__(self, inference: Inference, folding: Folding) -> None:
        self._inference, self._folding = inference, folding

    def matrix(self, value: Value, type: TensorType, axes: int = 1, *, is_upright: bool = False) -> PackedMatrix | None:
        """Return the matrix of a value: `[K, N]` if it `is_upright`, else `[N, K]`. The first `axes` axes of the value
        are its rows.
        """
        current, final = value, type.element_type
        # Whether the file has the columns of the matrix `[N, K]` as rows.
        is_turned = is_upright
        if Transposition in current.node.traits:
            order = current.node.inputs[1]
            if order is None or list(self._inference[order].ints or ()) != [1, 0]:
                return None
            current, is_turned = self._before(current), not is_turned
        extents = self._inference[current].shape.to_shape()
        rows, columns = prod(extents[:axes]), prod(extents[axes:])
        types = {final}
        while _changes_form(current.node) and self._is_final(current):
            current = self._before(current)
            types.add(self._inference[current].element_type)
        arithmetic = self._inference[current].element_type
        if types != {arithmetic, final}:
            return None
        steps: dict[Kind, Value] = {}
        for kind in (Product, Difference):
            if kind in current.node.traits:
                parts = self._apart(current.node)
                if parts is None:
                    return None
                current, steps[kind] = parts
        source = self._before(current) if current.node.type == CONVERT else None
        if arithmetic not in _FLOATS or source is None or source.node.held is None or not _is_constant(source):
            return None
        grouped = self._inference[source].shape.to_shape()
        if self._inference[source].element_type not in TYPES or prod(grouped) != rows * columns:
            return None
        if is_turned:
            if not 0 < len(grouped) <= 3 or grouped[-1] != columns:
                return None
        else:
            axes = next((n for n in (1, 2) if len(grouped) >= n and prod(grouped[:n]) == rows), 0)
            if not axes:
                return None
        parameters = {
            kind: self._parameters(operand, grouped, 0 if is_turned else axes) for kind, operand in steps.items()
        }
        if any(found is None for found in parameters.values()):
            return None
        if arithmetic is F64 and not self._is_whole(source, parameters):
            return None
        codes = Codes.of(source.node, arithmetic, (rows, columns))
        if codes is not None and is_turned:
            codes = codes.turned()
        if codes is None:
            return None
        groups = max([1, *(p.shape[1] for p in parameters.values() if p is not None)])
        shape = type.shape.to_shape()
        return PackedMatrix(
            codes, parameters.get(Difference), parameters.get(Product), groups, final, shape, is_upright=is_upright
        )

    def _is_whole(self, source: Value, parameters: Mapping[Kind, Array | None]) -> bool:
        """Return whether all elements are integers, which f32 represents exactly, like f64."""
        type, zero = self._inference[source].element_type, parameters.get(Difference)
        return type in INTEGERS and Product not in parameters and (zero is None or is_zero_exact(type, zero))

    def _before(self, value: Value) -> Value:
        before = value.node.inputs[0]
        assert before is not None
        return before

    def _is_final(self, value: Value) -> bool:
        """Return whether a Convert or Reshape follows the Convert of the constant."""
        before = self._before(value).node
        return Unpacking in before.traits and Transposition not in before.traits

    def _apart(self, node: Node) -> tuple[Value, Value] | None:
        """Return the input that leads to the weights, and the second input, which must be a smaller constant; None if
        it is not.
        """
        left, right = node.inputs
        if left is None or right is None or node.all_attributes["auto_broadcast"] != "numpy":
            return None
        is_larger = self._size(right) > self._size(left)
        if Product in node.traits and is_larger:
            left, right = right, left
        return (left, right) if self._size(left) > self._size(right) and _is_constant(right) else None

    def _size(self, value: Value) -> int:
        return prod(self._inference[value].shape.to_shape())

    def _parameters(self, operand: Value, grouped: tuple[int, ...], axes: int) -> Array | None:
        """Return zero points or scales as f32 `[rows or 1, groups or 1]`; None if they differ inside a group.

        The first `axes` axes of the constant number its rows; with `axes` = 0, the last axis does.
        """
        array = self._folding.array(operand)
        if array.ndim > len(grouped):
            return None
        shape = (1,) * (len(grouped) - array.ndim) + array.shape
        if not axes:
            # Groups are along the first axis: `[1, N]`, or `[groups, 1, N]`.
            if shape[-2:-1] != (1,):
                return None
            return np.ascontiguousarray(array.astype(np.float32).reshape(-1, shape[-1]).T)
        count = prod(shape[axes:])
        # The elements of a group must be adjacent: axes up to `depth` number the groups.
        depth = next(n for n in range(axes, len(shape) + 1) if prod(shape[axes:n]) == count)
        if shape[axes:depth] != grouped[axes:depth] or 1 < count == prod(grouped[axes:]):
            return None
        rows = (1,) * axes if prod(shape[:axes]) == 1 else grouped[:axes]
        array = np.broadcast_to(array.astype(np.float32).reshape(*shape[:axes], count), (*rows, count))
        return np.ascontiguousarray(array.reshape(-1, count))


def _is_constant(value: Value) -> bool:
    """Return whether a value is a constant, in this or another type and shape."""
    node = value.node
    while _changes_form(node) and node.inputs[0] is not None:
        node = node.inputs[0].node
    return node.held is not None and node.type != PARAMETER


def _changes_form(node: Node) -> bool:
    return node.type == CONVERT or Reshaping in node.traits
