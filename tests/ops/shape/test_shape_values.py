"""Shapes that layers compute: their values known to inference, including dimensions that are intervals."""

from __future__ import annotations

import numpy as np
from support.cases import chain, ints, scalar, the
from support.oracle import tensor

from irexec.core.types import F32, I64, Dimension, PartialShape, TensorType, as_dimension

shape_of, gather, concat = the("ShapeOf", 3), the("Gather", 8), the("Concat", 1)
reshape, squeeze, unsqueeze = the("Reshape", 1), the("Squeeze", 1), the("Unsqueeze", 1)
strided, slice_, broadcast = the("StridedSlice", 1), the("Slice", 8), the("Broadcast", 3)
image = tensor(F32, "?,3,32..64,8")


def known(value: TensorType) -> list[str]:
    return [str(v) for v in value.known or ["unknown"]]


def shape() -> TensorType:
    return chain(shape_of, image)


def test_gather_concat_reshape() -> None:
    batch = chain(gather, shape(), ints(0), scalar(0))
    assert known(batch) == ["?"]
    target = chain(concat, batch, ints(3, -1), axis=0)
    assert known(target) == ["?", "3", "-1"]
    assert str(chain(reshape, image, target, special_zero="false").shape) == "[?,3,?]"


def test_a_single_element_becomes_a_vector_again() -> None:
    height = chain(gather, shape(), scalar(2), scalar(0))
    assert (str(height.shape), known(height)) == ("[]", ["32..64"])
    again = chain(unsqueeze, height, scalar(0))
    assert (str(again.shape), known(again)) == ("[1]", ["32..64"])
    assert known(chain(squeeze, again, ints(0))) == ["32..64"]


def test_slices() -> None:
    assert known(chain(strided, shape(), ints(1), ints(3))) == ["3", "32..64"]
    assert known(chain(strided, shape(), ints(2), ints(3), shrink_axis_mask="1")) == ["32..64"]
    assert known(chain(slice_, shape(), ints(-1), ints(-5), ints(-1))) == ["8", "32..64", "3", "?"]


def test_more_that_moves_values() -> None:
    assert known(chain(the("Reverse", 1), shape(), ints(0), mode="index")) == ["8", "32..64", "3", "?"]
    assert known(chain(the("Roll", 7), shape(), scalar(1), scalar(0))) == ["8", "?", "3", "32..64"]
    assert known(chain(the("Tile", 1), chain(strided, shape(), ints(2), ints(4)), ints(2))) == ["32..64", "8"] * 2
    assert known(chain(the("Split", 1), shape(), scalar(0), num_splits=2)) == ["?", "3"]
    assert known(chain(the("VariadicSplit", 1), shape(), scalar(0), ints(1, 3))) == ["?"]
    assert known(chain(the("Pad", 12), shape(), ints(1), ints(0), scalar(7), pad_mode="constant"))[:2] == ["7", "?"]
    square = chain(reshape, shape(), ints(2, 2), special_zero="false")
    assert known(chain(the("Transpose", 1), square, ints(1, 0))) == ["?", "32..64", "3", "8"]
    assert known(chain(the("GatherElements", 6), shape(), ints(2, 2), axis=0)) == ["32..64"] * 2
    assert known(chain(the("GatherND", 8), shape(), np.array([[2], [3]]))) == ["32..64", "8"]


def test_shapes_made_of_values() -> None:
    tail = chain(strided, shape(), ints(1), ints(4))
    assert str(chain(broadcast, tensor(F32, "1"), tail).shape) == "[3,32..64,8]"
    height = chain(gather, shape(), scalar(2), scalar(0))
    assert str(chain(the("Range", 4), scalar(0), height, scalar(1), output_type="i64").shape) == "[32..64]"
    assert str(chain(the("Eye", 9), height, height, scalar(0), output_type="f32").shape) == "[32..64,32..64]"
    one, zero = np.array(1, np.float32), np.array(0, np.float32)
    assert str(chain(the("OneHot", 1), tensor(I64, "2"), height, one, zero, axis=-1).shape) == "[2,32..64]"
    outputs = chain(the("TopK", 11), tensor(F32, "100"), height, axis=0, mode="max", sort="value")
    assert str(outputs.shape) == "[32..64]"
    assert str(chain(the("Tile", 1), tensor(F32, "2"), chain(unsqueeze, height, scalar(0))).shape) == "[64..128]"
    size = chain(unsqueeze, height, scalar(0))
    assert str(chain(slice_, tensor(F32, "100"), ints(0), size, ints(1)).shape) == "[32..64]"
    begin = chain(the("Pad", 12), tensor(F32, "10"), size, ints(-2), pad_mode="constant")
    assert str(begin.shape) == "[40..72]"


def test_a_static_shape_is_known_whole() -> None:
    static = chain(shape_of, tensor(F32, "2,3,4"))
    part = chain(gather, static, ints(2, 0), scalar(0))
    assert part.value is not None and part.value.tolist() == [4, 2] and part.value.dtype == np.int64
    target = chain(concat, part, ints(-1), axis=0)
    assert str(chain(reshape, tensor(F32, "2,3,4"), target, special_zero="false").shape) == "[4,2,3]"
    assert chain(the("Range", 4), scalar(1), scalar(7), scalar(2), output_type="i32").ints == [1, 3, 5]


def test_known_intervals_hold_the_values() -> None:
    """The results of layers that move values contain the actual values, also if some values are intervals."""
    rng = np.random.default_rng(0)
    moves = [
        (gather, [ints(3, 0, -1), scalar(0)], {}),
        (slice_, [ints(4), ints(-9), ints(-2)], {}),
        (strided, [ints(1), ints(5), ints(2)], {}),
        (reshape, [ints(2, -1)], {"special_zero": "false"}),
        (unsqueeze, [ints(0)], {}),
        (broadcast, [ints(2, 6)], {}),
        (the("Tile", 1), [ints(2)], {}),
        (the("Roll", 7), [scalar(2), scalar(0)], {}),
        (the("Reverse", 1), [ints(0)], {"mode": "index"}),
        (the("Pad", 12), [ints(1), ints(-2)], {"pad_mode": "constant"}),
        (the("Pad", 12), [ints(2), ints(1)], {"pad_mode": "reflect"}),
        (the("GatherElements", 6), [ints(5, 1, 1)], {"axis": 0}),
    ]
    for op, others, attributes in moves:
        values = rng.integers(0, 9, 6)
        partial = np.empty(6, object)
        partial[:] = [int(v) if rng.integers(2) else Dimension(max(int(v) - 1, 0), int(v) + 2) for v in values]
        partial[0] = Dimension(-1)
        found = chain(op, TensorType(I64, PartialShape([6]), partial=partial), *others, **attributes)
        parsed, _ = op.parse_attributes(attributes)
        real = op(values, *others, **parsed)
        assert found.known is not None, op
        for one, value in zip(found.known, real.ravel().tolist(), strict=True):
            assert as_dimension(one).contains(value), op
