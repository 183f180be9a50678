"""One input of a PrePostProcessor: the description of its tensor, the steps, and the model's side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from irexec.api.openvino.layout import Layout, as_layout, check_fit, give_layout, layout_of
from irexec.api.openvino.node import Node
from irexec.api.openvino.preprocess.flow import (
    Flow,
    ModelInfo,
    Step,
    axes_between,
    convert_layout,
    convert_type,
    is_order,
    left_out,
    transposed,
)
from irexec.api.openvino.preprocess.formats import CHANNELS, PLANES, SINGLE_PLANE, ColorFormat
from irexec.api.openvino.preprocess.steps import PreProcessSteps
from irexec.api.openvino.shapes import PartialShape, partial_shape
from irexec.api.openvino.tensor import Tensor
from irexec.api.opsets.element_types import element_type_of
from irexec.api.opsets.nodes import parameter_node
from irexec.core.arguments import expected
from irexec.core.types import ANY_DIMENSION, Dimension, ElementType, as_dimension
from irexec.model.graph import model as graph
from irexec.model.graph.runtime_info import RuntimeAttribute


class InputTensorInfo:
    """The description of the tensor that the caller will supply."""

    def __init__(self) -> None:
        self.element_type: ElementType | None = None
        self.layout = Layout()
        self.shape: PartialShape | None = None
        self.spatial: tuple[Any, Any] | None = None
        self.colors = ColorFormat.UNDEFINED
        self.sub_names: list[str] = []
        self.memory_type: str | None = None

    def set_element_type(self, type: Any) -> InputTensorInfo:
        self.element_type = element_type_of(type)
        return self

    def set_layout(self, layout: Any) -> InputTensorInfo:
        self.layout = as_layout(layout)
        return self

    def set_shape(self, shape: Any) -> InputTensorInfo:
        """Set the shape. Raises RuntimeError if a size of the image was set."""
        self._check_alone(self.spatial)
        self.shape = PartialShape(shape)
        return self

    def set_spatial_static_shape(self, height: int, width: int) -> InputTensorInfo:
        """Set the size of the image. Raises RuntimeError if a shape was set."""
        self._check_alone(self.shape)
        self.spatial = (Dimension(height), Dimension(width))
        return self

    def set_spatial_dynamic_shape(self) -> InputTensorInfo:
        """Allow any size of the image. Raises RuntimeError if a shape was set."""
        self._check_alone(self.shape)
        self.spatial = (ANY_DIMENSION, ANY_DIMENSION)
        return self

    def set_color_format(self, format: ColorFormat, sub_names: Sequence[str] = ()) -> InputTensorInfo:
        """Set the meaning of the channels; formats of several planes are several inputs, named by `sub_names`."""
        planes = PLANES.get(expected(format, ColorFormat, "set_color_format()"), ())
        if sub_names and len(sub_names) != len(planes):
            raise RuntimeError(f"{format.name} has {len(planes)} planes; {len(sub_names)} names were given")
        self.colors, self.sub_names = format, list(sub_names)
        return self

    def set_memory_type(self, memory_type: str) -> InputTensorInfo:
        """Store the memory type, for devices with their own memory, in the input's rt_info."""
        self.memory_type = memory_type
        return self

    def set_from(self, tensor: Any) -> InputTensorInfo:
        """Set element type and shape from a tensor or array. Raises RuntimeError if a size of the image was set."""
        expected(tensor, (Tensor, np.ndarray), "set_from()")
        self._check_alone(self.spatial)
        given = tensor if isinstance(tensor, Tensor) else Tensor(np.ascontiguousarray(tensor))
        self.element_type, self.shape = given.element_type, PartialShape(given.shape)
        return self

    @staticmethod
    def _check_alone(other: Any) -> None:
        if other is not None:
            raise RuntimeError(
                "'set_spatial_static_shape', 'set_spatial_dynamic_shape', 'set_shape/set_from' shall not be used "
                "together"
            )


class InputModelInfo(ModelInfo):
    """The caller's description of the model's input: its layout."""


