"""Random graphs over all operators: each node reads results of earlier ones, through views if they fit."""

from __future__ import annotations

from typing import Any

import numpy as np

import irexec
from irexec import Model, Node, Value
from irexec.api.opsets.nodes import make_node
from irexec.core.types import F16, F32, I32, Array, ElementType, PartialShape
from irexec.ops.spec.contents import everything
from irexec.ops.spec.operator import ConstraintError, Operator
from irexec.ops.spec.traits import Random
from irexec.runtime.engine import CompiledModel, InferRequest
from irexec.runtime.lowering.backend import Backend
from support.examples import Example, example_of

ops: Any = irexec.opset15
# The engine runs their bodies, keeps their state, or has their values.
WITHOUT_KERNEL = {"Const", "If", "Loop", "Parameter", "ReadValue", "Assign", "Result", "TensorIterator"}
# Elementwise operators that may write into their input, and that accept any float tensor of any shape.
INPLACE = ("relu", "exp", "sigmoid", "gelu", "swish", "tanh", "negative", "hswish", "softplus", "mish")
# The allowed difference of a result, as a multiple of its change if each inner result changes by one unit in the last
# place.
MOST_MOVED = 8


def _has_unheld_memory(request: InferRequest) -> bool:
    # Compiled code is an extra, which this import needs.
    from support.ownership import unheld

    return bool(unheld(request))


def candidates() -> list[Operator]:
    """Return every operator of the opsets that can be run alone, with the same result each time."""
    found = [op for _, _, op in everything() if op is not None and op.type not in WITHOUT_KERNEL]
    return [op for op in found if Random not in op.traits and example_of(op) is not None]


