"""Models edited, written and read again with OpenVINO's API; passes and frontends, as far as they are offered."""

from __future__ import annotations

import io
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec as ov
from irexec.api.openvino import passes
from irexec.api.openvino.exceptions import NotOffered
from irexec.api.openvino.frontend import FrontEndManager, GeneralFailure, InitializationFailure

ops: Any = ov.opset13


def small() -> tuple[ov.Model, Any, Any]:
    x = ops.parameter([-1, 3], np.float32, name="x")
    relu = ops.relu(x, name="relu")
    relu.output(0).set_names({"between"})
    return ov.Model([ops.add(relu, np.float32([1, 2, 3]), name="sum")], [x], "small"), x, relu


def run(model: ov.Model, *arrays: Any) -> list[Any]:
    return [a.tolist() for a in ov.compile_model(model)(list(arrays)).values()]


ROW = np.float32([[1, -1, 2]])


def test_a_node_is_put_between_two_others() -> None:
    model, _, relu = small()
    (taker,) = relu.output(0).get_target_inputs()
    taker.replace_source_output(ops.negative(relu).output(0))
    assert run(model, ROW) == [[[0, 2, 1]]]


def test_an_output_is_replaced_wherever_it_is_taken() -> None:
    model, x, relu = small()
    relu.output(0).replace(ops.abs(x).output(0))
    assert run(model, ROW) == [[[2, 3, 5]]]


def test_outputs_are_added_by_tensor_name_and_by_node_and_port() -> None:
    for wanted in ("between", ("relu", 0), ["between"]):
        model, _, _ = small()
        (added,) = model.add_outputs(wanted)
        assert "between" in added.names
        assert run(model, ROW) == [[[2, 2, 5]], [[1, 0, 2]]]


@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        (("relu", 1234), RuntimeError, "Port 1234 for operation with name relu"),
        ("nobody", RuntimeError, "nobody"),
        (0, TypeError, "Incorrect type of a value to add as output. It is <class 'int'>"),
        (["between", 0], TypeError, "add as output at index 1"),
    ],
)
def test_outputs_that_are_not_there(wanted: Any, error: type[Exception], said: str) -> None:
    model, _, _ = small()
    with pytest.raises(error, match=said):
        model.add_outputs(wanted)
    assert len(model.outputs) == 1


def test_parameters_and_results_are_added_and_removed() -> None:
    model, _, relu = small()
    y = ops.parameter([-1, 3], np.float32, name="y")
    product = ops.multiply(relu, y)
    model.add_parameters([y])
    model.add_results([ops.result(product)])
    assert run(model, ROW, 2 * np.ones((1, 3), np.float32)) == [[[2, 2, 5]], [[2, 0, 4]]]
    model.remove_result(model.get_results()[0])
    assert run(model, ROW, 2 * np.ones((1, 3), np.float32)) == [[[2, 0, 4]]]


def test_a_clone_is_a_model_of_its_own() -> None:
    model, _, _ = small()
    clone = model.clone()
    model.reshape([2, 3])
    assert clone.input().partial_shape == ov.PartialShape([-1, 3])
    assert run(clone, ROW) == [[[2, 2, 5]]]


@pytest.mark.parametrize("cloned", [ov.Model.clone, deepcopy])
def test_a_clone_moves_the_names_of_reconnected_results(cloned: Callable[[ov.Model], ov.Model]) -> None:
    x = ops.parameter([3], np.float32, name="x")
    negative = ops.negative(x, name="negative")
    relu = ops.relu(negative, name="relu")
    model = ov.Model([ops.result(relu, name="out"), ops.result(ops.tanh(relu), name="other")], [x], "m")
    model.outputs[0].get_node().input(0).replace_source_output(negative.output(0))
    nodes = {node.get_friendly_name(): node for node in cloned(model).get_ops()}
    assert nodes["negative"].output(0).get_names() == {"out"}
    assert nodes["relu"].output(0).get_names() == {"out"}
    assert negative.output(0).get_names() == set()


def test_a_reshape_is_refused_as_a_whole() -> None:
    model, _, _ = small()
    with pytest.raises(Exception, match="broadcast"):
        model.reshape([1, 7])
    assert model.input().partial_shape == ov.PartialShape([-1, 3])
    assert run(model, ROW) == [[[2, 2, 5]]]


@pytest.mark.parametrize("compress", [True, False])
def test_weights_are_written_as_f16_on_request(compress: bool, tmp_path: Path) -> None:
    x = ops.parameter([1, 512], np.float32, name="x")
    weights = np.linspace(-1, 1, 512 * 64, dtype=np.float32).reshape(512, 64)
    model = ov.Model([ops.matmul(x, ops.constant(weights), False, False)], [x], "m")
    ov.save_model(model, tmp_path / "m.xml", compress_to_fp16=compress)
    again = ov.Core().read_model(tmp_path / "m.xml")
    types = {node.get_element_type().get_type_name() for node in again.get_ops() if node.get_type_name() == "Constant"}
    assert types == ({"f16"} if compress else {"f32"})
    size = (tmp_path / "m.bin").stat().st_size
    assert size == weights.nbytes // (2 if compress else 1)
    given = np.ones((1, 512), np.float32)
    expected = given @ weights.astype(np.float16 if compress else np.float32).astype(np.float32)
    np.testing.assert_allclose(ov.compile_model(again)(given)[0], expected, rtol=1e-4, atol=1e-4)
    assert ov.validate(tmp_path / "m.xml").ok


