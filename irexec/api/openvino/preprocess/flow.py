"""The flow through the steps: the values of an input or output, with layout, colours, and the model's requirements."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from irexec.api.openvino.layout import Layout, as_layout
from irexec.api.openvino.opsets import opset
from irexec.api.openvino.preprocess.formats import ColorFormat
from irexec.api.opsets.computed import value_of
from irexec.api.opsets.namespace import Namespace
from irexec.core.types import ElementType, PartialShape
from irexec.model.graph.model import Value


class ModelInfo:
    """The caller's description of the model's side of an input or output."""

    def __init__(self) -> None:
        self.layout = Layout()

    def set_layout(self, layout: Any) -> Self:
        self.layout = as_layout(layout)
        return self


@dataclass
class Flow:
    """The current values (several if the image is in planes), their properties, and the model's side."""

    values: list[Value]
    layout: Layout
    colors: ColorFormat = ColorFormat.UNDEFINED
    wanted_type: ElementType | None = None
    wanted_layout: Layout = field(default_factory=Layout)
    wanted_size: tuple[Any, Any] | None = None

    @property
    def value(self) -> Value:
        """The only value. Raises RuntimeError if there are planes."""
        if len(self.values) != 1:
            raise RuntimeError(f"the image has {len(self.values)} planes; combine them with convert_color first")
        return self.values[0]

    def become(self, made: Any) -> None:
        """Make the result of a step the current value. Raises RuntimeError if it is not a node or an output."""
        found = value_of(made)
        if found is None:
            raise RuntimeError(f"a step needs a node or an output, not {made!r}")
        self.values = [found]

    def describe(self, *, colors: bool = True) -> str:
        """Return the current shape, layout, element type and colours, as OpenVINO prints them."""
        return described(self.values[0].type.shape, self.layout, self.values[0].element_type) + (
            f", {self.colors.description}" if colors and self.colors is not ColorFormat.UNDEFINED else ""
        )


def described(shape: PartialShape, layout: Layout, kind: ElementType) -> str:
    """Return a shape, a layout and an element type as text."""
    return f"{shape}, {'<no layout>' if layout.empty else layout}, {kind}"


def ops() -> Namespace:
    """Return the operators from which steps are built."""
    return opset("opset15")


@dataclass
class Step:
    """One step: its description, its effect on the flow, and the layout or order of axes to which it transposes."""

    text: str
    apply: Callable[[Flow], None]
    target: Layout | list[int] | None = None


def convert_type(flow: Flow, kind: ElementType | None) -> None:
    """Convert to an element type, by default the model's."""
    kind = kind or flow.wanted_type
    if kind is None:
        raise RuntimeError("Can't convert to dynamic/unknown element type: set the element type of the output's tensor")
    if flow.value.element_type is not kind:
        flow.become(ops().convert(flow.value, kind))


def convert_layout(flow: Flow, layout: Layout | None, order: list[int] | None = None) -> None:
    """Transpose to a layout, by default the model's, or by an order of axes. Raises RuntimeError."""
    if order is not None:
        if not is_order(order):
            raise RuntimeError(f"Convert layout: {order} is not an order of the axes 0 to {len(order) - 1}")
        flow.become(ops().transpose(flow.value, order))
        flow.layout = transposed(flow.layout, order)
        return
    target = flow.wanted_layout if layout is None else layout
    if target.empty or flow.layout.empty or target == flow.layout:
        flow.layout = flow.layout if target.empty else target
        return
    if missing := left_out(flow.layout, target):
        # A tensor of HWC for a model of NCHW: the axis N has one element.
        flow.become(ops().unsqueeze(flow.value, list(range(len(missing)))))
        flow.layout = Layout(f"[{','.join((*missing, *(flow.layout.names or ())))}]")
    order = axes_between(flow.layout, target, flow.value)
    if order != sorted(order):
        flow.become(ops().transpose(flow.value, order))
    flow.layout = target


def is_order(order: list[int]) -> bool:
    """Return whether a list contains each of the first axes once."""
    return sorted(order) == list(range(len(order)))


def transposed(layout: Layout, order: list[int]) -> Layout:
    """Return the layout after a transposition; an empty one if `layout` does not name all axes."""
    names = layout.names or ()
    if "..." in names or len(names) != len(order):
        return Layout()
    return Layout(f"[{','.join(names[axis] for axis in order)}]")


def left_out(layout: Layout, full: Layout) -> list[str]:
    """Return the axis names of `full` that `layout` lacks, if `layout` has no other names and both name every axis."""
    names, wanted = layout.names or (), full.names or ()
    if {"...", "?"} & {*names, *wanted} or not set(names) < set(wanted):
        return []
    return [name for name in wanted if name not in names]


def axes_between(source: Layout, target: Layout, value: Value | None = None) -> list[int]:
    """Return the position in the source of each axis of the target layout. The axes that only one of the layouts names
    are those that the other leaves unnamed, in order. Raises RuntimeError for layouts that do not match."""
    rank = len(value.type.shape) if value is not None and value.type.rank is not None else None
    mine, theirs = expanded(source, rank), expanded(target, rank)
    named, wanted = {*mine} - {None}, {*theirs} - {None}
    if len(mine) != len(theirs) or not (named <= wanted or wanted <= named):
        raise RuntimeError(f"the layout {source} cannot be converted to {target}")
    rest = (axis for axis, name in enumerate(mine) if name not in wanted)
    return [mine.index(name) if name in named else next(rest) for name in theirs]


def expanded(layout: Layout, rank: int | None) -> list[str | None]:
    """Return the name of every axis, None for those that `...` or `?` stands for."""
    names = list(layout.names or ())
    axes: list[str | None] = [None if name == "?" else name for name in names]
    if "..." in names:
        at = names.index("...")
        axes[at : at + 1] = [None] * max(0, (rank or 0) - len(names) + 1)
    return axes
