"""Programs that compile models and run them: requests, queues, variables, tensors, settings."""

from __future__ import annotations

import io
import tempfile
from types import ModuleType
from typing import Any

import numpy as np

from support.openvino_programs.registry import F32, X, perceptron, program, saved


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
