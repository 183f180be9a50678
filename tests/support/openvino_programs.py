"""Small programs as users write them for OpenVINO; each gets the module, OpenVINO or irexec, and says what it found."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

Program = Callable[[ModuleType], Any]
PROGRAMS: dict[str, Program] = {}
# OpenVINO computes in bf16 where the machine has it, unless it is told not to.
F32 = {"INFERENCE_PRECISION_HINT": "f32"}
X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
PICTURE = (np.arange(2 * 4 * 6 * 3) * 7 % 256).astype(np.uint8).reshape(2, 4, 6, 3)


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def perceptron(ov: ModuleType, batch: int = -1) -> Any:
    ops = ov.opset13
    x = ops.parameter([batch, 4], np.float32, name="x")
    weights = ops.constant(np.float32([[1, -1], [0.5, 2], [-1, 1], [3, 0]]), name="weights")
    hidden = ops.relu(ops.matmul(x, weights, False, False), name="hidden")
    return ov.Model([ops.softmax(hidden, 1, name="scores")], [x], "perceptron")


def saved(ov: ModuleType, model: Any, folder: str) -> Path:
    path = Path(folder, "model.xml")
    ov.save_model(model, path, compress_to_fp16=False)
    return path


@program
def read_reshape_compile_infer(ov: ModuleType) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        core = ov.Core()
        model = core.read_model(saved(ov, perceptron(ov), folder))
        model.reshape([3, 4])
        compiled = core.compile_model(model, "CPU", F32)
    assert list(compiled.input(0).shape) == [3, 4]
    return compiled([X])[compiled.output(0)]


@program
def compile_by_path_and_call_by_name(ov: ModuleType) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        compiled = ov.compile_model(saved(ov, perceptron(ov), folder), "CPU", F32)
    return compiled({"x": X})[0]


@program
def reshape_by_name_and_by_port(ov: ModuleType) -> Any:
    model = perceptron(ov)
    shapes = [model.input(0).partial_shape.is_dynamic]
    model.reshape({"x": [2, 4]})
    shapes.append(list(model.output(0).shape))
    model.reshape({model.input(0): ov.PartialShape([-1, 4])})
    shapes.append(model.is_dynamic())
    return shapes


@program
def ask_a_model_for_its_ports(ov: ModuleType) -> Any:
    model = perceptron(ov)
    port = model.input(0)
    said = [port.any_name, sorted(port.names), port.get_element_type() == ov.Type.f32, str(port.partial_shape)]
    said += [len(model.inputs), len(model.outputs)]
    return [*said, model.get_friendly_name(), port.get_node().get_type_name()]


@program
def walk_the_operators(ov: ModuleType) -> Any:
    return [(op.get_type_name(), op.get_output_size()) for op in perceptron(ov).get_ordered_ops()]


@program
def edit_with_replace(ov: ModuleType) -> Any:
    model, ops = perceptron(ov, 3), ov.opset13
    hidden = next(op for op in model.get_ordered_ops() if op.get_friendly_name() == "hidden")
    hidden.output(0).replace(ops.sigmoid(hidden.input_value(0)).output(0))
    return ov.compile_model(model, "CPU", F32)([X])[0]


@program
def add_an_output(ov: ModuleType) -> Any:
    model = perceptron(ov, 3)
    hidden = next(op for op in model.get_ordered_ops() if op.get_friendly_name() == "hidden")
    hidden.output(0).get_tensor().set_names({"middle"})
    added = model.add_outputs("middle")
    results = ov.compile_model(model, "CPU", F32)([X])
    return [len(added), results["middle"], results[0]]


@program
def cut_by_a_new_model(ov: ModuleType) -> Any:
    model = perceptron(ov, 3)
    hidden = next(op for op in model.get_ordered_ops() if op.get_friendly_name() == "hidden")
    part = ov.Model([hidden], model.get_parameters(), "part")
    return ov.compile_model(part, "CPU", F32)([X])[0]


@program
def clone_and_change(ov: ModuleType) -> Any:
    model = perceptron(ov)
    copy = model.clone()
    copy.reshape([5, 4])
    return [str(model.input(0).partial_shape), str(copy.input(0).partial_shape)]


@program
def requests_with_tensors(ov: ModuleType) -> Any:
    request = ov.compile_model(perceptron(ov, 3), "CPU", F32).create_infer_request()
    request.set_input_tensor(ov.Tensor(X))
    request.infer()
    return [request.get_output_tensor().data.copy(), list(request.get_tensor("x").shape)]


@program
def output_into_own_memory(ov: ModuleType) -> Any:
    request = ov.compile_model(perceptron(ov, 3), "CPU", F32).create_infer_request()
    memory = np.zeros((3, 2), np.float32)
    request.set_output_tensor(0, ov.Tensor(memory, shared_memory=True))
    request.infer([X])
    return memory


@program
def infer_in_the_background(ov: ModuleType) -> Any:
    request = ov.compile_model(perceptron(ov, 3), "CPU", F32).create_infer_request()
    done: list[Any] = []
    request.set_callback(done.append, "finished")
    request.start_async({0: X})
    request.wait()
    return [done, request.results[0], request.latency > 0]


@program
def a_queue_of_requests(ov: ModuleType) -> Any:
    queue = ov.AsyncInferQueue(ov.compile_model(perceptron(ov, 3), "CPU", F32), 2)
    found: dict[int, Any] = {}

    def keep(request: Any, number: int) -> None:
        found[number] = request.get_output_tensor().data.copy()

    queue.set_callback(keep)
    for number in range(6):
        queue.start_async([X * number], number)
    queue.wait_all()
    return [len(queue), queue.is_ready(), *(found[number] for number in range(6))]


@program
def a_model_with_a_variable(ov: ModuleType) -> Any:
    ops = ov.opset13
    x = ops.parameter([2], np.float32, name="x")
    info = ov.op.util.VariableInfo()
    info.data_shape, info.data_type, info.variable_id = ov.PartialShape([2]), ov.Type.f32, "sum"
    variable = ov.op.util.Variable(info)
    before = ops.read_value(ops.constant(np.zeros(2, np.float32)), variable)
    total = ops.add(before, x)
    model = ov.Model([ops.result(total)], [ops.assign(total, variable)], [x], "summing")
    request = ov.compile_model(model, "CPU", F32).create_infer_request()
    steps = [request.infer([np.float32([1, 2])])[0].copy() for _ in range(3)]
    state = request.query_state()[0]
    steps += [state.state.data.copy(), state.name]
    request.reset_state()
    return [*steps, request.infer([np.float32([5, 5])])[0]]


@program
def a_loop_of_steps(ov: ModuleType) -> Any:
    ops = ov.opset13
    x, step = ops.parameter([5, 2], np.float32, name="x"), ops.parameter([1, 2], np.float32)
    past = ops.parameter([1, 2], np.float32)
    total = ops.add(step, past)
    body = ov.Model([total], [step, past], "body")
    node = ops.tensor_iterator()
    node.set_body(body)
    node.set_sliced_input(step, x.output(0), 0, 1, 1, -1, 0)
    node.set_merged_input(past, ops.constant(np.zeros((1, 2), np.float32)).output(0), total.output(0))
    last, every = (
        node.get_iter_value(total.output(0), -1),
        node.get_concatenated_slices(total.output(0), 0, 1, 1, -1, 0),
    )
    model = ov.Model([ops.result(last), ops.result(every)], [x], "looping")
    results = ov.compile_model(model, "CPU", F32)([np.arange(10, dtype="f4").reshape(5, 2)])
    return [results[0], results[1]]


@program
def one_of_two_branches(ov: ModuleType) -> Any:
    ops = ov.opset13
    condition, x = ops.parameter([], np.bool_, name="condition"), ops.parameter([2], np.float32, name="x")
    first, second = ops.parameter([2], np.float32), ops.parameter([2], np.float32)
    then_body, else_body = ov.Model([ops.relu(first)], [first]), ov.Model([ops.negative(second)], [second])
    node = ops.if_op(condition.output(0))
    node.set_then_body(then_body)
    node.set_else_body(else_body)
    node.set_input(x.output(0), first, second)
    out = node.set_output(then_body.get_results()[0], else_body.get_results()[0])
    compiled = ov.compile_model(ov.Model([out], [condition, x], "choosing"), "CPU", F32)
    values = np.float32([-1, 2])
    return [compiled([np.array(flag), values])[0].copy() for flag in (True, False)]


@program
def attributes_by_position(ov: ModuleType) -> Any:
    ops = ov.opset8
    x = ops.parameter([1, 1, 5, 5], np.float32, name="x")
    kernel = np.ones((2, 1, 3, 3), np.float32)
    conv = ops.convolution(x, kernel, [1, 1], [1, 1], [1, 1], [1, 1])
    pooled = ops.avg_pool(conv, [2, 2], [0, 0], [0, 0], [2, 2], True, "floor", "explicit")
    best = ops.topk(ops.reshape(pooled, [1, -1], False), 3, 1, "max", "value")
    model = ov.Model([best.output(0), best.output(1)], [x], "positions")
    results = ov.compile_model(model, "CPU", F32)([np.arange(25, dtype=np.float32).reshape(1, 1, 5, 5)])
    return [results[0], results[1]]


@program
def attributes_of_a_node(ov: ModuleType) -> Any:
    ops = ov.opset13
    node = ops.topk(ops.parameter([2, 5], np.float32), 2, 1, "max", "value")
    node.set_attribute("axis", 0)
    return [node.get_attributes(), node.get_axis(), node.get_type_info().name, node.get_input_size()]


@program
def arithmetic_of_nodes(ov: ModuleType) -> Any:
    a, b = (ov.opset13.parameter([2, 2], np.float32, name=name) for name in "ab")
    model = ov.Model([(a + b) * a - b / ov.opset13.constant(np.float32(2))], [a, b], "arithmetic")
    values = np.float32([[1, 2], [3, 4]])
    return ov.compile_model(model, "CPU", F32)([values, values.T.copy()])[0]


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
def memory_that_is_shared(ov: ModuleType) -> Any:
    array = np.zeros((2, 3), np.float32)
    shared, own = ov.Tensor(array, shared_memory=True), ov.Tensor(array)
    array[0, 0] = 7
    part = ov.Tensor(shared, [0, 0], [1, 2])
    return [shared.data.copy(), own.data.copy(), list(part.shape), shared.byte_size, list(shared.strides)]


@program
def tensors_of_all_kinds(ov: ModuleType) -> Any:
    made = [ov.Tensor(ov.Type.u4, [3, 3]), ov.Tensor(np.int8, [2, 2]), ov.Tensor(ov.Type.bf16, [2])]
    said = [(list(t.shape), t.get_size(), t.byte_size, t.data.dtype.name) for t in made]
    texts = ov.Tensor(np.array(["one", "three"]))
    return [*said, texts.str_data.tolist(), texts.element_type == ov.Type.string]


@program
def names_of_shapes(ov: ModuleType) -> Any:
    shape = ov.PartialShape([1, -1, (2, 5), "..4"])
    said = [str(shape), shape.rank.get_length(), shape[2].get_min_length(), shape.is_dynamic, len(shape)]
    said += [
        ov.PartialShape.dynamic().rank.is_dynamic,
        ov.Shape([1, 2]) == [1, 2],
        ov.Dimension(3).refines(ov.Dimension()),
    ]
    layout = ov.Layout("N...C")
    return [
        *said,
        str(layout),
        layout.get_index_by_name("C"),
        ov.Layout("NC?").has_name("H"),
        ov.Type(np.int32) == ov.Type.i32,
    ]


@program
def a_constant_and_its_value(ov: ModuleType) -> Any:
    node = ov.op.Constant(ov.Type.f32, ov.Shape([2, 2]), [1.0, 2.0, 3.0, 4.0])
    other = ov.opset13.constant([1, 2, 3], ov.Type.i16)
    return [
        node.data.copy(),
        node.get_vector().tolist(),
        other.get_element_type() == ov.Type.i16,
        isinstance(other, ov.op.Constant),
    ]


@program
def evaluation_of_one_node(ov: ModuleType) -> Any:
    node = ov.opset13.add(np.float32([1, 2]), np.float32([3, 4]))
    out = ov.Tensor(ov.Type.f32, [2])
    done = node.evaluate([out], [ov.Tensor(np.float32([5, 6])), ov.Tensor(np.float32([7, 8]))])
    return [done, out.data.copy()]


@program
def export_and_import(ov: ModuleType) -> Any:
    core = ov.Core()
    compiled = core.compile_model(perceptron(ov, 3), "CPU", F32)
    stream = io.BytesIO()
    compiled.export_model(stream)
    return core.import_model(stream.getvalue(), "CPU", F32)([X])[0]


@program
def properties_of_the_device(ov: ModuleType) -> Any:
    core = ov.Core()
    core.set_property("CPU", {ov.properties.enable_profiling(): True})
    compiled = core.compile_model(perceptron(ov, 3), "CPU")
    said = [core.available_devices, core.get_property("CPU", "PERF_COUNT"), ov.properties.hint.performance_mode()]
    try:
        core.compile_model(perceptron(ov, 3), "CPU", {"NO_SUCH": 1})
    except RuntimeError as error:
        said.append("NO_SUCH" in str(error))
    return [
        *said,
        compiled.get_property("NETWORK_NAME"),
        "CPU" in set(core.query_model(perceptron(ov), "CPU").values()),
    ]


@program
def information_in_a_file(ov: ModuleType) -> Any:
    model = perceptron(ov)
    model.set_rt_info("cats", ["model_info", "labels"])
    with tempfile.TemporaryDirectory() as folder:
        again = ov.Core().read_model(saved(ov, model, folder))
        ov.serialize(again, Path(folder, "second.xml"), Path(folder, "second.bin"))
        third = ov.Core().read_model(Path(folder, "second.xml"))
    value = third.get_rt_info(["model_info", "labels"])
    return [getattr(value, "value", value), third.has_rt_info(["model_info", "dogs"])]


@program
def a_batch_by_layout(ov: ModuleType) -> Any:
    model = perceptron(ov, 1)
    model.get_parameters()[0].set_layout(ov.Layout("NC"))
    ov.set_batch(model, 7)
    return [list(model.input(0).shape), list(model.output(0).shape)]


@program
def a_busy_request_says_so(ov: ModuleType) -> Any:
    ops = ov.opset13
    x = ops.parameter([400, 400], np.float32, name="x")
    node: Any = x
    for _ in range(60):
        node = ops.matmul(node, x, False, False)
    request = ov.compile_model(ov.Model([node], [x], "slow"), "CPU").create_infer_request()
    request.start_async([np.zeros((400, 400), np.float32)])
    try:
        request.get_output_tensor()
        said = "not busy"
    except RuntimeError as error:
        said = "busy" if "busy" in str(error) else str(error)
    request.wait()
    return said


@program
def errors_are_runtime_errors(ov: ModuleType) -> Any:
    model, found = perceptron(ov, 3), []
    compiled = ov.compile_model(model, "CPU")
    for attempt in (
        lambda: model.input("nothing"),
        lambda: model.reshape([2, 3, 4]),
        lambda: compiled.create_infer_request().get_tensor("nothing"),
        lambda: compiled.create_infer_request().infer([np.zeros((1, 1), np.float32)]),
        lambda: ov.Core().read_model("no/such/file.xml"),
        lambda: ov.opset13.add(ov.opset13.parameter([2]), ov.opset13.parameter([3])),
    ):
        try:
            attempt()
            found.append("no error")
        except RuntimeError:
            found.append("RuntimeError")
    return found