class RandomGraph:
    """A model of some operators of `pool`; `inputs` are arrays for its Parameters.

    Every node's first float input passes through a random chain of in-place layers and views, and so do its float
    results, so that buffers are combined with views, broadcasts and several readers.
    """

    def __init__(self, pool: list[Operator], seed: int, *, dynamic: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self.dynamic = dynamic
        self.parameters: list[Node] = []
        self.inputs: list[Array] = []
        self.made: list[Value] = []
        for _ in range(int(self.rng.integers(2, 6))):
            self._add(pool[int(self.rng.integers(len(pool)))])
        outputs = [value for value in self.made if self.rng.random() < 0.5] or self.made[-1:]
        self.model = Model(outputs, self.parameters, "random")

    def _add(self, op: Operator) -> None:
        kind = (F32, F32, F32, F16, I32)[int(self.rng.integers(5))]
        example = example_of(op, kind) or example_of(op)
        assert example is not None
        values = [self._source(array, number) for number, array in enumerate(example.arrays)]
        try:
            node = make_node(irexec.Node, op, tuple(values), _texts(op, example))
        except irexec.IRError:
            return  # with dynamic inputs some operators lack necessary values
        self.made += [self._chain(value) for value in node.outputs]

    def _source(self, array: Array, number: int) -> Any:
        """Return a value that contains the array: a result of an earlier node, if it fits, a Parameter or a
        constant.
        """
        if array.dtype.kind not in "f" or array.ndim == 0:
            return array if self.rng.random() < 0.7 else self._parameter(array)
        fits = [v for v in self.made if v.type.element_type.dtype == array.dtype and v.type.shape.is_static]
        fits = [v for v in fits if v.shape == array.shape and self.rng.random() < 0.7]
        if number == 0 and fits:
            return fits[int(self.rng.integers(len(fits)))]
        if number and self.rng.random() < 0.3:
            return at_an_odd_byte(array)
        return self._chain(self._parameter(array)) if number == 0 else self._parameter(array)

    def _parameter(self, array: Array) -> Value:
        extents = [-1 if self.dynamic and self.rng.random() < 0.5 else n for n in array.shape]
        kind = ElementType.of(array.dtype)
        parameter = ops.parameter(PartialShape(extents), kind, name=f"p{len(self.parameters)}")
        self.parameters.append(parameter)
        self.inputs.append(array)
        return parameter.outputs[0]

    def _chain(self, value: Value) -> Value:
        """Return the value after in-place layers and views that end in its own shape."""
        kind = value.type.element_type
        if kind.dtype is None or kind.dtype.kind != "f" or value.type.rank in (None, 0):
            return value
        for _ in range(int(self.rng.integers(0, 4))):
            choice = int(self.rng.integers(6))
            if choice < 3:
                value = getattr(ops, INPLACE[int(self.rng.integers(len(INPLACE)))])(value).outputs[0]
            elif choice == 3:
                value = self._turned(value)
            elif choice == 4:
                value = ops.add(value, ops.relu(value)).outputs[0]
            else:
                value = self._through_slices(value)
        return value

    def _turned(self, value: Value) -> Value:
        """Return the value transposed, changed by an elementwise layer, and transposed back."""
        order = self.rng.permutation(value.type.rank or 0)
        turned = ops.transpose(value, ops.constant(order.astype(np.int64)))
        inner = getattr(ops, INPLACE[int(self.rng.integers(len(INPLACE)))])(turned)
        return ops.transpose(inner, ops.constant(np.argsort(order).astype(np.int64))).outputs[0]

    def _through_slices(self, value: Value) -> Value:
        """Return the value cut in two along the last axis, with one part changed in place, and joined again."""
        extent = value.type.shape[-1]
        if extent.is_dynamic or extent.value < 2:
            return value
        lengths = np.array([extent.value // 2, extent.value - extent.value // 2])
        parts = ops.variadic_split(value, ops.constant(np.int64(-1)), ops.constant(lengths))
        changed = ops.exp(ops.negative(parts.output(1)))
        return ops.concat([parts.output(0), changed], axis=-1).outputs[0]


def at_an_odd_byte(array: Array) -> Node:
    """Return a constant at an odd byte, as in a file."""
    node = ops.constant(array)
    node.constant = np.frombuffer(b"\0" + array.tobytes(), array.dtype, offset=1).reshape(array.shape)
    return node


def _texts(op: Operator, example: Example) -> dict[str, Any]:
    names = {a.name: a.file_name for a in op.attributes}
    return {names[name]: value for name, value in example.attributes.items() if value is not None}


def node_by_node(model: Model, inputs: list[Array], *, moved: int | None = None) -> list[Array]:
    """Return the results of a model if each node's kernel is called separately on contiguous copies: the reference.

    `moved`: the seed with which the results of all nodes in f32 are moved by a unit in the last place, up or down.
    """
    moves = np.random.default_rng(moved)
    values: dict[Value, Array] = {p.outputs[0]: a for p, a in zip(model.parameters, inputs, strict=True)}
    with np.errstate(all="ignore"):
        for node in model.nodes:
            if node.type == "Parameter":
                continue
            if node.constant is not None:
                values[node.outputs[0]] = node.constant
            elif node.type == "Result":
                values[node.outputs[0]] = values[node.inputs[0]]  # type: ignore[index]
            else:
                assert node.operator is not None
                arrays = [None if v is None else values[v].copy(order="C") for v in node.inputs]
                made = node.operator(*arrays, **node.attributes)
                made = made if isinstance(made, (tuple, list)) else [made]
                for value, array in zip(node.outputs, made, strict=False):
                    values[value] = np.array(array)
                    if moved is not None and values[value].dtype == np.float32:
                        values[value] *= 1 + np.float32(2**-23) * moves.choice(np.float32([-1, 1]), array.shape)
    return [values[result.outputs[0]] for result in model.results]


def difference(
    model: Model, inputs: list[Array], runs: int = 3, tolerance: float = 1e-5, backend: Backend | None = None
) -> str | None:
    """Return a difference of the engine's results from those node by node, in some runs of one request; None if there
    is none.

    Every second run has its floats in reversed order, if the model accepts them. `backend` lowers the model.
    """
    given = [inputs, [np.flip(array).copy() if array.dtype.kind == "f" else array for array in inputs]]
    try:
        expected = [node_by_node(model, inputs)]
    except ConstraintError:
        # A kernel refuses the values: a matrix has no inverse.
        return None
    try:
        expected.append(node_by_node(model, given[1]))
    except ConstraintError:
        given, expected = [inputs] * 2, expected * 2
    request = CompiledModel(model, backend).create_infer_request()
    kept = []
    for number in range(runs):
        own = given[number % 2]
        copies = [array.copy() for array in own]
        kept.append(request.infer(copies).to_tuple())
        if any(a.tobytes() != b.tobytes() for a, b in zip(copies, own, strict=True) if a.dtype.kind != "T"):
            return f"run {number}: an input was written to"
    if backend is not None and _has_unheld_memory(request):
        return "compiled code is told of memory that nobody holds"
    for number, got in enumerate(kept):
        for index, (a, b) in enumerate(zip(got, expected[number % 2], strict=True)):
            if alike(np.asarray(a), b, tolerance):
                continue
            moved = [node_by_node(model, given[number % 2], moved=seed)[index] for seed in range(4)]
            if backend is None or not _move_as_far(np.asarray(a), b, moved, tolerance):
                return f"run {number}: result {index} differs"
    return None


def _move_as_far(got: Array, expected: Array, moved: list[Array], tolerance: float) -> bool:
    """Return whether results differ by no more than some units in the last place of inner results explain, as after
    Atanh of numbers near 1.
    """
    if any(other.shape != expected.shape for other in (got, *moved)) or expected.dtype != np.float32:
        return False
    a, b = got.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        allowed = tolerance * (1 + np.abs(b)) + MOST_MOVED * np.max([np.abs(other - b) for other in moved], axis=0)
        return bool(np.all((np.abs(a - b) <= allowed) | (a == b) | (np.isnan(a) & np.isnan(b))))


def alike(got: Array, expected: Array, tolerance: float = 1e-5) -> bool:
    """Return whether results are equal up to the order in which a kernel sums, which the layout of its inputs may
    change.
    """
    if got.shape != expected.shape:
        return False
    if got.dtype.kind in "UTO" or expected.dtype.kind in "UTO":
        return got.tolist() == expected.tolist()
    a, b = got.astype(np.float64), expected.astype(np.float64)
    tolerance = 2e-3 if expected.dtype.itemsize == 2 else tolerance
    return bool(np.allclose(a, b, rtol=tolerance, atol=tolerance, equal_nan=True))
