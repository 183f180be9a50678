"""PrePostProcessor: steps before inputs and after outputs, and their insertion into the model."""

from __future__ import annotations

from typing import Any

from irexec.api.openvino.editing import changed, checked_model, connect, order, redirect
from irexec.api.openvino.layout import give_layout
from irexec.api.openvino.model import Model
from irexec.api.openvino.named_ports import port_named
from irexec.api.openvino.preprocess.flow import described
from irexec.api.openvino.preprocess.formats import OF_MODELS
from irexec.api.openvino.preprocess.inputs import InputInfo
from irexec.api.openvino.preprocess.outputs import OutputInfo
from irexec.core.arguments import expected
from irexec.core.structure import PARAMETER


class PrePostProcessor:
    """Steps before and after a model. `build` inserts them into the model and returns it."""

    def __init__(self, model: Model) -> None:
        checked_model(model)
        self._model = model
        self._inputs = [InputInfo(parameter) for parameter in model.parameters]
        self._outputs = [OutputInfo(result) for result in model.results]

    def input(self, key: Any = None, *, input_index: int | None = None, tensor_name: str | None = None) -> InputInfo:
        """Return the only input, or one by its position or tensor name. Raises RuntimeError or IndexError."""
        key = next((given for given in (input_index, tensor_name) if given is not None), key)
        ports = self._model.inputs
        expected(key, (int, str, type(None)), "input()")
        return self._inputs[ports.index(port_named(ports, key, "Input"))]

    def output(self, key: Any = None, *, output_index: int | None = None, tensor_name: str | None = None) -> OutputInfo:
        """Return the only output, or one by its position or tensor name. Raises RuntimeError or IndexError."""
        key = next((given for given in (output_index, tensor_name) if given is not None), key)
        ports = self._model.outputs
        expected(key, (int, str, type(None)), "output()")
        return self._outputs[ports.index(port_named(ports, key, "Output"))]

    def build(self) -> Model:
        """Return the model with all steps inserted. Raises RuntimeError (IRError) for steps that are impossible."""
        # All nodes are created before anything is changed, so that an impossible step leaves the model unchanged. Each
        # input gets a new Parameter, with or without steps, as in OpenVINO.
        befores = [(info, *_run(info)) for info in self._inputs]
        for info, _, last in befores:
            made, wanted = last.value.type.shape, info.parameter.outputs[0].type.shape
            if not made.compatible(wanted):
                name = _name(info.parameter.outputs[0])
                raise RuntimeError(f"the steps before input {name} make the shape {made}, the model takes {wanted}")
        for info, first, last in befores:
            old = info.parameter
            redirect(old.outputs[0], last.value)
            at = self._model.parameters.index(old)
            self._model.parameters[at : at + 1] = [value.node for value in first]
        for output in self._outputs:
            if output.is_used:
                self._behind(output)
        changed(self._model)
        order(self._model)
        self._model.validate_nodes_and_infer_types()
        return self._model

    def _behind(self, output: OutputInfo) -> None:
        """Insert the steps after an output, which keeps its names."""
        result = output.result
        source = result.inputs[0]
        assert source is not None
        _, last = _run(output)
        if last.value is source:
            return
        names = set(result.outputs[0].names)
        connect(result, 0, last.value)
        last.value.names |= names
        if source.node.type != PARAMETER:
            source.names -= names
        give_layout(result, last.layout)

    def __str__(self) -> str:
        lines: list[str] = []
        try:
            self._describe(lines)
        except RuntimeError as error:
            lines.append(f"Error occurred: {error}")
        return "".join(f"{line}\n" for line in lines)

    def _describe(self, lines: list[str]) -> None:
        """Append the description of each changed input and output. Raises RuntimeError at an impossible step."""
        for info, port in zip(self._inputs, self._model.inputs, strict=True):
            flow = info.begin()
            if not info.is_changed(flow):
                continue
            lines.append(f"Input {_name(port)}{info.remarks()}:")
            if len(flow.values) == 1:
                lines.append(f"    User's input tensor: {flow.describe(colors=False)}")
            else:
                lines.append(f"    {len(flow.values)} user's tensors expected for each plane:")
                for index, value in enumerate(flow.values):
                    name = f"{min(value.names)} " if value.names else ""
                    shown = described(value.type.shape, flow.layout, value.element_type)
                    lines.append(f"       {index}: {name}{shown}")
            expected_tensor = described(port.type.shape, flow.wanted_layout, port.element_type)
            lines.append(f"    Model's expected tensor: {expected_tensor}")
            _steps(lines, info, flow, "Pre-processing", "Implicit pre-processing")
        for result, port in zip(self._outputs, self._model.outputs, strict=True):
            if not result.is_used:
                continue
            lines.append(f"Output {_name(port)}:")
            flow = result.begin()
            lines.append(f"    Model's data tensor: {flow.describe()}")
            _steps(lines, result, flow, "Post-processing", "Post-processing implicit")
            lines.append(f"    User's output tensor: {flow.describe()}")

    def __repr__(self) -> str:
        return f"<PrePostProcessor: {self}>"


def _name(port: Any) -> str:
    return f'"{min(port.names)}"' if port.names else ""


def _run(info: InputInfo | OutputInfo) -> tuple[Any, Any]:
    """Return the initial values of the flow, and the flow after all steps."""
    flow = info.begin()
    first = flow.values
    for step in info.steps:
        step.apply(flow)
    if flow.colors not in OF_MODELS:
        raise RuntimeError(
            "model shall have RGB/BGR/GRAY color format. Consider add 'convert_color' preprocessing operation to "
            f"convert current color format '{flow.colors.name}' to RGB/BGR/GRAY"
        )
    for step in info.implicit(flow):
        step.apply(flow)
    return first, flow


def _steps(lines: list[str], info: InputInfo | OutputInfo, flow: Any, title: str, implicit: str) -> None:
    """Append a line per step, with its input and output."""
    if info.steps:
        lines.append(f"    {title} steps ({len(info.steps)}):")
    for step in info.steps:
        lines.append(_line(step, flow))
    if extra := info.implicit(flow):
        lines.append(f"    {implicit} steps ({len(extra)}):")
    for step in extra:
        lines.append(_line(step, flow))


def _line(step: Any, flow: Any) -> str:
    before = flow.describe()
    step.apply(flow)
    return f"      {step.text}: ({before}) -> ({flow.describe()})"
