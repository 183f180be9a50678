"""Constants and names of ports, compared with OpenVINO."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("openvino")
BOTH = pytest.mark.parametrize("name", ["irexec", "openvino"])


def package(name: str) -> tuple[Any, Any]:
    importlib.import_module(f"{name}.op")
    return importlib.import_module(name), importlib.import_module(f"{name}.opset13")


@BOTH
def test_a_constant_of_a_tensor_has_its_type_and_shape(name: str) -> None:
    ov, ops = package(name)
    tensor = ov.Tensor(ov.Type.u4, ov.Shape([2, 4]))
    tensor.data[...] = [0x21, 0x43, 0x65, 0x87]
    for node in (ops.constant(tensor), ops.constant(tensor, shared_memory=True), ov.op.Constant(tensor)):
        assert (node.get_element_type().get_type_name(), list(node.shape)) == ("u4", [2, 4])
        assert node.data.tolist() == [0x21, 0x43, 0x65, 0x87]
    assert list(ov.op.Constant(tensor=tensor).shape) == [2, 4]


@BOTH
def test_a_constant_shares_the_memory_of_an_array_when_it_is_asked_to(name: str) -> None:
    ov, ops = package(name)
    for make in (ops.constant, ov.op.Constant):
        array = np.float32([1, 2])
        shared, own = make(array, shared_memory=True), make(array, shared_memory=False)
        array[0] = 7
        assert (shared.data.tolist(), own.data.tolist()) == ([7, 2], [1, 2])


@BOTH
def test_a_constant_counts_its_values(name: str) -> None:
    ov, _ = package(name)
    assert ov.op.Constant(ov.Type.f32, ov.Shape([3]), [2]).data.tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match=r"expected number of literals for a constant of shape \[2\] \(got 3"):
        ov.op.Constant(ov.Type.f32, ov.Shape([2]), [1, 2, 3])


@BOTH
def test_names_of_ports(name: str) -> None:
    ov, ops = package(name)
    x = ops.parameter([2], np.float32, name="x")
    result = ops.result(ops.relu(x))
    result.friendly_name = "first"
    model = ov.Model([result], [x], "m")
    assert (model.input().names, model.output().names) == ({"x"}, {"first"})
    other = ops.parameter([2], np.float32, name="other")
    other.output(0).tensor.set_names({"own"})
    model.replace_parameter(0, other)
    assert model.input().names >= {"x", "own"}
    compiled = ov.Core().compile_model(model, "CPU")
    assert compiled({"x": np.float32([-1, 1])})["first"].tolist() == [0, 1]


@BOTH
def test_a_model_names_its_ports_when_it_is_created(name: str, tmp_path: Path) -> None:
    ov, ops = package(name)
    x, y = ops.parameter([2], np.float32, name="x"), ops.parameter([2], np.float32, name="y")
    relu = ops.relu(x, name="relu")
    assert x.output(0).names == set()  # The name of a node is not a name of its tensor.
    y.output(0).tensor.add_names({"own"})
    model = ov.Model([relu], [x, y])
    assert (x.output(0).names, y.output(0).names) == ({"x"}, {"own"})
    with pytest.raises(RuntimeError, match="Input for tensor name 'y' is not found"):
        model.input("y")
    invented = model.get_results()[0].get_friendly_name()
    assert invented.startswith("Result_")
    assert model.output().names == relu.output(0).names == {invented}
    # Added outputs are named, added Parameters and Results are not.
    assert model.add_outputs(ops.tanh(relu).output(0))[0].any_name.startswith("Result_")
    model.add_results([ops.result(ops.exp(relu))])
    model.add_parameters([ops.parameter([2], np.float32, name="z")])
    compiled = ov.Core().compile_model(model, "CPU")
    assert [bool(port.names) for port in compiled.outputs] == [True, True, False]
    assert [sorted(port.names) for port in compiled.inputs] == [["x"], ["own"], []]
    # A file contains the generated names in some form.
    ov.save_model(model, tmp_path / "m.xml")
    again = ov.Core().read_model(tmp_path / "m.xml")
    assert [bool(port.names) for port in again.outputs] == [True, True, False]
    assert again.output(0).any_name == again.get_results()[0].get_friendly_name()


@BOTH
def test_models_and_results_have_names_of_their_own(name: str) -> None:
    ov, ops = package(name)
    x = ops.parameter([2], np.float32, name="x")
    unnamed = ov.Model([ops.relu(x)], [x])
    assert unnamed.friendly_name.startswith("Model")
    assert ov.Core().compile_model(unnamed, "CPU").output().any_name.startswith("Result_")


@BOTH
def test_a_node_among_several_represents_its_first_output(name: str) -> None:
    ov, ops = package(name)
    x = ops.parameter([2, 3], np.float32, name="x")
    split = ops.split(x, ops.constant(1), 3)
    counts = [len(ov.Model(results, [x], "m").outputs) for results in ([split], split, split.outputs())]
    assert counts == [1, 3, 3]


@BOTH
def test_the_order_of_the_nodes(name: str) -> None:
    ov, ops = package(name)
    x, y = (ops.parameter([2], np.float32, name=each) for each in "xy")
    total, product = ops.add(x, y), ops.multiply(x, y)
    total.friendly_name, product.friendly_name = "sum", "product"
    results = [ops.result(total), ops.result(product)]
    for result, each in zip(results, ("r0", "r1"), strict=True):
        result.friendly_name = each
    model = ov.Model(results, [x, y], "m")
    assert [node.friendly_name for node in model.get_ops()] == ["y", "x", "r1", "product", "r0", "sum"]
    assert [node.friendly_name for node in model.get_ordered_ops()] == ["y", "x", "product", "r1", "sum", "r0"]


@BOTH
def test_arguments_of_another_kind_are_refused(name: str) -> None:
    ov, ops = package(name)
    x = ops.parameter([2], np.float32, name="x")
    node = ops.relu(x)
    model = ov.Model([ops.result(node)], [x], "m")
    compiled = ov.Core().compile_model(model, "CPU")
    request = compiled.create_infer_request()
    for wrong in (
        lambda: model.remove_result(3),
        lambda: model.remove_parameter("x"),
        lambda: model.remove_sink(1),
        lambda: model.add_parameters([3]),
        lambda: model.get_result_index(3),
        lambda: model.get_rt_info(3),
        lambda: model.set_friendly_name(5),
        lambda: node.set_friendly_name(5),
        lambda: node.output(-1),
        lambda: model.output(-1),
        lambda: model.get_output_shape(-1),
        lambda: compiled.input(-1),
        lambda: request.get_input_tensor(-1),
        lambda: model.get_result_index(node),
        lambda: ov.PartialShape([1, 2]).get_dimension(-1),
        lambda: ov.Strides([1, -1]),
        lambda: ov.Coordinate([1, -1]),
        lambda: ov.AxisSet([1, -1]),
        lambda: model.reshape([[4]]),
        lambda: node.output(0).replace(3),
        lambda: node.output(0).tensor.set_names("name"),
        lambda: node.set_argument(0, 3),
        lambda: request.get_tensor(3),
        lambda: request.set_tensor("x", 3),
        lambda: request.set_input_tensor(np.zeros(2, np.float32)),
        lambda: ops.relu(),
        lambda: ops.relu(x, foo=3),
        lambda: ov.op.Result(3),
        lambda: ov.Model([3], [x]),
    ):
        with pytest.raises(TypeError):
            wrong()
    for wrong, text in (
        (lambda: model.get_rt_info("no"), "^Cannot get runtime attribute. Path to runtime attribute is incorrect.$"),
        (lambda: compiled.set_property({"NUM_STREAMS": 2}), "set property of an already compiled model"),
        (lambda: model.replace_parameter(9, x), "Tried to replace parameter at index 9"),
        (lambda: model.evaluate([], []), "Number of tensors .0. is not equal to number of parameters .1."),
        (lambda: node.output(3), ""),
        (lambda: model.input("no"), ""),
        (lambda: ops.split(x, ops.constant(0), 2).get_element_type(), "on a node with exactly one output"),
    ):
        with pytest.raises(RuntimeError) as refused:
            wrong()
        assert text.strip("^$").replace(".0.", "(0)").replace(".1.", "(1)") in str(refused.value)
    with pytest.raises(KeyError):
        compiled(np.zeros(2, np.float32))[5]


NUMBERS = [np.float32([0.3, -0.7]), np.float16([3, 1]), np.int64([1, 2]), np.uint8([1, 3]), [0.5, 0.25]]


@pytest.mark.parametrize("kind", ["nf4", "f4e2m1", "f8e8m0", "f8e4m3", "u1", "i4", "u4", "boolean"])
def test_numbers_become_elements_of_a_type(kind: str) -> None:
    (theirs, their_ops), (mine, my_ops) = package("openvino"), package("irexec")
    for numbers in NUMBERS:
        wanted = their_ops.constant(numbers, getattr(theirs.Type, kind)).data
        np.testing.assert_array_equal(my_ops.constant(numbers, getattr(mine.Type, kind)).data, wanted)
        by_class = mine.op.Constant(getattr(mine.Type, kind), mine.Shape([2]), list(numbers))
        np.testing.assert_array_equal(by_class.data, wanted)


@pytest.mark.parametrize(("kind", "number"), [("u4", 16), ("u4", -1), ("i4", 8), ("i4", -9), ("u2", 4), ("nf4", 300)])
@BOTH
def test_a_number_that_a_packed_type_does_not_hold(name: str, kind: str, number: int) -> None:
    ov, ops = package(name)
    with pytest.raises((RuntimeError, UnicodeDecodeError)):  # OpenVINO's message need not be valid text.
        ops.constant(np.int64([number, 1]), getattr(ov.Type, kind))


@BOTH
def test_a_vector_of_booleans_is_of_integers(name: str) -> None:
    ov, _ = package(name)
    vector = ov.op.Constant(np.array([[True, False]])).get_vector()
    assert (vector.tolist(), vector.dtype) == ([1, 0], np.int8)
