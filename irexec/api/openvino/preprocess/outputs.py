"""One output of a PrePostProcessor: the model's side, the steps, and the description of the caller's tensor."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.layout import Layout, as_layout, layout_of
from irexec.api.openvino.preprocess.flow import Flow, ModelInfo, Step, convert_layout, convert_type
from irexec.api.openvino.preprocess.steps import PostProcessSteps
from irexec.api.opsets.element_types import element_type_of
from irexec.core.types import ElementType
from irexec.model.graph.model import Node


class OutputTensorInfo:
    """The description of the tensor that the caller wants."""

    def __init__(self) -> None:
        self.element_type: ElementType | None = None
        self.layout = Layout()

    def set_element_type(self, type: Any) -> OutputTensorInfo:
        self.element_type = element_type_of(type)
        return self

    def set_layout(self, layout: Any) -> OutputTensorInfo:
        self.layout = as_layout(layout)
        return self


class OutputModelInfo(ModelInfo):
    """The properties of the model's output that the model itself does not state."""


class OutputInfo:
    """One output: the model's side, the steps, the tensor."""

    def __init__(self, result: Node) -> None:
        self.result = result
        self._tensor, self._steps, self._model = OutputTensorInfo(), PostProcessSteps(), OutputModelInfo()

    def tensor(self) -> OutputTensorInfo:
        return self._tensor

    def postprocess(self) -> PostProcessSteps:
        return self._steps

    def model(self) -> OutputModelInfo:
        return self._model

    @property
    def is_used(self) -> bool:
        """Whether the caller's tensor or the steps differ from the model's output."""
        flow = self.begin()
        return bool(self.steps or self.implicit(flow))

    @property
    def steps(self) -> list[Step]:
        return self._steps.steps

    def begin(self) -> Flow:
        """Return the initial flow: the model's output."""
        value = self.result.inputs[0]
        assert value is not None
        layout = layout_of(self.result) if self._model.layout.empty else self._model.layout
        return Flow([value], layout, wanted_type=self._tensor.element_type, wanted_layout=self._tensor.layout)

    def implicit(self, flow: Flow) -> list[Step]:
        """Return the conversions that are needed in addition to the caller's steps."""
        steps = []
        if flow.wanted_type not in (None, flow.value.element_type):
            steps.append(Step(f"convert type ({flow.wanted_type})", lambda flow: convert_type(flow, None)))
        if not flow.wanted_layout.empty and flow.layout != flow.wanted_layout:
            steps.append(Step(f"convert layout {flow.wanted_layout}", lambda flow: convert_layout(flow, None)))
        return steps
