"""Programs about runtime information, names, shapes as texts, and exceptions."""

from __future__ import annotations

import importlib
import io
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from support.openvino_programs.registry import F32, X, perceptron, program, saved


def raised(call: Any) -> list[bool] | None:
    """Return which of the usual kinds of exceptions a call raises; None if it raises none."""
    try:
        call()
    except Exception as error:
        return [isinstance(error, kind) for kind in (TypeError, RuntimeError)]
    return None


@program
def runtime_information_comes_in_boxes(ov: ModuleType) -> Any:
    model = perceptron(ov)
    model.set_rt_info("cat dog", ["model_info", "labels"])
    model.set_rt_info("YES", ["model_info", "reverse"])
    model.set_rt_info(5, "number")
    labels, number = model.get_rt_info(["model_info", "labels"]), model.get_rt_info("number")
    told = [labels.astype(str), labels.aslist(str), labels.value, number.astype(int), number.astype(str), number == 5]
    told += [model.get_rt_info(["model_info", "reverse"]).astype(bool), model.has_rt_info("absent")]
    everything = model.get_rt_info()
    return [*told, sorted(everything), type(everything["number"]).__name__, len(everything), "number" in everything]


@program
def runtime_information_of_layers_and_ports(ov: ModuleType) -> Any:
    node = perceptron(ov).get_ordered_ops()[1]
    node.get_rt_info()["note"] = "kept"
    node.output(0).get_rt_info()["count"] = 3
    told = [[key, type(value).__name__, value.value] for key, value in node.get_rt_info().items()]
    del node.get_rt_info()["note"]
    return [told, node.output(0).get_rt_info()["count"].astype(int), len(node.get_rt_info())]


@program
def boxes_as_texts_numbers_and_lists(ov: ModuleType) -> Any:
    values = ["a b", 5, 2.5, True, [1, 2], ["a", "b"], {"k": 1}]
    told: list[Any] = [ov.OVAny(value).astype(str) for value in values]
    told += [ov.OVAny("1 2 3").aslist(int), ov.OVAny([1, 2]).aslist(int), ov.OVAny("7").astype(int)]
    wrong = [lambda: ov.OVAny("x").astype(int), lambda: ov.OVAny(5).astype(bool), lambda: ov.OVAny([1]).astype(int)]
    return told + [raised(call) for call in wrong]


@program
def what_is_not_there(ov: ModuleType) -> Any:
    model = perceptron(ov)
    compiled = ov.compile_model(model, "CPU", F32)
    request = compiled.create_infer_request()
    calls = [
        lambda: compiled.input(3),
        lambda: compiled.output("nothing"),
        lambda: model.input("nothing"),
        lambda: request.get_output_tensor(5),
        lambda: request.set_input_tensors({7: ov.Tensor(X)}),
        lambda: request.infer({0.5: X}),
        lambda: compiled({0.5: X}),
        lambda: compiled(object()),
        lambda: ov.PartialShape("a,b"),
        lambda: ov.PartialShape([-1, 2]).to_shape(),
        lambda: ov.Dimension(-1).get_length(),
        lambda: model.get_rt_info("nothing"),
    ]
    return [raised(call) for call in calls]


@program
def shapes_as_texts(ov: ModuleType) -> Any:
    shapes = [ov.PartialShape(text) for text in ("1,?,2..4", "...", "[]")]
    return [[str(shape), [str(extent) for extent in shape]] for shape in shapes]


@program
def a_model_from_streams(ov: ModuleType) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(saved(ov, perceptron(ov), folder))
        streams = [io.BytesIO(path.with_suffix(suffix).read_bytes()) for suffix in (".xml", ".bin")]
    return ov.compile_model(ov.Core().read_model(*streams), "CPU", F32)([X])[0]


@program
def arrays_are_copied_unless_they_are_shared(ov: ModuleType) -> Any:
    compiled = ov.compile_model(perceptron(ov, 3), "CPU", F32)
    x = X.copy()
    told = []
    for share in (True, False):
        request = compiled.create_infer_request()
        first = request.infer([x], share_inputs=share)[0]
        told += [np.shares_memory(request.get_input_tensor().data, x), first]
    request.start_async([x])
    x[:] = 7
    request.wait()
    return [*told, request.results[0], len(request.results.names())]


@program
def strings_as_bytes(ov: ModuleType) -> Any:
    x = ov.opset15.parameter([-1], ov.Type.string, "x")
    compiled = ov.compile_model(ov.Model([ov.opset15.result(x)], [x]), "CPU")
    results = [compiled(np.array(["a", "déf"]), decode_strings=decode)[0] for decode in (True, False)]
    request = compiled.create_infer_request()
    results.append(request.infer([np.array(["", "xyz"])], decode_strings=False)[0])
    return [[array.dtype.kind, array.tolist()] for array in results]


@program
def values_of_properties(ov: ModuleType) -> Any:
    props = importlib.import_module(f"{ov.__name__}.properties")
    importlib.import_module(f"{ov.__name__}.properties.intel_gpu.hint")
    importlib.import_module(f"{ov.__name__}.properties.intel_npu")
    members = [
        props.device.Type.DISCRETE, props.CompatibilityCheck.SUPPORTED, props.intel_auto.SchedulePolicy.DEFAULT,
        props.intel_cpu.TbbPartitioner.AUTO, props.intel_npu.CompilerType.DRIVER,
        props.intel_gpu.hint.ThrottleLevel.HIGH,
    ]  # fmt: skip
    found: list[Any] = [[member.name, member.value, repr(member)] for member in members]
    found += [props.device.Capability.EXPORT_IMPORT, props.intel_gpu.MemoryType.surface]
    found += [props.streams.Num(5).to_integer(), props.streams.Num.AUTO.to_integer(), str(props.streams.num)]
    name, value = props.device.priorities("CPU", "GPU")
    core = ov.Core()
    core.set_property("CPU", props.streams.num(props.streams.Num(2)))
    return [*found, name, value.value.rstrip(","), core.get_property("CPU", props.streams.num)]


@program
def a_replacement_gets_runtime_information(ov: ModuleType) -> Any:
    found: list[Any] = []
    for replace in (
        lambda old, new: ov.utils.replace_output_update_name(old.output(0), new.output(0)),
        lambda old, new: ov.utils.replace_node(old, new),
        lambda old, new: old.output(0).replace(new.output(0)),
    ):
        x = ov.opset13.parameter([2], np.float32, name="x")
        new = ov.opset13.negative(x)
        old = ov.opset13.relu(new)
        model = ov.Model([ov.opset13.tanh(old)], [x], "m")
        for name, part in (("old", old), ("new", new), ("old", old.output(0)), ("new", new.output(0))):
            part.get_rt_info()[name] = name
            part.get_rt_info()["both"] = name
        replace(old, new)
        for part in (new, new.output(0)):
            found.append(sorted((key, value.value) for key, value in part.get_rt_info().items()))
        found.append(len(model.get_ops()))
    return found
