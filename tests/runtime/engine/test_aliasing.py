"""The memory of results: never an input's unless that is declared, and `out=` if it is given; for every operator.

The kernel and its specialized form are tested in the same way: equal results, and no input is written to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest
from support.cases import ints, scalar, the
from support.examples import Example, example_of

from irexec.core.types import F16, F32, F64, I32, STRING, ElementType, TensorType
from irexec.ops.spec.contents import everything
from irexec.ops.spec.operator import NodeTypes, Operator, PassThrough
from irexec.ops.spec.traits import Random

# The engine runs their bodies, keeps their state, or has their values.
WITHOUT_KERNEL = {"Const-1", "If-8", "Loop-5", "Parameter-1", "ReadValue-6", "TensorIterator-1"}
OPERATORS = [op for *_, op in everything() if op is not None and str(op) not in WITHOUT_KERNEL]

ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)
IMAGE = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
PAIRS = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
NONE = np.zeros(0, np.int64)
ZEROS = np.zeros(4, np.int64)

# Calls that change nothing, for which an operator might return its input.
NOTHING_TO_DO: list[tuple[str, int, list[np.ndarray], dict[str, Any]]] = [
    ("Add", 1, [ROWS, scalar(0, np.float32)], {}),
    ("BatchToSpace", 2, [IMAGE, ints(1, 1, 1, 1), ZEROS, ZEROS], {}),
    ("Broadcast", 1, [ROWS, ints(2, 3)], {}),
    ("Broadcast", 3, [ROWS, ints(2, 3)], {}),
    ("Clamp", 1, [ROWS], {"min": -9.0, "max": 9.0}),
    ("Concat", 1, [ROWS], {"axis": 0}),
    ("Convert", 1, [ROWS], {"destination_type": "f32"}),
    ("ConvertLike", 1, [ROWS, ROWS.copy()], {}),
    ("ConvertPromoteTypes", 14, [ROWS, ROWS], {}),
    ("CumSum", 3, [ROWS[:, :1], scalar(1)], {}),
    ("DFT", 7, [PAIRS, NONE], {}),
    ("IDFT", 7, [PAIRS, NONE], {}),
    ("IRDFT", 9, [PAIRS, NONE], {}),
    ("RDFT", 9, [ROWS, NONE], {}),
    ("DepthToSpace", 1, [IMAGE], {"mode": "depth_first", "block_size": 1}),
    ("SpaceToDepth", 1, [IMAGE], {"mode": "depth_first", "block_size": 1}),
    ("SpaceToBatch", 2, [IMAGE, ints(1, 1, 1, 1), ZEROS, ZEROS], {}),
    ("Einsum", 7, [ROWS], {"equation": "ij->ij"}),
    ("Einsum", 7, [ROWS], {"equation": "ij->ji"}),
    ("Einsum", 7, [ROWS[:, :2].copy()], {"equation": "ii->i"}),
    ("ExtractImagePatches", 3, [IMAGE], {"sizes": (1, 1), "strides": (1, 1), "rates": (1, 1), "auto_pad": "valid"}),
    ("Floor", 1, [ROWS.astype(np.int32)], {}),
    ("Gather", 8, [ROWS, scalar(0), scalar(0)], {}),
    ("Gather", 8, [ROWS, ints(0, 1), scalar(0)], {}),
    ("GatherND", 8, [ROWS, np.zeros((2, 0), np.int64)], {}),
    ("GatherND", 8, [ROWS, np.zeros((1,), np.int64)], {}),
    ("Interpolate", 4, [IMAGE, ints(4, 4), np.ones(2, np.float32), ints(2, 3)], {"mode": "linear"}),
    ("Interpolate", 4, [IMAGE, ints(4, 4), np.ones(2, np.float32), ints(2, 3)], {"mode": "nearest"}),
    ("MaxPool", 1, [IMAGE], {"strides": (1, 1), "pads_begin": (0, 0), "pads_end": (0, 0), "kernel": (1, 1)}),
    ("Pad", 1, [ROWS, ints(0, 0), ints(0, 0)], {"pad_mode": "constant"}),
    ("Pad", 12, [ROWS, ints(0, 0), ints(0, 0)], {"pad_mode": "edge"}),
    ("Power", 1, [ROWS, scalar(1, np.float32)], {}),
    ("ReduceSum", 1, [ROWS, NONE], {}),
    ("ReduceMean", 1, [ROWS, NONE], {}),
    ("ReduceMax", 1, [ROWS, NONE], {}),
    ("ReduceL1", 4, [ROWS, NONE], {}),
    ("ReduceLogicalAnd", 1, [ROWS > 2, NONE], {}),
    ("Reshape", 1, [ROWS, ints(2, 3)], {"special_zero": False}),
    ("Reverse", 1, [ROWS, NONE], {"mode": "index"}),
    ("ReverseSequence", 1, [ROWS, ints(1, 1)], {}),
    ("Roll", 7, [ROWS, scalar(0), scalar(0)], {}),
    ("Round", 5, [ROWS.astype(np.int32)], {}),
    ("ScatterElementsUpdate", 3, [ROWS, NONE.reshape(0, 3), ROWS[:0], scalar(0)], {}),
    ("ScatterNDUpdate", 15, [ROWS, NONE.reshape(0, 1), ROWS[:0]], {}),
    ("ScatterUpdate", 3, [ROWS, NONE, ROWS[:0], scalar(0)], {}),
    ("Select", 1, [np.array(True), ROWS, ROWS], {}),
    ("ShuffleChannels", 1, [IMAGE], {"axis": 1, "group": 1}),
    ("Slice", 8, [ROWS, ints(0), ints(2), ints(1), ints(0)], {}),
    ("SliceScatter", 15, [ROWS, ROWS[:0], ints(0), ints(0), ints(1), ints(0)], {}),
    ("Split", 1, [ROWS, scalar(0)], {"num_splits": 1}),
    ("Squeeze", 1, [ROWS, NONE], {}),
    ("StridedSlice", 1, [ROWS, ints(0), ints(2), ints(1)], {"begin_mask": (0,), "end_mask": (0,)}),
    ("Tile", 1, [ROWS, ints(1, 1)], {}),
    ("TopK", 11, [ROWS[:, ::-1].copy(), scalar(3)], {"axis": 1, "mode": "max", "sort": "value"}),
    ("Transpose", 1, [ROWS, ints(0, 1)], {}),
    ("Unique", 10, [ROWS.reshape(-1)], {}),
    ("VariadicSplit", 1, [ROWS, scalar(0), ints(2)], {}),
]
NOTHING_TO_DO = [
    (type, version, arrays, attributes | ({"shape_calculation_mode": "sizes"} if type == "Interpolate" else {}))
    for type, version, arrays, attributes in NOTHING_TO_DO
]


def forms(op: Operator, example: Example) -> Iterator[Callable[..., Any] | PassThrough]:
    """Yield the callables that the engine would run: the kernel, and its specialized forms for no and for all
    constants.
    """
    arrays, attributes = example
    yield partial(op.kernel, **op.bind(attributes))
    if op.specializer is None:
        return
    inputs = tuple(TensorType.of(a) for a in arrays)
    absent = (None,) * (len(op.inputs) - len(arrays))
    outputs = tuple(op.infer(inputs, attributes))
    for constants in ((None,) * len(arrays), (None, *arrays[1:])):
        call = op.specializer(NodeTypes((*inputs, *absent), outputs, (*constants, *absent), attributes))
        if call is not None:
            yield call


def takes_out(op: Operator, call: Callable[..., Any]) -> bool:
    return op.signature.takes_out and not isinstance(call, PassThrough)


def listed(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def content(array: np.ndarray) -> Any:
    return array.tolist() if array.dtype.kind == "T" else (array.dtype, array.shape, array.tobytes())


def strided(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return an array whose elements are not adjacent in memory."""
    return np.empty((*shape, 2), dtype)[..., 0]


