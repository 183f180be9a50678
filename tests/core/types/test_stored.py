"""Constants that stay bytes until they are computed with: properties read from the bytes equal those of the array."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from irexec.core.diagnostics.findings import Findings
from irexec.core.types import BOOLEAN, F16, F32, F64, I4, I64, STRING, U8, ElementType, PartialShape, Stored, TensorType
from irexec.ir.weights.file import Weights

PLAIN = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bf16", "boolean", "i4", "u1"]


def stored(raw: bytes, kind: ElementType, shape: tuple[int, ...]) -> Stored:
    found = Weights(raw).constant(kind, shape, 0, len(raw), Findings())
    assert found is not None
    return found


@pytest.mark.parametrize("name", PLAIN)
def test_values_are_those_of_the_array(name: str) -> None:
    kind = ElementType.by_name[name]
    raw = bytes(range(1, 1 + kind.nbytes(24)))
    found = stored(raw, kind, (2, 3, 4))
    assert found.values == found.array.reshape(-1).tolist()
    assert found.array.dtype == kind.dtype and found.array.shape == found.shape == (2, 3, 4)
    assert found.size == 24
    assert found.array is found.array and not found.array.flags.writeable


@pytest.mark.parametrize("name", PLAIN)
def test_a_type_of_it_knows_what_a_type_of_its_array_knows(name: str) -> None:
    kind = ElementType.by_name[name]
    for shape in ((), (1,), (5,), (0,)):
        found = stored(bytes(range(3, 3 + kind.nbytes(int(np.prod(shape))))), kind, shape)
        lazy = TensorType(kind, PartialShape(shape), found)
        known = TensorType(kind, PartialShape(shape), found.array)
        assert (lazy.known, lazy.ints, lazy.scalar) == (known.known, known.ints, known.scalar)
        assert lazy.has_value and lazy.value is found.array
        assert not lazy.without_value().has_value


def test_an_infinite_number_is_not_an_extent() -> None:
    found = stored(np.float32([1, np.inf]).tobytes(), F32, (2,))
    assert TensorType(F32, PartialShape((2,)), found).known is None


def test_equal_constants_have_equal_keys() -> None:
    one, other = (stored(b"\1" * 16, I64, (2,)) for _ in range(2))
    assert one.key == other.key
    assert one.key != stored(b"\1" * 16, F64, (2,)).key
    assert one.key != stored(b"\1" * 16, I64, (2, 1)).key


def test_copies_hold_the_same() -> None:
    for found in (stored(b"\1\2", I4, (3,)), stored(b"\2\1", BOOLEAN, (2,)), stored(bytes(8), STRING, (0,))):
        for again in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
            assert np.array_equal(again.array, found.array) and again.element_type is found.element_type


@pytest.mark.parametrize("kind", [F16, F32, F64])
@pytest.mark.parametrize("count", [3, 1 << 16])
def test_numbers_near_the_greatest_are_numbers(kind: ElementType, count: int) -> None:
    """A check of the bytes, or of the sum, first decides whether all values are finite; both must agree with the
    values.
    """
    assert kind.dtype is not None
    values = np.full(count, np.finfo(kind.dtype).max, kind.dtype)
    for spoilt, said in ((None, []), (np.nan, ["C011"]), (-np.inf, ["C011"])):
        if spoilt is not None:
            values[1] = spoilt
        findings = Findings()
        Weights(values.tobytes()).constant(kind, (count,), 0, values.nbytes, findings)
        assert [finding.code for finding in findings.report] == said


def test_a_byte_of_a_boolean_is_0_or_1() -> None:
    findings = Findings()
    found = Weights(b"\0\1\7\2").constant(BOOLEAN, (4,), 0, 4, findings)
    assert found is not None and found.values == [False, True, True, True] == found.array.tolist()
    assert [finding.message for finding in findings.report] == [
        "a byte of the boolean constant is 7 and is treated as true"
    ]
    assert stored(b"\7", U8, (1,)).values == [7]
