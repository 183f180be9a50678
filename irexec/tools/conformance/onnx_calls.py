"""Calls of single ONNX nodes: those of ONNX's own node tests, and a few with inputs that no node test has."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from irexec.core.types import Array
from irexec.frontends.onnx.definitions import Definition, NoSuchOperator, definition

_LARGEST = 1 << 16
"""The number of elements up to which an input is used: larger ones test nothing else."""
_WRITTEN: dict[str, tuple[str, Mapping[str, Any], list[Any]]] = {
    "conv_bias": ("Conv", {}, [(1, 2, 5, 5), (4, 2, 3, 3), (4,)]),
    "convtranspose_bias": ("ConvTranspose", {}, [(1, 2, 4, 4), (2, 3, 3, 3), (3,)]),
    "gru_lengths": ("GRU", {"hidden_size": 3}, [(4, 2, 2), (1, 9, 2), (1, 9, 3), (1, 18), [4, 2], (1, 2, 3)]),
    "rnn_lengths": ("RNN", {"hidden_size": 3}, [(4, 2, 2), (1, 3, 2), (1, 3, 3), (1, 6), [4, 2], (1, 2, 3)]),
    "lstm_lengths": (
        "LSTM",
        {"hidden_size": 3},
        [(4, 2, 2), (1, 12, 2), (1, 12, 3), (1, 24), [4, 2], (1, 2, 3), (1, 2, 3), (1, 9)],
    ),
    "gru_reverse": ("GRU", {"hidden_size": 3, "direction": "reverse"}, [(4, 2, 2), (1, 9, 2), (1, 9, 3), (1, 18)]),
    "lstm_both": (
        "LSTM",
        {"hidden_size": 3, "direction": "bidirectional"},
        [(4, 2, 2), (2, 12, 2), (2, 12, 3), (2, 24)],
    ),
    "globallppool": ("GlobalLpPool", {}, [(1, 3, 4, 4)]),
    "maxroipool": (
        "MaxRoiPool",
        {"pooled_shape": [2, 2]},
        [(1, 2, 8, 8), np.array([[0, 0, 0, 5, 5], [0, 1, 2, 6, 7]], np.float32)],
    ),
}
"""Name → operator, attributes, and inputs: the shape of a float input, or its values."""


class OnnxCall(NamedTuple):
    """A node with the arrays of its inputs. `outputs`: the types of its outputs in onnx's numbers; None: not known."""

    node: Any
    definition: Definition
    opset: int
    inputs: Mapping[str, Array]
    outputs: tuple[int | None, ...]


@cache
def calls() -> dict[str, dict[str, OnnxCall]]:
    """Return the calls by operator, such as `onnx.LSTM-22`, and by name."""
    found: dict[str, dict[str, OnnxCall]] = {}
    for name, call in [*_tested(), *_written()]:
        found.setdefault(f"onnx.{call.definition.type}-{call.definition.since}", {})[name] = call
    return dict(sorted(found.items()))


def _tested() -> list[tuple[str, OnnxCall]]:
    """Return the calls of ONNX's node tests with one node, whose inputs and outputs are tensors."""
    made = (_call_of(case) for case in _node_tests() if not case.name.endswith("_expanded"))
    return [call for call in made if call is not None]


def _node_tests() -> list[Any]:
    """Return ONNX's node tests. Some draw their values: always the same ones here."""
    state = np.random.get_state()
    np.random.seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from onnx.backend.test.case.node import collect_testcases

            return list(collect_testcases(None))
    finally:
        np.random.set_state(state)


def _call_of(case: Any) -> tuple[str, OnnxCall] | None:
    graph = case.model.graph
    values = [*graph.input, *graph.output]
    if len(graph.node) != 1 or any(value.type.WhichOneof("value") != "tensor_type" for value in values):
        return None
    node, opset = graph.node[0], next((e.version for e in case.model.opset_import if not e.domain), 0)
    try:
        entry = definition(node.op_type, opset, node.domain)
    except NoSuchOperator:
        return None
    inputs = {value.name: _array(item) for value, item in zip(graph.input, case.data_sets[0][0], strict=False)}
    if node.domain or any(array.size > _LARGEST for array in inputs.values()):
        return None
    outputs = {value.name: value.type.tensor_type.elem_type for value in graph.output}
    call = OnnxCall(node, entry, opset, inputs, tuple(outputs.get(name) for name in node.output))
    return case.name.removeprefix("test_"), call


def _array(item: Any) -> Array:
    from onnx import TensorProto, numpy_helper

    array = np.asarray(numpy_helper.to_array(item) if isinstance(item, TensorProto) else item)
    return array.astype(np.dtypes.StringDType()) if array.dtype.kind in "OUS" else array


def _written() -> list[tuple[str, OnnxCall]]:
    from onnx import helper

    found, draw = [], np.random.default_rng(0).standard_normal
    for name, (type, attributes, given) in _WRITTEN.items():
        opset = 22
        entry = definition(type, opset, "")
        arrays = [_given(value, draw) for value in given]
        names = [port.name for port in entry.ports[: len(arrays)]]
        node = helper.make_node(type, names, [f"y{i}" for i in range(entry.most_outputs)], **attributes)
        inputs = dict(zip(names, arrays, strict=True))
        found.append((name, OnnxCall(node, entry, opset, inputs, (None,) * entry.most_outputs)))
    return found


def _given(value: Any, draw: Callable[..., Array]) -> Array:
    if isinstance(value, tuple):
        return draw(value).astype(np.float32)
    return value if isinstance(value, np.ndarray) else np.array(value, np.int32)
