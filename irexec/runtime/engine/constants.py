"""Constant folding: constants, and layers that depend on them alone, are computed on demand, once for all plans."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from irexec.core.diagnostics import IRError
from irexec.core.diagnostics.deadline import ask
from irexec.core.threads.parallel import computing
from irexec.core.types import Array, Stored, TensorType
from irexec.model.graph.model import Model, Node, Value
from irexec.model.inference import Inference
from irexec.model.inference.propagate import MAX_STEPS, as_list
from irexec.ops.spec.prepared import Prepared
from irexec.ops.spec.traits import Random, Unpacking
from irexec.ops.spec.work import steps
from irexec.runtime.engine.checking import Rules
from irexec.runtime.engine.errors import failure
from irexec.runtime.engine.kernels import Kernels

# Limits of folding. A result with more bytes than this, and with many more than the constants of the file that it is
# computed from, is recomputed instead of being kept. A layer that takes much more work than the size of its constants
# is computed when the model runs, so that no file takes long to compile.
_MAX_UNFOLDING = 1 << 26
_FACTOR = 8
# Constants with at most this many elements describe a layer (axes, shapes) and are equal in many layers.
_MAX_SMALL = 64


# The least number of elements of a matrix of packed weights (engine/packed) that stays packed, and of all
# constants of few bits in its model. Smaller matrices are folded, because copies cost little memory.
LEAST_PACKED, LEAST_PACKED_TOTAL = 1 << 14, 1 << 21
# The ranks of matrices, and of kernels of convolutions, which are stored as matrices with a row per output channel.
_RANKS = range(2, 7)


class Packed:
    """Base class of PackedMatrix, which replaces an array that is not in memory; its module is imported on demand."""

    def unpacked(self) -> Array:
        """Return the whole array."""
        raise NotImplementedError


def may_be_packed(value: Value, type: TensorType) -> bool:
    """Return whether a value may be a matrix of packed weights, so that `packed_matrix` has to search for them."""
    if Unpacking not in value.node.traits or type.rank not in _RANKS or not type.shape.is_static:
        return False
    return math.prod(type.shape.to_shape()) >= LEAST_PACKED


def has_many_packed(model: Model) -> bool:
    """Return whether the constants of few bits are so large that packed matrices stay packed."""
    held = [
        node.held for node in model.nodes if node.held is not None and node.outputs[0].type.element_type.bitwidth <= 16
    ]
    return sum(array.size for array in held) >= LEAST_PACKED_TOTAL


class Constants:
    """Cache of the folded values that plans use. Intermediate results live only as long as the plan is being made."""

    def __init__(self, kept: dict[Value, Array] | None = None) -> None:
        """Create the cache. `kept`: values that are already known."""
        self._kept: dict[Value, Array] = {} if kept is None else kept
        self._prepared = Prepared()
        # The packed form of each value, or None; see irexec.runtime.engine.packed.
        self.packed: dict[Value, Any] = {}
        self._lock = threading.RLock()

    @contextmanager
    def folding(self, model: Model, inference: Inference) -> Iterator[Folding]:
        """Fold constants for one plan. The cache is locked: other threads wait."""
        with self._lock:
            yield Folding(model, inference, self._kept, self._prepared)


class Folding:
    """Constant folding for one plan.

    `lasting` values depend only on the model's constants and are shared by all plans. Other values depend on inference,
    for example on the shapes of inputs, and belong to this plan.
    """

    def __init__(self, model: Model, inference: Inference, kept: dict[Value, Array], prepared: Prepared) -> None:
        self._model, self._inference, self._kept = model, inference, kept
        self.kernels = Kernels(prepared)
        self._known: dict[Value, Array] = {}
        # By constant value: whether it is lasting.
        self._constant: dict[Value, bool] = {}
        self._small: dict[object, Stored] = {}
        self._origins: dict[Node, int] = {}

    def __contains__(self, value: Value) -> bool:
        return value in self._constant

    def add(self, node: Node) -> bool:
        """Return whether a node's results are constants, so that it needs no step; if so, record them."""
        is_lasting = False
        if node.held is not None:
            is_lasting = True
        elif node.operator is None or node.operator.is_run_by_engine:
            return False
        elif node.outputs and all(map(self._is_known, node.outputs)):
            for value in node.outputs:
                self._known[value] = self._inference[value].value  # type: ignore[assignment]
        elif not self._can_fold(node):
            return False
        else:
            is_lasting = all(value is None or self._constant[value] for value in node.inputs)
        for value in node.outputs:
            self._constant[value] = is_lasting
        return True

    def _is_known(self, port: Value) -> bool:
        """Return whether inference has determined the value, as it does for values computed from shapes."""
        type = self._inference[port]
        return (value := type.value) is not None and value.dtype == type.element_type.dtype

    def _can_fold(self, node: Node) -> bool:
        """Return whether a node's results depend on constants alone, are small, and are cheap to compute."""
        given = [value for value in node.inputs if value is not None]
        if not given or not all(map(self._constant.__contains__, given)):
            return False
        if Random in node.traits:
            return False
        types = self._inference.outputs(node)
        if any(type.shape.is_dynamic for type in types):
            return True
        origin = self._origins[node] = self._origin(given)
        if sum(map(_nbytes, types)) > max(_MAX_UNFOLDING, _FACTOR * origin):
            return False
        return self._work(node, types) <= max(MAX_STEPS, _FACTOR * origin)

    def _origin(self, inputs: list[Value]) -> int:
        """Return the number of bytes in the file that a result of these values depends on."""
        written = sum(_nbytes(self._inference[value]) for value in inputs if value.node.held is not None)
        return max([written, *(self._origins.get(value.node, 0) for value in inputs)])

    def _work(self, node: Node, outputs: Sequence[TensorType]) -> int:
        """Return the number of elements that a node processes; 0 if it is not known before the node runs."""
        operator = node.operator
        assert operator is not None
        return steps(operator, self._inference.inputs(node), node.all_attributes, outputs) or 0

    def array(self, value: Value) -> Array:
        """Return the value of a constant, or of a node that can be folded. Raises IRError if its kernel fails."""
        array = self._kept.get(value)
        if array is None and (held := value.node.held) is not None:
            return self._of(held)
        if array is None:
            if value not in self._known:
                self._compute(value.node)
            array = self._known[value]
            if self._constant[value]:
                self._kept[value] = array
        return array

    def _of(self, held: Array | Stored) -> Array:
        """Return the array of a constant; equal small constants, such as axes and shapes, share one array."""
        if not isinstance(held, Stored):
            return held
        return (self._small.setdefault(held.key, held) if held.size <= _MAX_SMALL else held).array

    def _compute(self, wanted: Node) -> None:
        """Evaluate a node after the nodes that it depends on."""
        stack = [wanted]
        while stack:
            ask("computing constants")
            node = stack[-1]
            missing = [v.node for v in node.inputs if v is not None and v not in self._known and v not in self._kept]
            if missing:
                stack += missing
                continue
            stack.pop()
            if node.held is not None:
                self._known[node.outputs[0]] = self._of(node.held)
            else:
                arrays = [None if v is None else self._known.get(v, self._kept.get(v)) for v in node.inputs]
                for value, result in zip(node.outputs, self._evaluated(node, arrays), strict=False):
                    self._known[value] = np.asarray(result)

    def _evaluated(self, node: Node, arrays: list[Array | None]) -> list[Any]:
        given = self._inference.inputs(node)
        try:
            call, _ = self.kernels.call(node, given, self._inference.outputs(node), tuple(arrays))
            if not all(type is None or type.shape.is_static for type in given):
                call = Rules().checked(call, node, given, self._model)
            with computing():
                return as_list(call(*arrays))
        except Exception as error:
            raise IRError(failure(node, error, arrays, self._model)) from error


def _nbytes(type: TensorType) -> int:
    """Return the number of bytes of a tensor with a static shape."""
    return math.prod(type.shape.to_shape()) * (type.element_type.dtype.itemsize if type.element_type.dtype else 1)
