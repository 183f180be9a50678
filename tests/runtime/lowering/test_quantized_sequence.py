"""DynamicQuantizeLSTM in compiled code: the results of the kernel, except for levels of states that rounding may
change.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")
pytest.importorskip("onnx")

from onnx import helper, numpy_helper
from support.amounts import amount
from support.lowering import forms, kernels, lowered, lowered_engine

import irexec
from irexec.ops.onnx import recurrent_quantized
from irexec.runtime.engine import CompiledModel
from irexec.runtime.lowering.checked import CheckedBackend
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.quantized_sequence import LoweredQuantizedLstm

pytestmark = pytest.mark.any_python


def drawn(seed: int, steps: int, *, zero: int = 0, peepholes: bool = False, **attributes: Any) -> tuple[Any, list[Any]]:
    """Return an ONNX model with one layer, and inputs: x, the lengths, and both states."""
    rng = np.random.default_rng(seed)
    batch, inputs, hidden = (int(rng.integers(1, most)) for most in (6, 40, 90))
    directions = 1 + (attributes.get("direction") == "bidirectional")
    is_signed = seed % 4 < 2
    dtype, middle = (np.int8, zero) if is_signed else (np.uint8, 128 + zero)

    def weights(depth: int) -> np.ndarray:
        return (rng.integers(-100, 100, (directions, depth, 4 * hidden)) + (0 if is_signed else 128)).astype(dtype)

    def scale() -> np.ndarray:
        shape = (directions, 4 * hidden) if seed % 3 else (directions,)
        return (rng.uniform(0.5, 1, shape) * 0.02).astype(np.float32)

    constants = {
        "w": weights(inputs), "r": weights(hidden),
        "b": (rng.standard_normal((directions, 8 * hidden)) * 0.1).astype(np.float32),
        "p": rng.standard_normal((directions, 3 * hidden)).astype(np.float32),
        "ws": scale(), "wz": np.full(directions, middle, dtype),
        "rs": scale(), "rz": np.full(directions, middle, dtype),
    }  # fmt: skip
    names = ["x", "w", "r", "b", "lengths", "h", "c", "p" if peepholes else "", "ws", "wz", "rs", "rz"]
    node = helper.make_node(
        "DynamicQuantizeLSTM", names, ["y", "yh", "yc"], domain="com.microsoft", hidden_size=hidden, **attributes
    )
    states = (rng.standard_normal((2, directions, batch, hidden)) * 0.4).astype(np.float32)
    x = rng.standard_normal((steps, batch, inputs)).astype(np.float32)
    given = [x, rng.integers(0, steps + 1, batch).astype(np.int32), *states]
    kinds = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
        for name, array in zip(("x", "lengths", "h", "c"), given, strict=True)
    ]
    results = [helper.make_tensor_value_info(name, 1, None) for name in ("y", "yh", "yc")]
    stored = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph([node], "graph", kinds, results, stored)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return irexec.read_model(made.SerializeToString()), given


OPTIONS: list[dict[str, Any]] = [
    {},
    {"direction": "reverse", "clip": 0.7},
    {"direction": "bidirectional", "activations": ["Sigmoid", "Relu", "Tanh"] * 2},
    {"direction": "bidirectional", "zero": 20},
]


def is_compiled(model: Any, given: list[Any]) -> bool:
    compiled = lowered_engine(model)
    compiled(given)
    return isinstance(forms(compiled).get("DynamicQuantizeLSTM"), LoweredQuantizedLstm)


@pytest.mark.parametrize("seed", range(amount(16, 8)))
@pytest.mark.parametrize("options", OPTIONS, ids=["forward", "reverse", "relu", "zero points"])
def test_one_step_has_the_results_of_the_kernel(options: dict[str, Any], seed: int) -> None:
    """The states of the first step are quantized from the same numbers."""
    model, given = drawn(seed, 1, **options)
    assert is_compiled(model, given) == compiler().has_bytes
    for found, expected in zip(lowered(model)(given).to_tuple(), kernels(model)(given).to_tuple(), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=["forward", "reverse", "relu", "zero points"])
def test_most_sequences_have_the_results_of_the_kernel(options: dict[str, Any]) -> None:
    """Rounding may change the level of a state."""
    apart = []
    for seed in range(12):
        model, given = drawn(seed, 7, **options)
        pairs = zip(lowered(model)(given).to_tuple(), kernels(model)(given).to_tuple(), strict=True)
        apart.append(max(float(np.abs(found - expected).max()) for found, expected in pairs))
    assert max(apart) < 0.05
    assert np.mean(np.array(apart) < 5e-6) > 0.7


def test_the_same_bits_in_every_call_and_beside_checks() -> None:
    model, given = drawn(3, 9)
    compiled = lowered(model)
    first = [array.tobytes() for array in compiled(given).to_tuple()]
    for _ in range(30):
        assert [array.tobytes() for array in compiled(given).to_tuple()] == first
    CompiledModel(model, CheckedBackend())(given)


def test_layers_without_a_compiled_form() -> None:
    for options in (
        {"peepholes": True},
        {"zero": -120},  # weights minus their zero points have more than 8 bits
        {"input_forget": 1},
        {"activations": ["Sigmoid", "Softsign", "Tanh"]},
        {"activations": ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Relu", "Tanh"], "direction": "bidirectional"},
    ):
        model, given = drawn(1, 3, **options)
        assert not is_compiled(model, given), options
    model, given = drawn(1, 3)
    given[1] = given[1] + 9
    with pytest.raises(irexec.IRError, match="lengths"):
        lowered(model)(given)


def test_the_range_includes_0() -> None:
    levels, zero, step = recurrent_quantized.quantized(np.float32([[2, 4]]))
    assert (levels.tolist(), float(zero), float(step)) == ([[127, 255]], 0, float(np.float32(4) / np.float32(255)))