def test_what_f16_does_not_hold_stays_f32(tmp_path: Path) -> None:
    x = ops.parameter([64], np.float32, name="x")
    large = np.full(64, 1e6, np.float32)
    ov.save_model(ov.Model([ops.add(x, ops.constant(large))], [x], "m"), tmp_path / "m.xml")
    again = ov.Core().read_model(tmp_path / "m.xml")
    assert np.isfinite(ov.compile_model(again)(np.zeros(64, np.float32))[0]).all()


def test_passes_of_the_caller_run_in_order() -> None:
    model, _, _ = small()
    seen = []

    class Note(passes.ModelPass):
        def __init__(self, word: str) -> None:
            self.word = word

        def run_on_model(self, model: ov.Model) -> bool:
            seen.append((self.word, model.friendly_name))
            return False

    manager = passes.Manager()
    manager.register_pass(Note("one"))
    manager.register_pass(Note("two"))
    manager.run_passes(model)
    assert seen == [("one", "small"), ("two", "small")]


def test_the_pass_that_writes(tmp_path: Path) -> None:
    model, _, _ = small()
    manager = passes.Manager()
    manager.register_pass(passes.Serialize(str(tmp_path / "m.xml"), str(tmp_path / "m.bin")))
    manager.run_passes(model)
    assert run(ov.Core().read_model(tmp_path / "m.xml"), ROW) == [[[2, 2, 5]]]


def test_frontends(tmp_path: Path) -> None:
    model, _, _ = small()
    ov.save_model(model, tmp_path / "m.xml")
    manager = FrontEndManager()
    assert manager.get_available_front_ends() == ["ir", "onnx"]
    frontend = manager.load_by_model(str(tmp_path / "m.xml"))
    assert frontend is not None
    assert frontend.get_name() == "ir"
    assert run(frontend.convert(frontend.load(tmp_path / "m.xml")), ROW) == [[[2, 2, 5]]]
    (tmp_path / "m.pdmodel").touch()
    assert manager.load_by_model(tmp_path / "m.pdmodel") is None
    with pytest.raises(GeneralFailure, match=r"Could not open the file: 'nowhere\.xml'"):
        manager.load_by_model("nowhere.xml")
    for error in (NotOffered, InitializationFailure):
        with pytest.raises(error, match=r"export the model"):
            manager.load_by_framework("paddle")


def test_what_was_exported_into_a_stream_is_imported_from_it() -> None:
    model, _, _ = small()
    stream = io.BytesIO()
    ov.Core().compile_model(model).export_model(stream)
    imported = ov.Core().import_model(stream, "CPU")
    assert imported(ROW)[0].tolist() == [[2, 2, 5]]


def test_outputs_have_an_order_and_their_description_is_a_map() -> None:
    split = ops.split(ops.parameter([2], np.float32), 0, 2)
    first, second = split.outputs()
    assert first < second
    assert sorted([second, first]) == [first, second]
    assert ov.Output._from_node(ops.relu(first)).node.get_type_name() == "Relu"
    with pytest.raises(RuntimeError, match="2 outputs"):
        ov.Output._from_node(split)
    first.get_rt_info()["note"] = "left"
    assert isinstance(first.rt_info, ov._pyopenvino.RTMap)
    assert first.rt_info["note"] == "left"


def test_the_shapes_of_a_model_remain_without_inference() -> None:
    """As in OpenVINO, a model whose Parameter was removed can be "reshaped" to its present shapes only."""
    model, x, _ = small()
    model.remove_parameter(x)
    model.add_parameters([ops.parameter([2, 3], np.float32, name="y")])
    model.reshape({0: [2, 3]})
    for refused in (lambda: model.reshape({0: [4, 3]}), lambda: ov.Core().query_model(model, "CPU")):
        with pytest.raises(RuntimeError, match="undeclared parameters: 'x'"):
            refused()


def test_an_input_that_is_not_set_has_no_elements_along_dynamic_dimensions() -> None:
    x = ops.parameter(ov.PartialShape("1..6,3,?"), np.float32, name="x")
    request = ov.compile_model(ov.Model([ops.relu(x)], [x], "m")).create_infer_request()
    assert request.get_input_tensor().shape == [0, 3, 0]
    with pytest.raises(RuntimeError, match=r"shape \[0,3,0\], which does not match .* \[1\.\.6,3,\?\]"):
        request.infer()


def test_a_new_shape_fits_the_layout() -> None:
    model, x, _ = small()
    x.set_layout(ov.Layout("NC"))
    with pytest.raises(RuntimeError, match="the layout"):
        model.reshape([1, 1, 3])
    model.reshape([2, 3])
    assert model.input().partial_shape == ov.PartialShape([2, 3])
