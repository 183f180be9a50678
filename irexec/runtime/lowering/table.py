"""The table of lowerings: the functions that create the lowered forms of layers, by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Literal, NamedTuple

import numpy as np

from irexec.core.types import Array, TensorType
from irexec.model.graph.model import Node
from irexec.ops.compute.products import settle, summing_buffer
from irexec.ops.spec.operator import NodeTypes, Operator
from irexec.ops.spec.prepared import Prepared
from irexec.runtime.engine.step import Step
from irexec.runtime.lowering.follow import Link, Operands, after_sums
from irexec.runtime.lowering.followers import can_follow
from irexec.runtime.lowering.grids import Grid
from irexec.runtime.lowering.llvm.after import After, Rounding
from irexec.runtime.lowering.llvm.memory import Records
from irexec.runtime.lowering.narrow import converted, rounded, rounding_of
from irexec.runtime.lowering.work import F32, Work, by_numbers

# The module with the lowerings of each operator type. Modules are imported when a model has such a layer.
_MODULES = {
    **dict.fromkeys(("Convolution", "GroupConvolution"), "convolution"),
    **dict.fromkeys(("ConvolutionBackpropData", "GroupConvolutionBackpropData"), "transposed"),
    **dict.fromkeys(("AvgPool", "MaxPool"), "pooling"),
    **dict.fromkeys(("Gelu", "Mish", "Sigmoid", "Swish", "Tanh"), "pointwise"),
    **dict.fromkeys(("GRUSequence", "LSTMSequence", "RNNSequence"), "sequence"),
    **dict.fromkeys(
        ("MVN", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "SoftMax", "Softmax"), "rows"
    ),
    **dict.fromkeys(("DepthToSpace", "Interpolate", "Pad", "Roll", "ShuffleChannels", "SpaceToDepth"), "selecting"),
    "Concat": "concat",
    "Convert": "converting",
    "DynamicQuantizeLSTM": "quantized_sequence",
    "GroupNormalization": "group_normalization",
    "MatMul": "matmul",
    "ScaledDotProductAttention": "scaled_dot_product_attention",
}


class Site(NamedTuple):
    """A layer to be lowered: its static types and constants, its kernel, the prepared constants of its model, its node,
    and the grids of its inputs' values (irexec.runtime.lowering.grids).
    """

    types: NodeTypes
    kernel: Callable[..., Any]
    prepared: Prepared
    node: Node
    grids: Sequence[Grid | None]


class Lowered:
    """The lowered form of a layer: `tasks` adds the jobs of compiled code for given arrays, once for all runs of a
    program (irexec.runtime.lowering.program), or in each call.

    It is called like the kernel of the layer, and calls the kernel if compiled code does not support the arrays.
    """

    along: Literal["channel", "column"] | None = None
    """How operands of elementwise layers that the form computes after its own vary: see `follow.after_sums`. None: the
    form computes no other layers.
    """

    stores_its_type = False
    """Whether `tasks` stores results in the result's own type; otherwise it stores f32, even if that type is f16 or
    bf16.
    """

    selects = False
    """Whether each element of the result is an element of an input, so that it needs no rounding."""

    def __init__(self, site: Site) -> None:
        types = site.types
        self.kernel, self.dtype, self._inputs = site.kernel, types.outputs[0].element_type.dtype, len(types.inputs)

    def shape(self, *inputs: Any) -> tuple[int, ...] | None:
        """Return the shape of the result for these arrays; None if compiled code does not support them.

        The shape depends on the shapes, strides and element types of the arrays, not on their elements.
        """
        raise NotImplementedError

    def unread(self, shape: tuple[int, ...]) -> Sequence[Array]:
        """Return the results after the first, which no layer reads, given the shape of the first result."""
        return ()

    def takes(self, types: NodeTypes) -> bool:
        """Return whether compiled code supports arrays of these static types."""
        arrays = [
            None if type is None else np.broadcast_to(np.zeros((), type.element_type.dtype), type.shape.to_shape())
            for type in types.inputs
        ]
        return self.shape(*arrays) is not None

    def tasks(
        self, work: Work, inputs: Sequence[Any], out: Array, after: tuple[After, ...] = (), operands: Records | int = 0
    ) -> None:
        """Add the jobs that compute the result, and the layers in `after`, into `out`, which is contiguous f32.

        Raises Unsuited if NumPy would have to compute a part of the result, see `Work`.
        """
        raise NotImplementedError

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        shape = self.shape(*inputs)
        if shape is None:
            return self.by_kernel(inputs, out)
        assert self.dtype is not None
        is_narrow = rounding_of(self.dtype) is not None
        stored = self.dtype if self.stores_its_type and not is_narrow else F32
        target, work = summing_buffer(shape, stored, out), Work()
        self.tasks(work, [self._given(work, *given) for given in enumerate(inputs)], target)
        result = out
        if is_narrow and (out is None or out.flags.c_contiguous):
            result = np.empty(shape, self.dtype) if out is None else out
            converted(work, target, result)
            target = result
        work.run()
        return settle(target, self.dtype, result)

    def by_kernel(self, inputs: Sequence[Any], out: Array | None) -> Any:
        return self.kernel(*inputs) if out is None else self.kernel(*inputs, out=out)

    def reads(self, place: int) -> bool:
        """Return whether `tasks` reads the input at a place; it does not read constants that the form has prepared."""
        return True

    def _given(self, work: Work, place: int, array: Any) -> Any:
        """Return an input in f32 if it has a narrow type."""
        if array is None or rounding_of(array.dtype) is None or not self.reads(place):
            return array
        if not (array.flags.c_contiguous and array.flags.aligned):
            return array.astype(F32)
        wide = np.empty(array.shape, F32)
        converted(work, array, wide)
        return wide

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lowered] | None:
        """Return how many of the elementwise layers that follow this layer can be computed with it, and the lowered
        form of all of these layers; None if no layer can be.
        """
        rounding = rounding_of(self.dtype)
        if self.along is None or (self.dtype != F32 and rounding is None):
            return None
        count, after, operands = after_sums(links, result.shape.to_shape(), self.along, rounding)
        return (count, Fused(self, *self.behind(after, operands))) if count else None

    def rounded(self) -> Lowered:
        """Return a lowered form that rounds its f32 results to the declared type."""
        rounding = rounding_of(self.dtype)
        if rounding is None or self.selects:
            return self
        if self.along is None:
            return Rounded(self, rounding)
        _, after, operands = after_sums((), (), self.along, rounding)
        return Fused(self, *self.behind(after, operands))

    def behind(self, after: tuple[After, ...], operands: Operands) -> tuple[tuple[After, ...], Operands]:
        """Return the elementwise operations of this layer, then those of the following layers, with their operands."""
        return after, operands


class Fused(Lowered):
    """A layer with the elementwise layers that follow it; their computed operands are further inputs."""

    def __init__(self, first: Lowered, after: tuple[After, ...], operands: Operands) -> None:
        self.kernel, self.dtype, self._inputs = first.kernel, first.dtype, first._inputs
        self.first, self._after, self._operands = first, after, operands

    def shape(self, *inputs: Any) -> tuple[int, ...] | None:
        return self.first.shape(*inputs[: self._inputs])

    def reads(self, place: int) -> bool:
        return place >= self._inputs or self.first.reads(place)

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        operands = self._operands.records(work.all_contiguous(inputs[self._inputs :]))
        self.first.tasks(work, inputs[: self._inputs], out, self._after, operands)


class Rounded(Fused):
    """A layer whose results are rounded after they are stored."""

    def __init__(self, first: Lowered, rounding: Rounding) -> None:
        super().__init__(first, (), Operands([]))
        self._rounding = rounding

    def tasks(self, work: Work, inputs: Sequence[Any], out: Array, *_: Any) -> None:
        self.first.tasks(work, inputs, out)
        rounded(work, out, self._rounding)


class OfWholeNumbers(Lowered):
    """Sums of products of integers that are stored as f64, computed in 32 bits: `tasks` stores 32-bit integers."""

    def __call__(self, *inputs: Any, out: Array | None = None) -> Any:
        if (shape := self.shape(*inputs)) is None:
            return self.by_kernel(inputs, out)
        return by_numbers(inputs[0], shape, out, lambda work, data, sums: self.tasks(work, (data, None), sums))

    def leads(self, links: Sequence[Link], result: TensorType) -> None:
        return None


Lower = Callable[..., Lowered | None]


class _Bound(NamedTuple):
    function: Lower
    binding: Callable[[dict[str, Any]], dict[str, Any]]

    def __call__(self, site: Site) -> Lowered | None:
        return self.function(site, **self.binding(site.types.attributes))


_lowerings: dict[Operator, _Bound] = {}


def lowers(*operators: Operator) -> Callable[[Lower], Lower]:
    """Return a decorator for the lowering of operators: `f(site, *, attributes)` returns the lowered form, or None if
    these types, constants or attributes have none. Attributes, and groups of them, are requested by parameter name.
    """

    def declare(function: Lower) -> Lower:
        for operator in operators:
            _lowerings[operator] = _Bound(function, operator.binding(function, "lowering", ports=1))
        return function

    return declare


def has_lowering(operator: Operator) -> bool:
    """Return whether layers of an operator can have a lowered form, by themselves or after another layer."""
    if (module := _MODULES.get(operator.type)) is not None:
        import_module(f"irexec.runtime.lowering.{module}")
    return operator in _lowerings or can_follow(operator)


def lowered(step: Step, site: Site) -> Lowered | None:
    """Return the lowered form of a step; None if the step keeps its kernel."""
    if (module := _MODULES.get(step.operator.type)) is None:
        return None
    import_module(f"irexec.runtime.lowering.{module}")
    lower = _lowerings.get(step.operator)
    form = None if lower is None else lower(site)
    return form if form is None or not step.is_sure or form.takes(site.types) else None