def check_memory(op: Operator, example: Example) -> None:
    arrays = example.arrays
    names = [op.signature.input(i).name for i in range(len(arrays))]
    before = [content(a) for a in arrays]
    expected = [np.asarray(r) for r in listed(op(*arrays, **example.attributes))]
    for form in forms(op, example):
        own = takes_out(op, form)
        call = form.call if isinstance(form, PassThrough) else form
        results = listed(call(*arrays))
        for result, wanted in zip(results, expected, strict=True):
            assert content(np.asarray(result)) == content(wanted)
            for name, array in zip(names, arrays, strict=True):
                if own or name not in op.view:
                    assert not np.may_share_memory(result, array), f"{name} is handed on"
        assert [content(a) for a in arrays] == before, "an input is written to"
        if own:
            check_out(op, call, arrays, expected[0])
            assert [content(a) for a in arrays] == before, "an input is written to"


def check_out(op: Operator, call: Callable[..., Any], arrays: list[np.ndarray], expected: np.ndarray) -> None:
    for out in (np.empty(expected.shape, expected.dtype), strided(expected.shape, expected.dtype)):
        assert call(*arrays, out=out) is out
        assert content(out) == content(expected), f"out with strides {out.strides} of {expected.shape}"
    for place, array in enumerate(arrays):
        alike = (array.dtype, array.shape) == (expected.dtype, expected.shape)
        if alike and op.signature.input(place).name in op.inplace:
            own = array.copy()
            assert call(*arrays[:place], own, *arrays[place + 1 :], out=own) is own
            assert content(own) == content(expected), f"in place of input {place}"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [F32, F16, F64, I32, STRING], ids=str)
@pytest.mark.parametrize("op", OPERATORS, ids=str)
def test_results_are_their_own(op: Operator, kind: ElementType) -> None:
    example = example_of(op, kind)
    if example is None:
        assert kind is not F32, "support/examples.py finds no shapes for this operator"
        return
    if Random not in op.traits:
        check_memory(op, example)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("type", "version", "arrays", "attributes"), NOTHING_TO_DO, ids=[f"{c[0]}-{c[1]}" for c in NOTHING_TO_DO]
)
def test_results_are_their_own_where_nothing_is_to_do(
    type: str, version: int, arrays: list[np.ndarray], attributes: dict[str, Any]
) -> None:
    op = the(type, version)
    values, problems = op.parse_attributes(attributes)
    assert not problems
    check_memory(op, Example(arrays, values))
