"""Modules of OpenVINO's API and their functions, compared with OpenVINO's."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from irexec.exceptions import NotOffered

import irexec

openvino = pytest.importorskip("openvino")
BOTH = pytest.mark.parametrize("name", ["irexec", "openvino"])


def module(name: str, rest: str) -> Any:
    return importlib.import_module(f"{name}.{rest}")


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("_pyopenvino.properties.hint", "properties.hint"),
        ("_pyopenvino.op.util", "op.util"),
        ("_pyopenvino._offline_transformations", "_offline_transformations"),
        ("passes.graph_rewrite", "openvino.passes.rewrite"),
        ("opset13.ops", "opset13"),
        ("tools.ovc.convert", "tools.ovc"),
    ],
)
def test_a_second_name_of_a_module(name: str, same: str) -> None:
    assert module("irexec", name) is module("irexec", same)


@pytest.mark.parametrize("rest", ["", ".frontend", "._offline_transformations"])
def test_the_version_is_that_of_the_api(rest: str) -> None:
    """Programs choose by OpenVINO's release what they use; irexec's own version is its `__version__`."""
    release = openvino.__version__.partition("-")[0]
    mine = importlib.import_module(f"irexec{rest or '.openvino'}")
    assert mine.__version__ == mine.get_version() == irexec.get_version() == release
    assert irexec.__version__ != release
    found = irexec.Core().get_versions("CPU")["CPU"]
    assert f"{found.major}.{found.minor}.{found.patch}" == release
    assert irexec.__version__ in found.description


@BOTH
def test_bounds_of_a_shape(name: str) -> None:
    ops, ov = module(name, "opset13"), importlib.import_module(name)
    evaluate = module(name, "experimental").evaluate_both_bounds
    shape = ops.shape_of(ops.parameter([-1, 3, ov.Dimension(2, 5)], np.float32))
    assert [t.data.tolist() for t in evaluate(shape.output(0))] == [[0, 3, 2], [2**63 - 1, 3, 5]]
    constant = ops.constant([7, 8])
    assert [t.data.tolist() for t in evaluate(constant.output(0))] == [[7, 8], [7, 8]]


def test_bounds_that_are_not_known_are_refused() -> None:
    unknown = irexec.opset13.parameter([2], np.float32)
    with pytest.raises(RuntimeError, match="no known bounds"):
        module("irexec", "experimental").evaluate_both_bounds(unknown.output(0))


@BOTH
def test_the_data_of_a_request(name: str) -> None:
    ov, ops, helpers = importlib.import_module(name), module(name, "opset13"), module(name, "utils.data_helpers")
    x, y = (ops.parameter([2], np.float32, name=each) for each in "xy")
    compiled = ov.Core().compile_model(ov.Model([ops.add(x, y)], [x, y], "m"), "CPU")
    request = compiled.create_infer_request()
    one, two = np.float32([1, 2]), np.float32([3, 4])
    shared = helpers._data_dispatch(request, {"x": one, 1: two}, is_shared=True)
    assert {key: tensor.data.tolist() for key, tensor in shared.items()} == {"x": [1, 2], 1: [3, 4]}
    assert np.shares_memory(shared["x"].data, one)
    assert helpers._data_dispatch(request, [one, two], is_shared=False) == {}
    assert [tensor.data.tolist() for tensor in request.input_tensors] == [[1, 2], [3, 4]]
    assert isinstance(compiled([one, two]), helpers.OVDict)


@BOTH
def test_functions_of_one_name_for_several_types(name: str) -> None:
    overloading = module(name, "utils.decorators").overloading

    @overloading(int, str)
    def described(number: int, text: str) -> str:
        return f"{number} {text}"

    @overloading(str, int)  # type: ignore[no-redef]
    def described(text: str, number: int) -> str:  # noqa: F811
        return f"{text} and {number}"

    assert (described(1, "a"), described("a", 1)) == ("1 a", "a and 1")
    with pytest.raises(TypeError, match="overload for described was not found"):
        described(1.5, 2.5)


@pytest.mark.parametrize(
    ("place", "what"),
    [
        ("frontend.onnx", "ConversionExtension"),
        ("frontend.tensorflow", "GraphIterator"),
        ("frontend.pytorch", "Decoder"),
        ("frontend.pytorch", "inlined_extension"),
        ("frontend.jax", "Decoder"),
    ],
)
def test_what_is_not_offered_can_be_imported_and_reports_it_when_it_is_used(place: str, what: str) -> None:
    with pytest.raises(NotOffered, match="irexec does not offer"):
        getattr(module("irexec", place), what)()


def test_convert_model_reports_what_it_does_not_convert(tmp_path: Path) -> None:
    x = irexec.opset13.parameter([2], np.float32, name="x")
    irexec.save_model(irexec.Model([irexec.opset13.relu(x)], [x], "saved"), tmp_path / "m.xml")
    assert irexec.convert_model(tmp_path / "m.xml", verbose=True).get_friendly_name() == "saved"
    for shape in ([5], {"x": [5]}, [[5]], irexec.PartialShape([5])):
        assert irexec.convert_model(tmp_path / "m.xml", input=shape).input().shape == [5]
    with pytest.raises(NotOffered, match="conversion of function objects"):
        irexec.convert_model(lambda value: value)
    with pytest.raises(NotOffered, match="or with options"):
        irexec.convert_model(tmp_path / "m.xml", output="a")
    with pytest.raises(TypeError, match="'nonsense'"):
        irexec.convert_model(tmp_path / "m.xml", nonsense=1)
    with pytest.raises((OSError, RuntimeError), match=r"nowhere\.onnx"):
        irexec.convert_model(tmp_path / "nowhere.onnx")


def test_families_of_operators() -> None:
    util, ops = module("irexec", "op.util"), irexec.opset13
    x = ops.parameter([2, 3], np.float32)
    assert isinstance(ops.reduce_sum(x, [1]), util.ArithmeticReduction)
    assert isinstance(x + x, util.BinaryElementwiseArithmetic)
    assert not isinstance(x + x, util.BinaryElementwiseComparison)
    assert isinstance(ops.relu(x), util.UnaryElementwiseArithmetic)
    with pytest.raises(NotOffered, match="function of an opset"):
        util.ArithmeticReduction()


@BOTH
def test_modules_that_are_imported_when_they_are_used(name: str) -> None:
    lazy = module(name, "package_utils").LazyLoader("json")
    assert lazy.loads("[1]") == [1]
    assert "dumps" in dir(lazy)
