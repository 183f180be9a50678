"""Programs that build graphs, query them, and change them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from support.openvino_programs.registry import F32, X, perceptron, program, saved


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
def change_a_model_that_is_compiled(ov: ModuleType) -> Any:
    model = perceptron(ov)
    compiled = ov.compile_model(model, "CPU", F32)
    before = compiled([X])[0]
    model.reshape([7, 4])
    hidden = next(op for op in model.get_ordered_ops() if op.get_friendly_name() == "hidden")
    hidden.output(0).replace(ov.opset13.negative(hidden.input_value(0)).output(0))
    model.add_outputs(hidden.output(0))
    said = [str(compiled.input(0).partial_shape), str(model.input(0).partial_shape), len(compiled.outputs)]
    return [*said, before, compiled([X])[0], compiled([X[:1]])[0]]


@program
def walk_a_model_of_many_inputs(ov: ModuleType) -> Any:
    ops = ov.opset13
    a, b, c = (ops.parameter([2], np.float32, name=name) for name in "abc")
    total = ops.add(b, a, name="total")
    outputs = [ops.result(ops.relu(total, name="relu"), name="first"), ops.result(c, name="second")]
    return [op.friendly_name for op in ov.Model(outputs, [a, b, c], "many").get_ordered_ops()]


@program
def show_what_there_is(ov: ModuleType) -> Any:
    ops = ov.opset13
    x = ops.parameter([-1, 4], np.float32, name="x")
    split = ops.split(x, 1, 2, name="halves")
    shown = [repr(split), repr(ops.relu(x, name="relu")), repr(ops.constant(np.int8([1]), name="one"))]
    kinds = (ov.Type.f32, ov.Type.bf16, ov.Type.boolean, ov.Type.u1, ov.Type.nf4, ov.Type.i64, ov.Type.string)
    shown += [repr(kind) for kind in kinds]
    shown += [repr(ov.PartialShape([1, -1])), ov.PartialShape([1, (2, 3)]).to_string(), str(ov.Strides([1, 2]))]
    return [*shown, repr(split.output(1)), repr(split.input(0)), repr(split.output(0).get_tensor())]


@program
def ask_an_element_type(ov: ModuleType) -> Any:
    kinds = [ov.Type.f32, ov.Type.i8, ov.Type.u4, ov.Type.dynamic, ov.Type.boolean]
    questions = ("is_static", "is_dynamic", "is_real", "is_quantized")
    return [[getattr(kind, question)() for question in questions] for kind in kinds]


@program
def parameters_of_all_kinds_of_dims(ov: ModuleType) -> Any:
    ops = ov.opset13
    shapes: list[Any] = [
        [1, -1, (2, 3), "..5", "4..", ov.Dimension(7)],
        "[1,?]",
        [],
        ov.Shape([2]),
        ov.PartialShape("..."),
    ]
    return [str(ops.parameter(shape).partial_shape) for shape in shapes]


@program
def ask_for_what_is_not_there(ov: ModuleType) -> Any:
    model = perceptron(ov)
    node = model.get_ordered_ops()[-2]
    calls = [
        lambda: node.output(3), lambda: node.input(9), lambda: node.input_value(7), lambda: node.get_output_shape(4),
        lambda: node.get_input_partial_shape(4), lambda: node.get_output_tensor(5), lambda: model.input("nowhere"),
        lambda: ov.PartialShape([1, 2])[2], lambda: ov.PartialShape([1, 2]).get_dimension(5),
        lambda: ov.Model([node], [], "without parameters"), lambda: ov.Tensor(ov.Type.dynamic, [2]),
    ]  # fmt: skip
    return [_raises(RuntimeError, call) for call in calls]


def _raises(kind: type[Exception], call: Any) -> bool:
    try:
        call()
    except kind:
        return True
    return False


@program
def remove_what_the_model_has_not(ov: ModuleType) -> Any:
    model = perceptron(ov)
    model.remove_parameter(ov.opset13.parameter([1]))
    model.remove_result(ov.opset13.result(ov.opset13.parameter([1])))
    return [len(model.inputs), len(model.outputs)]
