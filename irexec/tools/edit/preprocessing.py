"""Preprocessing as a part of the model: layouts, channels, means, scales and element types, by a PrePostProcessor."""

from __future__ import annotations

from collections.abc import Sequence

from irexec.api.openvino.model import Model
from irexec.api.openvino.preprocess.processor import PrePostProcessor
from irexec.core.diagnostics import IRError
from irexec.core.types import F32, ElementType
from irexec.tools.edit.changes import Numbers, Wanted, impossible, input_named


def preprocess(model: Model, wanted: Wanted) -> Model:
    """Return the model with preprocessing before its inputs: reversed channels first, then means, then scales, as the
    former Model Optimizer did. Raises IRError.
    """
    processor = PrePostProcessor(model)
    steps = by_input(model, wanted)
    for number, step in steps.items():
        info, kind = processor.input(number), model.parameters[number].outputs[0].element_type
        tensor_layout, model_layout = step.layouts
        if tensor_layout:
            info.tensor().set_layout(tensor_layout)
        if model_layout:
            info.model().set_layout(model_layout)
        if step.kind is not None:
            info.tensor().set_element_type(step.kind)
        if step.reverse:
            info.preprocess().reverse_channels()
        if step.mean is not None or step.scale is not None:
            _check_channels(model, number, step)
            if step.kind is not None and not step.kind.is_real:
                info.preprocess().convert_element_type(kind if kind.is_real else F32)
            if step.mean is not None:
                info.preprocess().mean(step.mean)
            if step.scale is not None:
                info.preprocess().scale(step.scale)
    for name, text in wanted.precisions.items():
        if (output := _output_named(model, name)) is not None:
            processor.output(output).tensor().set_element_type(_kind(model, name, text))
    try:
        return processor.build()
    except IRError:
        raise
    except (RuntimeError, ValueError) as error:
        impossible(model, "U004", f"the preprocessing is impossible: {error}", "--layout INPUT=NHWC names the axes")


class Steps:
    """The preprocessing of one input. `layouts`: those of the caller's tensor and of the model; empty if not given."""

    def __init__(self) -> None:
        self.layouts = ("", "")
        self.mean: Numbers | None = None
        self.scale: Numbers | None = None
        self.reverse = False
        self.kind: ElementType | None = None


def _check_channels(model: Model, number: int, step: Steps) -> None:
    """Report numbers of means and scales that are not those of the channels. Raises IRError."""
    node, layout = model.parameters[number], step.layouts[1]
    shape = node.outputs[0].type.shape
    if "C" not in layout or "." in layout or shape.rank != len(layout):
        return
    channels = shape[layout.index("C")]
    for option, numbers in (("--mean", step.mean), ("--scale", step.scale)):
        if isinstance(numbers, Sequence) and len(numbers) > 1 and not channels.contains(len(numbers)):
            name, hint = node.friendly_name, "--layout INPUT=NHWC->NCHW: the first is the caller's layout"
            given = f"{option} {name}: {len(numbers)} numbers, but {name} {shape}"
            impossible(model, "U004", f"{given} in the layout {layout} has {channels} channels", hint)


def by_input(model: Model, wanted: Wanted) -> dict[int, Steps]:
    """Return the steps of each input that has some, by its position. Raises IRError."""
    found: dict[int, Steps] = {}

    def of(name: str, option: str) -> Steps:
        return found.setdefault(input_named(model, name, option), Steps())

    for name, text in wanted.layouts.items():
        source, arrow, target = text.upper().replace(" ", "").partition("->")
        of(name, "--layout").layouts = (source, target) if arrow else ("", source)
    for name in wanted.reverse_channels:
        of(name, "--reverse-channels").reverse = True
    for name, numbers in wanted.means.items():
        of(name, "--mean").mean = numbers
    for name, numbers in wanted.scales.items():
        of(name, "--scale").scale = numbers
    for name, text in wanted.precisions.items():
        if _output_named(model, name) is None:
            of(name, "--precision").kind = _kind(model, name, text)
    return found


def _output_named(model: Model, name: str) -> int | None:
    for number, result in enumerate(model.results):
        source = result.inputs[0]
        if name in result.outputs[0].names or (
            source is not None and name in (source.node.friendly_name, *source.names)
        ):
            return number
    return None


def _kind(model: Model, name: str, text: str) -> ElementType:
    kind = ElementType.from_attribute(text) or ElementType.from_port(text)
    if kind is None or kind.is_dynamic:
        impossible(model, "U004", f"--precision {name}: {text!r} is not an element type")
    return kind
