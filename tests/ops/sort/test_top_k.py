"""TopK-1, -3, -11."""

from __future__ import annotations

import numpy as np
import pytest
from support.amounts import amount
from support.cases import broken, data, ints, refuses, scalar, the
from support.oracle import infer, openvino, run, tensor

from irexec.core.types import F32, I64

OPS = [the("TopK", v) for v in (1, 3, 11)]
top_k = OPS[-1]


def expected(rows: np.ndarray, k: int, mode: str, sort: str) -> np.ndarray:
    """Return the result of sorting every row completely."""
    picks = [sorted(range(len(r)), key=lambda i: (-r[i] if mode == "max" else r[i], i))[:k] for r in rows.tolist()]
    return np.array([sorted(p) if sort == "index" else p for p in picks])


@pytest.mark.parametrize("mode", ["max", "min"])
@pytest.mark.parametrize("sort", ["value", "index", "none"])
@pytest.mark.parametrize("k", [1, 3, 20, 64])
def test_ties_take_the_lower_index(mode: str, sort: str, k: int) -> None:
    rows = np.random.default_rng(k).integers(0, 9, (5, 64)).astype(np.float32)
    for op in OPS:
        values, indices = run(op, rows, scalar(k), axis=1, mode=mode, sort=sort)
        np.testing.assert_array_equal(indices, expected(rows, k, mode, sort))
        np.testing.assert_array_equal(values, np.take_along_axis(rows, indices.astype(int), 1))


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64", "i8", "u8", "i32", "u32", "i64", "u64"])
def test_every_element_type(kind: str) -> None:
    rows = data(np.random.default_rng(0), kind, 3, 40)
    for mode in ("max", "min"):
        for k in (1, 4, 40):
            values, indices = run(top_k, rows, scalar(k), axis=-1, mode=mode, sort="value", index_element_type="i64")
            np.testing.assert_array_equal(indices, expected(rows.astype(np.float64), k, mode, "value"))
            assert values.dtype == rows.dtype and indices.dtype == np.int64


def test_page_example_of_sort_by_index() -> None:
    line = np.array([5, 3, 1, 2, 5, 5])
    values, indices = run(top_k, line, scalar(4), axis=0, mode="min", sort="index", stable="true")
    assert (values.tolist(), indices.tolist()) == ([5, 3, 1, 2], [0, 1, 2, 3])


def test_extreme_integers() -> None:
    for dtype in (np.int64, np.uint64, np.int8):
        ends = np.array([np.iinfo(dtype).min, 0, np.iinfo(dtype).max], dtype)
        assert run(top_k, ends, scalar(2), axis=0, mode="max", sort="value")[1].tolist() == [2, 1 if ends[0] else 0]
        assert run(top_k, ends, scalar(1), axis=0, mode="min", sort="value")[1].tolist() == [0]


@pytest.mark.parametrize("mode", ["max", "min"])
def test_agrees_with_openvino(mode: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(amount(8, 2)):
        shape = rng.integers(1, 7, rng.integers(1, 4))
        axis = int(rng.integers(-len(shape), len(shape)))
        table = rng.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)
        attributes = {"axis": axis, "mode": mode, "sort": str(rng.choice(["value", "index"]))}
        arrays = (table, scalar(rng.integers(1, shape[axis] + 1)))
        for a, b in zip(
            run(top_k, *arrays, **attributes), openvino(top_k, *arrays, fixed=[1], **attributes), strict=True
        ):
            np.testing.assert_array_equal(a, b)


def test_nan_is_the_greatest() -> None:
    """The pages do not define this; in OpenVINO the result depends on the position of NaN."""
    line = np.array([1, np.nan, 3, -np.inf, np.inf, np.nan] + [0] * 30, np.float32)
    assert run(top_k, line, scalar(3), axis=0, mode="max", sort="value")[1].tolist() == [1, 5, 4]
    assert run(top_k, line, scalar(1), axis=0, mode="max", sort="value")[1].tolist() == [1]
    assert run(top_k, line, scalar(2), axis=0, mode="min", sort="value")[1].tolist() == [3, 6]


def test_empty_dimensions_at_run_time() -> None:
    empty = np.zeros((2, 0), np.float32)
    assert [a.shape for a in top_k(empty, scalar(0), axis=1, mode="max", sort="value")] == [(2, 0)] * 2
    assert [a.shape for a in run(top_k, empty, scalar(0), axis=1, mode="max", sort="value")] == [(2, 0)] * 2
    assert [a.shape for a in run(top_k, empty.T, scalar(1), axis=1, mode="max", sort="value")] == [(0, 1)] * 2


@pytest.mark.parametrize("op", OPS)
def test_constraints(op: object) -> None:
    table, attributes = np.ones((2, 3)), {"mode": "max", "sort": "value"}
    refuses(op, "C1", table, scalar(1), axis=2, **attributes)
    assert "C1" in broken(op, np.array(1.0), scalar(1), axis=0, **attributes)
    assert "C2" in broken(op, table, ints(1), axis=0, **attributes)
    refuses(op, "C3", table, scalar(4), axis=1, **attributes)
    refuses(op, "C3", table, scalar(-1), axis=1, **attributes)
    refuses(op, "C3", table, scalar(0), axis=1, **attributes)
    assert "C3" in broken(op, table, scalar(0), axis=1, **attributes)
    outs, _ = infer(op, [tensor(F32, "?,5..9"), tensor(I64, "")], axis=1, **attributes)
    assert [str(o) for o in outs] == ["f32[?,..9]", "i32[?,..9]"]
    outs, _ = infer(op, [tensor(F32, "..."), tensor(I64, "", 2)], axis=1, **attributes)
    assert [str(o) for o in outs] == ["f32[...]", "i32[...]"]
