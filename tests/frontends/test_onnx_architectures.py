"""Models as PyTorch's exporters write them, compared with ONNX Runtime: small architectures with random weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import irexec

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
pytest.importorskip("torch", reason="PyTorch, which exports the models, is not installed")

from support.torch_exports import ARCHITECTURES, export


@pytest.mark.parametrize("name", ARCHITECTURES)
@pytest.mark.parametrize("dynamo", [False, True], ids=["torchscript", "dynamo"])
def test_beside_onnx_runtime(name: str, dynamo: bool, tmp_path: Path) -> None:
    if dynamo:
        pytest.importorskip("onnxscript", reason="torch's newer exporter needs onnxscript")
    path = tmp_path / f"{name}.onnx"
    inputs = [tensor.numpy() for tensor in export(name, path, dynamo)]
    assert irexec.validate(path).ok
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    fed = dict(zip((value.name for value in session.get_inputs()), inputs, strict=True))
    found = irexec.compile_model(path)(fed)
    for index, wanted in enumerate(session.run(None, fed)):
        assert (found[index].dtype, found[index].shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found[index], wanted, rtol=1e-3, atol=1e-4)
    if not dynamo:
        agrees_as_ir(path, inputs, [found[index] for index in range(len(found))])


def agrees_as_ir(path: Path, inputs: list[np.ndarray], expected: list[np.ndarray]) -> None:
    """Check that OpenVINO reads the converted model and computes the same results."""
    openvino = pytest.importorskip("openvino")
    irexec.save_model(irexec.read_model(path), path.with_suffix(".xml"))
    assert irexec.validate(path.with_suffix(".xml")).ok
    config = {"INFERENCE_PRECISION_HINT": "f32"}
    made = openvino.Core().compile_model(path.with_suffix(".xml"), "CPU", config)(inputs)
    for index, wanted in enumerate(expected):
        np.testing.assert_allclose(made[index], wanted, rtol=1e-3, atol=1e-4)


class Samples:
    """One batch of random values, from which the ranges of a quantized model are determined."""

    def __init__(self, inputs: dict[str, np.ndarray]) -> None:
        self.left = [inputs]

    def get_next(self) -> dict[str, np.ndarray] | None:
        return self.left.pop() if self.left else None


FORMS = [(name, form) for name in ("lenet", "resnet", "mobilenet", "yolo") for form in ("QDQ", "dynamic")]


@pytest.mark.parametrize(("name", "form"), [*FORMS, ("lenet", "QOperator"), ("perceptron", "QOperator")])
def test_quantized_models_beside_onnx_runtime(name: str, form: str, tmp_path: Path) -> None:
    from onnxruntime import quantization

    whole, path = tmp_path / "whole.onnx", tmp_path / "quantized.onnx"
    inputs = [tensor.numpy() for tensor in export(name, whole, dynamo=False)]
    names = [value.name for value in runtime.InferenceSession(whole, providers=["CPUExecutionProvider"]).get_inputs()]
    fed = dict(zip(names, inputs, strict=True))
    if form == "dynamic":
        quantization.quantize_dynamic(whole, path)
    else:
        quantization.quantize_static(whole, path, Samples(fed), quant_format=quantization.QuantFormat[form])
    assert irexec.validate(path).ok
    options = runtime.SessionOptions()
    # With its fusions ONNX Runtime does not round where the file specifies.
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    expected = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, fed)
    found = irexec.compile_model(path)(fed)
    for index, wanted in enumerate(expected):
        # A number that is rounded to the next step of a scale affects later layers.
        np.testing.assert_allclose(found[index], wanted, atol=0.03 * np.abs(wanted).max())


@pytest.mark.parametrize("name", ["perceptron", "mobilenet", "squeeze_and_excite", "transformer", "bert", "vit"])
def test_models_that_onnx_runtime_optimized(name: str, tmp_path: Path) -> None:
    """Models with all fusions run; models in the layout of one processor are rejected, with advice on saving them."""
    whole, path = tmp_path / "whole.onnx", tmp_path / "optimized.onnx"
    inputs = [tensor.numpy() for tensor in export(name, whole, dynamo=False)]
    for level in ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"):
        options = runtime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(path)
        session = runtime.InferenceSession(whole, options, providers=["CPUExecutionProvider"])
        report = irexec.validate(path)
        if level == "ORT_ENABLE_ALL" and not report.ok:
            assert all("ORT_ENABLE_EXTENDED" in (finding.hint or "") for finding in report.errors)
            continue
        fed = dict(zip((value.name for value in session.get_inputs()), inputs, strict=True))
        found = irexec.compile_model(path)(fed)
        for index, wanted in enumerate(session.run(None, fed)):
            np.testing.assert_allclose(found[index], wanted, rtol=1e-3, atol=1e-4)
