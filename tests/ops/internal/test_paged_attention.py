"""PagedAttentionExtension gives what OpenVINO's CPU plugin computes in its first run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.instructions import skip_unless_computed

import irexec.ops.internal  # noqa: F401 - registers the operator
from irexec.ops.spec.operator import REGISTRY

openvino = pytest.importorskip("openvino")
opset = pytest.importorskip("openvino.op")

HEADS, SHARED, SIZE, BLOCK = 4, 2, 32, 32
NAMES = [port.name for port in REGISTRY["PagedAttentionExtension", "ie_internal_opset"].signature.inputs]


def inputs(**changed: Any) -> list[np.ndarray]:
    """Return the inputs for two sequences: one token after 4 positions in blocks 2 and 1, and two tokens in block 0."""
    rng = np.random.default_rng(5)
    reals, none = lambda *shape: rng.standard_normal(shape).astype(np.float32), np.zeros(0, np.int32)
    given: dict[str, Any] = dict.fromkeys(NAMES, none) | {
        "query": reals(3, HEADS * SIZE),
        "key": reals(3, SHARED * SIZE),
        "value": reals(3, SHARED * SIZE),
        "key_cache": reals(3, SHARED, BLOCK, SIZE),
        "value_cache": reals(3, SHARED, BLOCK, SIZE),
        "past_lens": np.int32([40, 0]),
        "subsequence_begins": np.int32([0, 1, 3]),
        "block_indices": np.int32([2, 1, 0]),
        "block_indices_begins": np.int32([0, 2, 3]),
        "scale": np.float32(0.2),
        "score_aggregation_window": np.int32([0, 0]),
        "max_context_len": np.int32(128),
        "sinks": np.zeros((0, 1, 1, 1), np.float32),
        "qq_bias": np.zeros(0, np.uint8),
    }
    given |= dict.fromkeys(("alibi_slopes", "rotation_trig_lut", "xattention_threshold"), np.zeros(0, np.float32))
    scalars = "sliding_window", "xattention_block_size", "xattention_stride", "adaptive_rkv_start_size"
    given |= dict.fromkeys(scalars, np.int32(0)) | changed
    return [np.asarray(given[name]) for name in NAMES]


def of_openvino(arrays: list[np.ndarray]) -> list[np.ndarray]:
    parameters = []
    for name, array in zip(NAMES, arrays, strict=True):
        shape = openvino.PartialShape([-1, *array.shape[1:]] if name.endswith("_cache") else list(array.shape))
        parameters.append(opset.Parameter(openvino.Type(array.dtype), shape))
    layer = opset._PagedAttentionExtension([parameter.output(0) for parameter in parameters])
    for letter in "kv":
        layer.get_rt_info()[f"{letter}_head_size"] = SIZE
        layer.get_rt_info()[f"num_{letter}_heads"] = SHARED
    model = openvino.Model([layer.output(0), layer.output(1)], parameters)
    config = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32"}
    results = openvino.Core().compile_model(model, "CPU", config)([array.copy() for array in arrays])
    return [results[0], results[1]]


ANGLES = np.linspace(0, 3, 3 * SIZE // 2).reshape(3, -1)
TABLE = np.concatenate([np.cos(ANGLES), np.sin(ANGLES)], 1).astype(np.float32)
CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "a window": {"sliding_window": np.int32(3)},
    "slopes": {"alibi_slopes": np.float32([0.1, 0.2, 0.3, 0.4])},
    "sinks": {"sinks": np.float32([1, 2, -1, 0]).reshape(1, 4, 1, 1)},
    "sums": {"score_aggregation_window": np.int32([2, 1])},
    "sums of all tokens": {"score_aggregation_window": np.int32([-1, 2])},
    "rotated blocks": {
        "rotated_block_indices": np.int32([2, 1]), "rotation_deltas": np.int32([[1], [2]]), "rotation_trig_lut": TABLE,
    },
    "rotated positions": {
        "rotated_block_indices": np.int32([2]), "rotation_deltas": np.arange(BLOCK, dtype=np.int32)[None] % 3,
        "rotation_trig_lut": TABLE,
    },
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_as_openvino(case: str) -> None:
    skip_unless_computed("PagedAttentionExtension")
    arrays = inputs(**CASES[case])
    attention, sums, diversity = REGISTRY["PagedAttentionExtension", "ie_internal_opset"](*arrays)
    assert diversity.shape == (0,)
    for found, right in zip((attention, sums), of_openvino(arrays), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-5, atol=2e-6)
