"""The table of lowerings: the function that makes the lowered form of a layer, by operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from irexec.engine.step import Step
from irexec.graph.model import Node
from irexec.lowering.follow import Lead, Link, can_follow
from irexec.lowering.grids import Grid
from irexec.ops.declare.operator import NodeTypes, Operator
from irexec.ops.declare.prepared import Prepared
from irexec.types import Array, TensorType

T = TypeVar("T")

# The module with the lowerings of each operator type. Modules are imported when a model has such a layer.
_MODULES = {
    **dict.fromkeys(("Convolution", "GroupConvolution"), "convolution"),
    **dict.fromkeys(("AvgPool", "MaxPool"), "pooling"),
    **dict.fromkeys(("GRUSequence", "LSTMSequence"), "sequence"),
    **dict.fromkeys(("MVN", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "SoftMax", "Softmax"), "rows"),
    "Concat": "concat",
    "MatMul": "matmul",
    "ScaledDotProductAttention": "scaled_dot_product_attention",
}


class Site(NamedTuple):
    """A layer to be lowered: its static types and constants, its call in the plan, what its model has prepared, its
    node, and the grids on which the values of its inputs lie.
    """

    types: NodeTypes
    kernel: Callable[..., Any]
    prepared: Prepared
    node: Node
    grids: Sequence[Grid | None]


class Lowered:
    """The lowered form of a layer: called as its kernel is, with `out` where the kernel takes it.

    Where compiled code does not take the arrays of a call, the lowered form calls the kernel. After compiled code did
    all the work on the arrays, the lowered form reports it by `capture.captured_all`.
    """

    __call__: Callable[..., Any]

    def leads(self, links: Sequence[Link], result: TensorType) -> tuple[int, Lead] | None:
        """Return how many of the elementwise layers that follow this layer can be computed with it, and the call that
        computes them; None if there are none.
        """
        return None


Lower = Callable[..., Lowered | None]


class _Bound(NamedTuple):
    function: Lower
    binding: Callable[[dict[str, Any]], dict[str, Any]]

    def __call__(self, site: Site) -> Lowered | None:
        return self.function(site, **self.binding(site.types.attributes))


_lowerings: dict[Operator, _Bound] = {}


def lowers(*operators: Operator) -> Callable[[Lower], Lower]:
    """Declare the lowering of operators: `f(site, *, attributes)` → the lowered form, or None if there is none for
    these types, constants and attributes. Attributes and groups are requested by parameter name.
    """

    def declare(function: Lower) -> Lower:
        for operator in operators:
            _lowerings[operator] = _Bound(function, operator.binding(function, "lowering", ports=1))
        return function

    return declare


def has_lowering(operator: Operator) -> bool:
    """Return whether layers of an operator can have a lowered form, by themselves or behind another layer."""
    if (module := _MODULES.get(operator.type)) is not None:
        import_module(f"irexec.lowering.{module}")
    import_module("irexec.lowering.followers")
    return operator in _lowerings or can_follow(operator)


def lowered(
    step: Step,
    constants: tuple[Array | None, ...],
    used: tuple[bool, ...],
    prepared: Prepared,
    grids: Sequence[Grid | None],
) -> Lowered | None:
    """Return the lowered form of a step; None if it has none. `used` flags the outputs that are read."""
    if (module := _MODULES.get(step.operator.type)) is None:
        return None
    import_module(f"irexec.lowering.{module}")
    lower = _lowerings.get(step.operator)
    types = NodeTypes(step.given, step.types, constants, step.node.all_attributes, used)
    return None if lower is None else lower(Site(types, step.call, prepared, step.node, grids))
