"""Programs that prepare images and results before and after a model."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from support.openvino_programs.registry import F32, PICTURE, X, perceptron, program


@program
def a_picture_for_a_model(ov: ModuleType) -> Any:
    ops = ov.opset13
    x = ops.parameter([2, 3, 4, 6], np.float32, name="x")
    model = ov.Model([ops.reduce_mean(x, [2, 3], False)], [x], "seeing")
    steps = ov.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    steps.input().tensor().set_color_format(ov.preprocess.ColorFormat.BGR)
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().convert_element_type(ov.Type.f32).convert_color(ov.preprocess.ColorFormat.RGB)
    steps.input().preprocess().mean([1.0, 2.0, 3.0]).scale([2.0, 4.0, 8.0])
    model = steps.build()
    return [list(model.input(0).shape), ov.compile_model(model, "CPU", F32)([PICTURE])[0]]


@program
def a_picture_of_any_size(ov: ModuleType) -> Any:
    x = ov.opset13.parameter([1, 3, 6, 4], np.float32, name="x")
    steps = ov.preprocess.PrePostProcessor(ov.Model([ov.opset13.relu(x)], [x], "resizing"))
    tensor = steps.input().tensor().set_element_type(ov.Type.f32).set_layout(ov.Layout("NHWC"))
    tensor.set_spatial_dynamic_shape()
    steps.input().model().set_layout(ov.Layout("NCHW"))
    steps.input().preprocess().resize(ov.preprocess.ResizeAlgorithm.RESIZE_LINEAR)
    steps.output().tensor().set_layout(ov.Layout("NHWC"))
    steps.output().model().set_layout(ov.Layout("NCHW"))
    model = steps.build()
    picture = PICTURE[:1].astype(np.float32)
    said = [str(model.input(0).partial_shape), str(model.output(0).partial_shape)]
    return [*said, ov.compile_model(model, "CPU", F32)([picture])[0]]


@program
def a_video_frame(ov: ModuleType) -> Any:
    x = ov.opset13.parameter([1, 4, 4, 3], np.float32, name="x")
    steps = ov.preprocess.PrePostProcessor(ov.Model([ov.opset13.relu(x)], [x], "video"))
    tensor = steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC"))
    tensor.set_color_format(ov.preprocess.ColorFormat.NV12_SINGLE_PLANE)
    steps.input().preprocess().convert_color(ov.preprocess.ColorFormat.RGB)
    model = steps.build()
    frame = (np.arange(24) * 9 % 256).astype(np.uint8).reshape(1, 6, 4, 1)
    result = ov.compile_model(model, "CPU", F32)([frame])[0]
    # The last bit of a colour is rounded differently.
    return [list(model.input(0).shape), result // 8]


@program
def results_of_another_type(ov: ModuleType) -> Any:
    model = perceptron(ov, 3)
    steps = ov.preprocess.PrePostProcessor(model)
    steps.output(0).tensor().set_element_type(ov.Type.f16)
    compiled = ov.compile_model(steps.build(), "CPU", F32)
    return [compiled.output(0).element_type == ov.Type.f16, compiled([X])[0].astype(np.float32).round(2)]


@program
def a_batch_by_layout(ov: ModuleType) -> Any:
    model = perceptron(ov, 1)
    model.get_parameters()[0].set_layout(ov.Layout("NC"))
    ov.set_batch(model, 7)
    return [list(model.input(0).shape), list(model.output(0).shape)]


@program
def steps_that_do_not_fit_are_refused(ov: ModuleType) -> Any:
    x = ov.opset13.parameter([1, 4, 4, 3], np.float32, name="x")
    found = []
    for kind, step in (
        ("f32", lambda steps: steps.crop([0, 1, 1, 0], [1, 4, 4, 3])),
        ("f32", lambda steps: steps.pad([0, 1, 0, 0], [0, 1, 0, 0], 0.5, ov.preprocess.PaddingMode.CONSTANT)),
        ("u8", lambda steps: steps.pad([0, 0, 0, 0], [0, 0, 0, 0], 0.5, ov.preprocess.PaddingMode.CONSTANT)),
        ("u8", lambda steps: steps.mean(1.0)),
    ):
        model = ov.Model([ov.opset13.relu(x)], [x], "fitting")
        steps = ov.preprocess.PrePostProcessor(model)
        steps.input().tensor().set_element_type(getattr(ov.Type, kind))
        try:
            step(steps.input().preprocess())
            steps.build()
            found.append("built")
        except RuntimeError:
            found.append("refused")
        # The model is unchanged.
        found.append([len(model.get_ops()), list(model.input(0).shape)])
    return found


@program
def a_layout_of_fewer_axes_is_converted_to_that_of_a_model_without_layout(ov: ModuleType) -> Any:
    x = ov.opset13.parameter([1, 3, -1, -1], np.float32, name="x")
    model = ov.Model([ov.opset13.relu(x)], [x], "grown")
    steps = ov.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_layout(ov.Layout("NC"))
    steps.input().preprocess().convert_layout(ov.Layout("NCHW"))
    model = steps.build()
    shown = [port.get_partial_shape().to_string() for port in (model.input(0), model.output(0))]
    return [shown, ov.compile_model(model, "CPU", F32)(np.float32([[1, -1, 2]]))[0]]
