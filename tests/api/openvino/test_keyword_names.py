"""OpenVINO's names of parameters, and values of kinds that its functions accept."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import irexec.opset13 as ops
import numpy as np
import pytest
from irexec.preprocess import ColorFormat, PrePostProcessor
from support.waiting import PATIENCE

import irexec as ov


def small(*shape: int) -> ov.Model:
    x = ops.parameter(list(shape), np.float32, name="x")
    return ov.Model([ops.relu(x)], [x], "small")


@pytest.mark.by_hand(0)
def test_no_keyword_name_of_openvino_is_missing_without_a_reason() -> None:
    if importlib.util.find_spec("openvino") is None:
        pytest.skip("needs openvino")
    script = Path(__file__).parents[3] / "benchmarks" / "public_signatures.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.endswith("without a reason: 0 names of 0 functions\n"), done.stdout + done.stderr


def test_keyword_names() -> None:
    assert ov.Shape(axis_lengths=[2, 3]) == ov.Shape(shape="2,3") == [2, 3]
    assert ov.PartialShape(shape=[1, -1]).compatible(shape=ov.PartialShape([1, 5]))
    assert ov.Dimension(3).refines(dim=ov.Dimension(1, 5))
    assert ov.Layout(layout_str="NCHW").get_index_by_name(dimension_name="H") == 2
    ov.Core().set_property(properties={"PERF_COUNT": True})
    core = ov.Core()
    core.set_property(property=("PERF_COUNT", True))
    assert core.get_property(device_name="CPU", name="PERF_COUNT", arguments={}) is True
    assert core.get_property(property="PERF_COUNT") is core.get_property("CPU", "PERF_COUNT") is True
    ov.Core().set_property(device_name="CPU", property=("PERF_COUNT", True))
    one, other = ov.Tensor(np.ones(3, np.float32)), ov.Tensor(np.zeros(3, np.float32))
    other.copy_from(source_tensor=one)
    assert other.data.tolist() == [1, 1, 1]


def test_a_mean_of_one_number_needs_no_layout() -> None:
    steps = PrePostProcessor(small(2, 3))
    steps.input(tensor_name="x").preprocess().mean(values=[1.0]).scale([2.0])
    assert ov.compile_model(steps.build())(np.full((2, 3), 5, np.float32))[0].tolist() == [[2.0] * 3] * 2


def test_two_planes_before_a_model_whose_channels_are_first() -> None:
    steps = PrePostProcessor(small(1, 3, 4, 4))
    given = steps.input(input_index=0)
    given.tensor().set_element_type(ov.Type.u8).set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
    given.preprocess().convert_color(ColorFormat.BGR)
    given.model().set_layout(ov.Layout("NCHW"))
    model = steps.build()
    assert [(port.get_names(), port.shape) for port in model.inputs] == [
        ({"x/y"}, [1, 4, 4, 1]),
        ({"x/uv"}, [1, 2, 2, 2]),
    ]
    planes = [np.full((1, 4, 4, 1), 126, np.uint8), np.full((1, 2, 2, 2), 128, np.uint8)]
    result = ov.compile_model(model)(planes)[0]
    assert result.shape == (1, 3, 4, 4)
    assert np.unique(result).tolist() == [128]


class Holding(ov.Op):
    """An operator with the attributes that its constructor is given."""

    def __init__(self, inputs: Any = None, **attributes: Any) -> None:
        super().__init__(self)
        self.held = attributes
        if inputs is not None:
            self.set_arguments(inputs)
            self.constructor_validate_and_infer_types()

    def validate_and_infer_types(self) -> None:
        self.set_output_type(0, self.get_input_element_type(0), self.get_input_partial_shape(0))

    def visit_attributes(self, visitor: Any) -> bool:
        visitor.on_attributes(self.held)
        return True


def test_attributes_of_arrays_shapes_dimensions_and_models() -> None:
    x = [ops.parameter([2], np.float32)]
    assert Holding(x, a=np.float32([1, 2])).get_attributes() == {"a": [1.0, 2.0]}
    assert Holding(x, a=ov.PartialShape([1, -1])).get_attributes() == {"a": [1, -1]}
    assert Holding(x, a=ov.Dimension(3), b=small(2), c=1).get_attributes() == {"c": 1}
    for array in (np.int64([1]), np.float64([1]), np.array(["a"]), np.float32([[1]])):
        with pytest.raises(TypeError, match="Unsupported NumPy array dtype"):
            Holding(x, a=array).get_attributes()


def test_nested_runtime_information_is_of_dictionaries() -> None:
    model = small(2)
    model.set_rt_info({"x": {"y": "1"}}, "n")
    model.set_rt_info("v", ["a", "b"])
    found = model.get_rt_info()
    assert type(found["n"]) is dict and found["n"]["x"]["y"].value == "1"
    assert found["a"]["b"].value == "v"
    assert model.get_rt_info("n").astype(dict)["x"]["y"].value == "1"


def test_texts_of_runtime_information_have_a_value(tmp_path: Path) -> None:
    model = small(2)
    model.set_rt_info("5.5.4", ["optimum", "transformers_version"])
    ov.save_model(model, tmp_path / "model.xml")
    for known in (model, ov.read_model(tmp_path / "model.xml")):
        found = known.rt_info["optimum"]["transformers_version"]
        assert found == "5.5.4" and found.value == "5.5.4" and type(found.value) is str


def test_keyword_names_of_samples() -> None:
    x = ops.parameter([2, 3], np.float32, name="x")
    x.set_layout(ov.Layout("NC"))
    x.output(0).set_names({"x"})
    compiled = ov.Core().compile_model(ov.Model([ops.relu(x)], [x]), "CPU")
    samples = [ov.Tensor(np.full((1, 3), sign, np.float32)) for sign in (-1, 1)]
    for names in ({"idx": 0}, {"tensor_name": "x"}, {"port": compiled.input(0)}, {}):
        request = compiled.create_infer_request()
        set_samples: Any = request.set_tensors if names and "idx" not in names else request.set_input_tensors
        set_samples(**names, tensors=samples)
        request.infer()
        assert request.get_output_tensor().data.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_a_property_of_another_kind_is_refused() -> None:
    core: Any = ov.Core()
    with pytest.raises(TypeError, match="either properties or property"):
        core.set_property(properties={"PERF_COUNT": True}, property=("PERF_COUNT", True))
    with pytest.raises(TypeError):
        core.set_property(property={"PERF_COUNT": True})
    with pytest.raises(TypeError):
        core.get_property()
