"""One operator as a model, run by ONNX Runtime and by irexec."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx

import irexec

_KINDS = {ml_dtypes.int4: 22, ml_dtypes.uint4: 21, ml_dtypes.bfloat16: 16}


def kind_of(array: np.ndarray) -> int:
    return _KINDS.get(array.dtype.type) or onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def model_of(
    type: str,
    inputs: Sequence[Any],
    attributes: dict[str, Any],
    outputs: int,
    constants: Sequence[int] = (),
    domain: str = "com.microsoft",
    opset: int = 17,
) -> tuple[Any, dict[str, np.ndarray]]:
    """Return the model and its inputs: inputs that are None are omitted, those in `constants` are initializers."""
    names = ["" if array is None else f"x{i}" for i, array in enumerate(inputs)]
    made = [f"y{i}" for i in range(outputs)]
    node = onnx.helper.make_node(type, names, made, domain=domain, **attributes)
    fed = {n: a for i, (n, a) in enumerate(zip(names, inputs, strict=True)) if a is not None and i not in constants}
    given = [onnx.helper.make_tensor_value_info(n, kind_of(a), a.shape) for n, a in fed.items()]
    stored = [onnx.numpy_helper.from_array(inputs[i], names[i]) for i in constants if inputs[i] is not None]
    graph = onnx.helper.make_graph(
        [node], "g", given, [onnx.helper.make_empty_tensor_value_info(y) for y in made], stored
    )
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9), fed


def beside_onnx_runtime(model: Any, fed: dict[str, np.ndarray], folder: Path) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the results of ONNX Runtime and of irexec, by output."""
    import onnxruntime

    path = folder / "model.onnx"
    onnx.save(model, path)
    quiet = onnxruntime.SessionOptions()
    quiet.log_severity_level, quiet.intra_op_num_threads = 4, 1
    expected = onnxruntime.InferenceSession(path, quiet, providers=["CPUExecutionProvider"]).run(None, fed)
    found = irexec.compile_model(path)(fed)
    return [(wanted, found[f"y{i}"]) for i, wanted in enumerate(expected)]


def assert_close(got: np.ndarray, wanted: np.ndarray, atol: float) -> None:
    """Assert that arrays agree to 1e-4 of each number, or `atol`."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if wanted.dtype == np.uint8:
        # ONNX Runtime's kernels round products of scales in another order, which may change a number by one.
        assert np.abs(got.astype(int) - wanted.astype(int)).max() <= 1
    else:
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=atol)