class InputInfo:
    """One input: the tensor, the steps, the model's side."""

    def __init__(self, parameter: graph.Node) -> None:
        self.parameter = parameter
        self._tensor, self._steps, self._model = InputTensorInfo(), PreProcessSteps(), InputModelInfo()

    def tensor(self) -> InputTensorInfo:
        return self._tensor

    def preprocess(self) -> PreProcessSteps:
        return self._steps

    def model(self) -> InputModelInfo:
        return self._model

    def is_changed(self, flow: Flow) -> bool:
        """Return whether the caller's tensor or the steps differ from the model's input."""
        wanted = self.parameter.outputs[0].type
        return (
            len(flow.values) > 1
            or flow.value.type.shape != wanted.shape
            or flow.value.element_type is not wanted.element_type
            or layout_of(self.parameter) != flow.wanted_layout
            or self._tensor.memory_type is not None
            or bool(self.steps)
        )

    def remarks(self) -> str:
        """Return the colours and the type of memory that the caller has set."""
        colors, memory = self._tensor.colors, self._tensor.memory_type
        shown = "" if colors is ColorFormat.UNDEFINED else f" (color {colors.description})"
        return shown if memory is None else f"{shown} memory type={memory}"

    def begin(self) -> Flow:
        """Return the initial flow: new Parameters that fit the caller's tensor."""
        value, tensor = self.parameter.outputs[0], self._tensor
        model_layout = self._model_layout()
        check_fit(model_layout, value.type.shape)
        layout = self._layout_before_steps(model_layout) if tensor.layout.empty else tensor.layout
        is_video = tensor.colors in PLANES or tensor.colors in SINGLE_PLANE
        if tensor.layout.empty and tensor.colors is not ColorFormat.UNDEFINED:
            layout = Layout("NHWC")
        if model_layout.empty:
            model_layout = self._layout_after_steps(layout)
            check_fit(model_layout, value.type.shape)
        if tensor.shape is None and not is_video and not left_out(layout, model_layout):
            check_fit(layout, value.type.shape)
        kind = tensor.element_type or value.element_type
        shape = PartialShape(tensor.shape) if tensor.shape is not None else self._shape(layout, model_layout)
        if tensor.colors in CHANNELS and layout.has_name("C"):
            shape[layout.get_index_by_name("C")] = CHANNELS[tensor.colors]
        size = None
        if model_layout.has_name("H") and model_layout.has_name("W") and value.type.rank is not None:
            size = tuple(value.type.shape[model_layout.get_index_by_name(name)] for name in "HW")
        parameters = self._parameters(shape, kind, layout)
        return Flow(
            [p.outputs[0] for p in parameters],
            layout,
            tensor.colors,
            value.element_type,
            model_layout,
            size,  # type: ignore[arg-type]
        )

    def implicit(self, flow: Flow) -> list[Step]:
        """Return the conversions that are needed in addition to the caller's steps."""
        steps = []
        if flow.value.element_type is not flow.wanted_type:
            steps.append(Step(f"convert type ({flow.wanted_type})", lambda flow: convert_type(flow, None)))
        if not flow.wanted_layout.empty and not flow.layout.empty and flow.layout != flow.wanted_layout:
            steps.append(Step(f"convert layout {flow.wanted_layout}", lambda flow: convert_layout(flow, None)))
        return steps

    @property
    def steps(self) -> list[Step]:
        return self._steps.steps

    def _model_layout(self) -> Layout:
        return layout_of(self.parameter) if self._model.layout.empty else self._model.layout

    def _layout_after_steps(self, layout: Layout) -> Layout:
        """Return the layout after the steps."""
        for step in self._steps.steps:
            if isinstance(step.target, Layout):
                layout = step.target
            elif step.target is not None and is_order(step.target):
                layout = transposed(layout, step.target)
        return layout

    def _layout_before_steps(self, layout: Layout) -> Layout:
        """Return the layout that the steps turn into the given layout."""
        for order in reversed(self._orders):
            layout = transposed(layout, [order.index(axis) for axis in range(len(order))])
        return layout

    @property
    def _orders(self) -> list[list[int]]:
        targets = [step.target for step in self._steps.steps]
        return [target for target in targets if isinstance(target, list) and is_order(target)]

    def _shape(self, layout: Layout, model_layout: Layout) -> PartialShape:
        """Return the model's shape in the tensor's layout, with the image size that the caller has set."""
        value = self.parameter.outputs[0]
        shape = PartialShape(value.type.shape)
        if value.type.rank is None:
            return shape
        if not layout.empty and not model_layout.empty and layout != model_layout:
            shape = PartialShape([value.type.shape[axis] for axis in self._axes(model_layout, layout)])
        elif layout.empty:
            for order in self._orders:
                shape = PartialShape([shape[order.index(axis)] for axis in range(len(order))])
        if self._tensor.spatial is not None:
            for name, extent in zip("HW", self._tensor.spatial, strict=True):
                shape[layout.get_index_by_name(name)] = extent
        return shape

    def _axes(self, source: Layout, target: Layout) -> list[int]:
        """Return the axis in `source` for each axis of `target`, which may lack axes."""
        if left_out(target, source):
            return [source.get_index_by_name(name) for name in target.names or ()]
        return axes_between(source, target, self.parameter.outputs[0])

    def _parameters(self, shape: PartialShape, kind: ElementType, layout: Layout) -> list[Node]:
        """Return one Parameter, or one per plane, with the names of the previous Parameter."""
        tensor, old = self._tensor, self.parameter
        planes = PLANES.get(tensor.colors)
        if planes is None:
            if tensor.colors in SINGLE_PLANE and tensor.shape is None:
                height = layout.get_index_by_name("H")
                shape[height] = as_dimension(shape[height]) * 3 // 2
                shape[layout.get_index_by_name("C")] = 1
            made = [parameter_node(Node, partial_shape(shape), kind, old.given_name)]
            made[0].outputs[0].names = set(old.outputs[0].names)
        else:
            names = tensor.sub_names or [name for name, _, _ in planes]
            made = []
            for name, (_, channels, part) in zip(names, planes, strict=True):
                plane = PartialShape(shape)
                plane[layout.get_index_by_name("C")] = channels
                for axis in (layout.get_index_by_name("H"), layout.get_index_by_name("W")):
                    plane[axis] = as_dimension(plane[axis]) // part
                own = f"{old.given_name}/{name}" if tensor.sub_names else ""
                made.append(parameter_node(Node, partial_shape(plane), kind, own))
                if tensor.sub_names:
                    made[-1].outputs[0].names = {f"{known}/{name}" for known in old.outputs[0].names}
        for parameter in made:
            parameter.rt_info = dict(old.rt_info)
            give_layout(parameter, layout)
            if tensor.memory_type:
                attribute = RuntimeAttribute("memory_type", "0", {"value": tensor.memory_type})
                parameter.outputs[0].rt_info[attribute.key] = attribute
        return made
