"""Random inputs that operators draw: they satisfy the constraints, and inference without their values is correct."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.cases import broken, data, the

from irexec.core.types import Dimension, ElementType, PartialShape, TensorType
from irexec.ops.spec.operator import Breach

# type, version, port → element type and shape, attributes
CASES: list[tuple[str, int, dict[str, str], dict[str, Any]]] = [
    ("Gather", 8, {"data": "f32 2,5,3", "indices": "i64 2,4", "axis": "i64 "}, {"batch_dims": 1}),
    ("Gather", 1, {"data": "f32 2,5", "indices": "i32 4", "axis": "i32 1"}, {}),
    ("GatherElements", 6, {"data": "f32 2,5", "indices": "i32 2,9"}, {"axis": 1}),
    ("GatherND", 8, {"data": "f32 2,5,4", "indices": "i64 2,3,2"}, {"batch_dims": 1}),
    (
        "GatherTree",
        1,
        {"step_ids": "i32 4,2,3", "parent_ids": "i32 4,2,3", "max_seq_len": "i32 2", "end_token": "i32 "},
        {},
    ),
    ("Slice", 8, {"data": "f32 4,5", "start": "i64 2", "stop": "i64 2", "step": "i64 2", "axes": "i64 2"}, {}),
    ("StridedSlice", 1, {"data": "f32 4,5", "begin": "i64 2", "end": "i64 2", "stride": "i64 2"}, {}),
    ("Split", 1, {"data": "f32 5,6", "axis": "i64 "}, {"num_splits": 3}),
    ("VariadicSplit", 1, {"data": "f32 5,6", "axis": "i64 ", "split_lengths": "i64 3"}, {}),
    ("Pad", 12, {"data": "f32 4,5", "pads_begin": "i64 2", "pads_end": "i64 2"}, {"pad_mode": "reflect"}),
    ("Tile", 1, {"data": "f32 4,5", "repeats": "i64 3"}, {}),
    ("Broadcast", 3, {"data": "f32 4,5", "target_shape": "i64 3"}, {}),
    ("Broadcast", 3, {"data": "f32 4,5", "target_shape": "i64 4", "axes_mapping": "i64 2"}, {"mode": "explicit"}),
    ("Reverse", 1, {"data": "f32 4,5", "axis": "i64 1"}, {"mode": "index"}),
    ("ReverseSequence", 1, {"data": "f32 4,5", "seq_lengths": "i64 4"}, {}),
    ("Roll", 7, {"data": "f32 4,5", "shift": "i64 2", "axes": "i64 2"}, {}),
    ("BatchToSpace", 2, {"data": "f32 4,5", "block_shape": "i64 2", "crops_begin": "i64 2", "crops_end": "i64 2"}, {}),
    ("SpaceToBatch", 2, {"data": "f32 4,5", "block_shape": "i64 2", "pads_begin": "i64 2", "pads_end": "i64 2"}, {}),
    ("Unique", 10, {"data": "f32 4,5", "axis": "i64 1"}, {}),
    ("Col2Im", 15, {"data": "f32 1,4,9", "output_size": "i64 2", "kernel_size": "i64 2"}, {}),
    ("Reshape", 1, {"data": "f32 4,5", "shape": "i64 3"}, {"special_zero": "true"}),
    ("Squeeze", 15, {"data": "f32 4,1,5,1", "axes": "i64 2"}, {}),
    ("Unsqueeze", 1, {"data": "f32 4,5", "axes": "i64 2"}, {}),
    ("Transpose", 1, {"arg": "f32 4,5,6", "input_order": "i64 3"}, {}),
    ("Bucketize", 3, {"data": "f32 4,5", "buckets": "f32 3"}, {}),
    ("Range", 4, {"start": "i64 ", "stop": "i64 ", "step": "i64 "}, {"output_type": "f32"}),
    (
        "Eye",
        9,
        {"num_rows": "i64 ", "num_columns": "i64 1", "diagonal_index": "i64 ", "batch_shape": "i64 2"},
        {"output_type": "f32"},
    ),
    ("OneHot", 16, {"indices": "i64 4", "depth": "i64 ", "on_value": "f32 ", "off_value": "f32 "}, {"axis": 0}),
    ("TopK", 11, {"data": "f32 4,5", "k": "i64 "}, {"axis": 1, "mode": "max", "sort": "value"}),
    ("SearchSorted", 15, {"sorted": "f32 2,5", "values": "f32 2,3"}, {}),
    ("SegmentMax", 16, {"data": "f32 5,2", "segment_ids": "i32 5", "num_segments": "i64 "}, {"fill_mode": "zero"}),
    (
        "SparseFillEmptyRows",
        16,
        {"values": "f32 4", "dense_shape": "i64 2", "indices": "i64 4,2", "default_value": "f32 "},
        {},
    ),
    ("CTCGreedyDecoder", 1, {"data": "f32 6,3,4", "sequence_mask": "f32 6,3"}, {}),
    ("CTCGreedyDecoderSeqLen", 6, {"data": "f32 3,6,4", "sequence_length": "i32 3", "blank_index": "i32 1"}, {}),
    (
        "CTCLoss",
        4,
        {
            "logits": "f32 3,6,4",
            "logit_length": "i32 3",
            "labels": "i64 3,6",
            "label_length": "i32 3",
            "blank_index": "i64 ",
        },
        {},
    ),
]


parametrize = pytest.mark.parametrize(
    ("type", "version", "ports", "attributes"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES]
)


def drawn(type: str, version: int, ports: dict[str, str], values: dict[str, Any]) -> list[np.ndarray]:
    """Return arrays for all ports, as a tool would draw them."""
    op, rng = the(type, version), np.random.default_rng(0)
    types = {}
    for name, text in ports.items():
        kind, shape = text.split(" ")
        types[name] = TensorType(ElementType.by_name[kind], PartialShape.parse(shape))
    for name, wanted in types.items():
        draw = op.oracle.generators.get(name)
        shape = wanted.shape.to_shape()
        array = data(rng, wanted.element_type.name, *shape) if draw is None else draw(rng, name, types, values)
        assert (array.shape, array.dtype) == (shape, wanted.element_type.dtype)
        types[name] = TensorType(wanted.element_type, wanted.shape, array)
    return [t.value for t in types.values() if t.value is not None]


@parametrize
def test_drawn_inputs_run(type: str, version: int, ports: dict[str, str], attributes: dict[str, Any]) -> None:
    op = the(type, version)
    values, _ = op.parse_attributes(attributes)
    arrays = drawn(type, version, ports, values)
    assert broken(op, *arrays, **attributes) == set()
    op(*arrays, **values)


@parametrize
def test_inference_with_less_knowledge_includes_the_actual_result(
    type: str, version: int, ports: dict[str, str], attributes: dict[str, Any]
) -> None:
    """Whatever is unknown of shapes and values, inference reports no error, and its shapes admit the actual ones."""
    op, rng = the(type, version), np.random.default_rng(1)
    values, _ = op.parse_attributes(attributes)
    arrays = drawn(type, version, ports, values)
    results = op(*arrays, **values)
    shapes = [r.shape for r in (results if isinstance(results, (tuple, list)) else [results])]
    for _ in range(60):
        types = [loosened(rng, array) for array in arrays]
        breaches: list[Breach] = []
        outputs = op.infer(types, values, breaches)
        assert breaches == [], list(map(str, types))
        for output, shape in zip(outputs, shapes, strict=False):
            assert output.shape.accepts(shape), f"{output} for {shape}, from {list(map(str, types))}"


def loosened(rng: np.random.Generator, array: np.ndarray) -> TensorType:
    """Return the type of an array, of which some extents, the rank, some values or all are unknown."""
    ways = [lambda n: Dimension(n), lambda n: Dimension(-1), lambda n: Dimension(max(n - 1, 0), n + 2)]
    shape = PartialShape(ways[rng.integers(3)](n) for n in array.shape)
    kind = ElementType.of(array.dtype)
    known = rng.integers(4)
    if known == 0:
        return TensorType(kind, PartialShape.dynamic())
    if known == 1:
        return TensorType(kind, shape)
    if known == 2 and kind.is_integral_number and array.size:
        partial = np.empty(array.size, object)
        # An interval is an extent, so it contains no negative value.
        partial[:] = [
            ways[rng.integers(3)](v) if v >= 0 and rng.integers(2) else int(v) for v in array.ravel().tolist()
        ]
        return TensorType(kind, PartialShape(array.shape), partial=partial.reshape(array.shape))
    return TensorType.of(array)
