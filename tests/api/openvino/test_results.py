"""Results of requests and of calls, compared with OpenVINO: their memory and their form."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.waiting import PATIENCE

import irexec

openvino = pytest.importorskip("openvino")
BOTH = pytest.mark.parametrize("ov", [irexec, openvino], ids=["irexec", "openvino"])
PLAIN = {"INFERENCE_PRECISION_HINT": "f32"}


def through(ov: Any, kind: str, shape: list[int]) -> Any:
    """Return a compiled model whose result is its input."""
    ops = ov.opset13 if ov is irexec else __import__("openvino.opset13").opset13
    x = ops.parameter(shape, getattr(ov.Type, kind), name="x")
    return ov.Core().compile_model(ov.Model([ops.result(x)], [x], "through"), "CPU", PLAIN)


def doubling(ov: Any) -> Any:
    ops = ov.opset13 if ov is irexec else __import__("openvino.opset13").opset13
    x = ops.parameter([2], np.float32, name="x")
    return ov.Core().compile_model(ov.Model([ops.add(x, x)], [x], "doubling"), "CPU", PLAIN)


def array(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@BOTH
def test_results_are_the_callers_own_memory(ov: Any) -> None:
    request = doubling(ov).create_infer_request()
    results = request.infer([array(1, 2)])
    assert not np.shares_memory(results[0], request.get_output_tensor().data)
    results[0][...] = 77
    assert request.get_output_tensor().data.tolist() == [2, 4]
    assert request.results[0].tolist() == [2, 4]
    request.results[0][...] = 77
    assert request.results[0].tolist() == [2, 4]


@BOTH
def test_shared_results_are_the_requests_memory(ov: Any) -> None:
    request = doubling(ov).create_infer_request()
    first = request.infer([array(1, 2)], share_outputs=True)[0]
    assert np.shares_memory(first, request.get_output_tensor().data)
    assert not first.flags.owndata
    request.infer([array(3, 4)], share_outputs=True)
    assert first.tolist() == [6, 8]


@BOTH
def test_an_output_tensor_is_filled_by_every_inference(ov: Any) -> None:
    request = doubling(ov).create_infer_request()
    request.infer([array(1, 2)])
    tensor = request.get_output_tensor()
    request.infer([array(3, 4)])
    assert tensor.data.tolist() == [6, 8]
    request.start_async([array(5, 6)])
    assert request.wait_for(int(1000 * PATIENCE))
    assert tensor.data.tolist() == [10, 12]


@BOTH
def test_shared_results_of_calls_are_overwritten_and_others_are_not(ov: Any) -> None:
    compiled = doubling(ov)
    kept, shared = compiled([array(1, 2)])[0], compiled([array(1, 2)], share_outputs=True)[0]
    compiled([array(3, 4)], share_outputs=True)
    assert (kept.tolist(), shared.tolist()) == ([2, 4], [6, 8])


@BOTH
def test_a_float16_array_holds_the_bits_of_a_bf16_input(ov: Any) -> None:
    """The bits of 1.0 in bf16 are 1.875 as float16: the input must not become a bf16 of 1.875."""
    ops = ov.opset13 if ov is irexec else __import__("openvino.opset13").opset13
    x, y = (ops.parameter([2], ov.Type.bf16, name=name) for name in "xy")
    wide = ops.convert(ops.concat([x, y], 0), "f32")
    compiled = ov.Core().compile_model(ov.Model([wide], [x, y], "concat"), "CPU", PLAIN)
    bits = np.array([1, 2], ml_dtypes.bfloat16).view(np.float16)
    tensor = ov.Tensor(bits, ov.Shape([2]), ov.Type.bf16)
    assert tensor.data.tolist() == [1.875, 2.0]
    for run in (compiled, compiled.create_infer_request().infer):
        for inputs in ([tensor, bits], {"x": bits, "y": tensor}, {0: tensor, 1: bits}):
            assert run(inputs)[0].tolist() == [1, 2, 1, 2]


@BOTH
@pytest.mark.parametrize(
    ("kind", "dtype", "shape"),
    [
        ("bf16", np.float16, (2, 8)),
        ("f8e4m3", np.uint8, (2, 8)),
        ("u4", np.uint8, (8,)),
        ("i4", np.int8, (8,)),
        ("u2", np.uint8, (4,)),
        ("nf4", np.uint8, (8,)),
    ],
)
def test_results_have_the_form_of_tensors(ov: Any, kind: str, dtype: type, shape: tuple[int, ...]) -> None:
    tensor = ov.Tensor(getattr(ov.Type, kind), ov.Shape([2, 8]))
    tensor.data[...] = np.arange(tensor.data.size).reshape(tensor.data.shape)
    compiled = through(ov, kind, [2, 8])
    request = compiled.create_infer_request()
    request.infer([tensor])
    for result in (compiled([tensor])[0], request.results[0], request.infer([tensor], share_outputs=True)[0]):
        assert (result.dtype, result.shape) == (dtype, shape)
        assert result.tolist() == tensor.data.tolist()


def test_the_own_function_returns_arrays_of_ml_dtypes() -> None:
    """Arrays of `irexec.compile_model` have the values and the shape that the model declares."""
    x = irexec.opset13.parameter([2, 8], irexec.Type.u4, name="x")
    model = irexec.Model([irexec.opset13.result(x)], [x], "through")
    given = np.arange(16).reshape(2, 8).astype(ml_dtypes.uint4)
    for compiled in (irexec.compile_model(model), irexec.CompiledModel(irexec.compile_model(model))):
        result = compiled([given])[0]
        assert (result.dtype, result.tolist()) == (given.dtype, given.tolist())


@BOTH
def test_whether_a_request_is_done(ov: Any) -> None:
    request = doubling(ov).create_infer_request()
    assert not request.wait_for(1)
    request.infer([array(1, 2)])
    assert request.wait_for(1)


@BOTH
def test_tensors_of_another_type_or_shape_are_refused(ov: Any) -> None:
    compiled = doubling(ov)
    request = compiled.create_infer_request()
    for wrong in (
        lambda: compiled([ov.Tensor(np.float16([1, 2]))]),
        lambda: compiled({"x": ov.Tensor(np.float16([1, 2]))}),
        lambda: request.set_output_tensor(0, ov.Tensor(array(1, 2, 3))),
    ):
        with pytest.raises(RuntimeError):
            wrong()


@BOTH
def test_properties_that_compiled_models_return_as_texts(ov: Any) -> None:
    compiled = doubling(ov)
    names = ("PERF_COUNT", "PERFORMANCE_HINT", "PERFORMANCE_HINT_NUM_REQUESTS", "NETWORK_NAME")
    assert [compiled.get_property(name) for name in names] == ["NO", "LATENCY", "0", "doubling"]


@BOTH
def test_a_parameter_that_was_removed_is_missing_when_the_model_is_used(ov: Any) -> None:
    ops = ov.opset13
    x = ops.parameter([2], np.float32, name="x")
    model = ov.Model([ops.relu(x)], [x], "m")
    model.remove_parameter(x)
    for use in (model.clone, lambda: ov.Core().compile_model(model, "CPU")):
        with pytest.raises(RuntimeError, match="undeclared parameters"):
            use()


@BOTH
def test_layouts_that_do_not_fit_are_refused(ov: Any) -> None:
    ops = ov.opset13
    assert str(ov.Layout("").to_string()) == "[...]"
    x = ops.parameter([2, 3], np.float32, name="x")
    x.set_layout(ov.Layout("N..."))
    for text in ("NHWC", "N...CHW"):
        with pytest.raises(RuntimeError):
            x.set_layout(ov.Layout(text))
    steps = ov.preprocess.PrePostProcessor(ov.Model([ops.relu(x)], [x], "m"))
    steps.input().tensor().set_layout(ov.Layout("NHWC"))
    with pytest.raises(RuntimeError):
        steps.build()
