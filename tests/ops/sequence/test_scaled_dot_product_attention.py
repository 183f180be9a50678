"""ScaledDotProductAttention: the page's formula, OpenVINO, constraints, masks and edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracle import infer, openvino, run, tensor

from irexec.core.threads import parallel
from irexec.core.types import BOOLEAN, F16, F32, TensorType
from irexec.ops.spec.contents import find
from irexec.ops.spec.operator import ConstraintError, Operator


def op() -> Operator:
    found = find("ScaledDotProductAttention", "opset13")
    assert found is not None
    return found


def inputs(*batch: int, length: int = 5, sources: int = 6, e: int = 8, ev: int = 7, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = [(*batch, length, e), (*batch, sources, e), (*batch, sources, ev)]
    return [rng.normal(size=s).astype(np.float32) for s in shapes]


def formula(q: Any, k: Any, v: Any, bias: Any = 0.0, scale: float | None = None) -> np.ndarray:
    """Return the result of the page's pseudo-code, in f64."""
    scores = q.astype(np.float64) @ k.astype(np.float64).swapaxes(-1, -2)
    scores = scores * (1 / np.sqrt(q.shape[-1]) if scale is None else scale) + bias
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("batch", [(2,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize("causal", [False, True])
def test_the_formula(batch: tuple[int, ...], causal: bool) -> None:
    q, k, v = inputs(*batch)
    bias = np.triu(np.full((5, 6), -np.inf), 1) if causal else 0.0
    np.testing.assert_allclose(run(op(), q, k, v, causal=causal)[0], formula(q, k, v, bias), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["none", "causal", "added", "one row", "boolean", "scaled"])
def test_agrees_with_openvino(kind: str) -> None:
    q, k, v = inputs(2, 3)
    rng = np.random.default_rng(1)
    more: dict[str, list[Any]] = {
        "added": [rng.normal(size=(2, 1, 5, 6)).astype(np.float32)],
        "one row": [rng.normal(size=(2, 1, 1, 6)).astype(np.float32)],
        "boolean": [np.concatenate([np.ones((2, 1, 5, 1), bool), rng.random((2, 1, 5, 5)) < 0.5], -1)],
        "scaled": [np.zeros((2, 1, 5, 6), np.float32), np.array(0.3, np.float32)],
    }
    arrays = [q, k, v, *more.get(kind, [])]
    theirs = openvino(op(), *arrays, causal=kind == "causal")[0]
    np.testing.assert_allclose(run(op(), *arrays, causal=kind == "causal")[0], theirs, rtol=1e-3, atol=1e-5)


def test_batches_broadcast() -> None:
    q, (k, v) = inputs(4, 1, 3)[0], inputs(1, 2, 1)[1:]
    mask = np.random.default_rng(2).normal(size=(4, 2, 3, 1, 6)).astype(np.float32)[:, :1]
    np.testing.assert_allclose(run(op(), q, k, v, mask, causal=False)[0], formula(q, k, v, mask), rtol=1e-4, atol=1e-6)


def test_long_sequences_in_blocks_on_threads() -> None:
    q, k, v = inputs(2, length=700, sources=900)
    mask = np.random.default_rng(3).normal(size=(700, 900)).astype(np.float32)
    try:
        parallel.set_num_threads(3)
        added = run(op(), q, k, v, mask, causal=False)[0]
        causal = run(op(), q, k, v, causal=True)[0]
    finally:
        parallel.set_num_threads(None)
    np.testing.assert_allclose(added, formula(q, k, v, mask), rtol=1e-3, atol=1e-5)
    bias = np.triu(np.full((700, 900), -np.inf), 1)
    np.testing.assert_allclose(causal, formula(q, k, v, bias), rtol=1e-3, atol=1e-5)


def test_a_scalar_zero_is_not_a_mask() -> None:
    q, k, v = inputs(1)
    zero = np.array(0, np.float32)
    np.testing.assert_array_equal(run(op(), q, k, v, zero, causal=False)[0], run(op(), q, k, v, causal=False)[0])


def test_causal_takes_the_place_of_the_mask() -> None:
    q, k, v = inputs(1)
    mask = np.full((1, 5, 6), 3, np.float32)
    np.testing.assert_array_equal(run(op(), q, k, v, mask, causal=True)[0], run(op(), q, k, v, causal=True)[0])


def test_a_row_without_any_source_is_nan() -> None:
    q, k, v = inputs(1)
    mask = np.ones((1, 5, 6), bool)
    mask[0, 2] = False
    result = run(op(), q, k, v, mask, causal=False)[0]
    assert np.isnan(result[0, 2]).all() and np.isfinite(result[0, [0, 1, 3, 4]]).all()


def test_a_sink_takes_its_share() -> None:
    q, k, v = inputs(2, 3)
    sink = np.random.default_rng(4).normal(size=(1, 3, 1, 1)).astype(np.float32)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(8)
    weights = np.exp(np.concatenate([scores, np.broadcast_to(sink, (2, 3, 5, 1))], -1))
    expected = (weights / weights.sum(-1, keepdims=True))[..., :-1] @ v
    zeros, scale = np.zeros((1, 5, 6), np.float32), np.array(1 / np.sqrt(8), np.float32)
    np.testing.assert_allclose(run(op(), q, k, v, zeros, scale, sink, causal=False)[0], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shape", [(0,), (7,), (2, 3, 5, 6)])
def test_c7_a_sink_is_a_column_of_the_scores(shape: tuple[int, ...]) -> None:
    q, k, v = inputs(2, 3)
    zeros, scale, sink = np.zeros((1, 5, 6), np.float32), np.float32(1), np.ones(shape, np.float32)
    types = [TensorType.of(np.asarray(array)) for array in (q, k, v, zeros, scale, sink)]
    assert [b.constraint for b in infer(op(), types, causal=False)[1]] == ["C7"]
    with pytest.raises(ConstraintError, match="sink has shape"):
        op()(q, k, v, zeros, np.asarray(scale), sink, causal=False)


def test_narrow_types_are_computed_in_f32() -> None:
    q, k, v = (x.astype(np.float16) for x in inputs(1, e=64))
    expected = formula(q.astype(np.float32) * 100, k.astype(np.float32), v.astype(np.float32))
    result = run(op(), (q * 100).astype(np.float16), k, v, causal=False)[0]
    np.testing.assert_allclose(result.astype(float), expected, rtol=1e-2, atol=1e-2)


def breach(*shapes: Any, causal: bool = False) -> list[str | None]:
    known = [tensor(F32, s) if isinstance(s, str) else s for s in shapes]
    return [b.constraint for b in infer(op(), [*known, *[None] * (6 - len(known))], causal=causal)[1]]


GOOD = ("2,5,8", "2,6,8", "2,6,7")


def test_c1_c2_c3_ranks_and_extents() -> None:
    assert breach("5,8", *GOOD[1:]) == ["C1"]
    assert breach(GOOD[0], "6,8", GOOD[2]) == ["C2"]
    assert breach(GOOD[0], "2,6,9", GOOD[2]) == ["C2"]
    assert breach(*GOOD[:2], "6,7") == ["C3"]
    assert breach(*GOOD[:2], "2,4,7") == ["C3"]


def test_c4_mask() -> None:
    assert breach(*GOOD, "2,4,6") == ["C4"]
    assert breach(*GOOD, "2,4,6", causal=True) == []
    assert breach(*GOOD, "6") == ["C4"]
    assert breach(*GOOD, tensor(F16, "2,5,6")) == ["C4"]
    assert breach(*GOOD, tensor(BOOLEAN, "2,1,6")) == []
    assert breach(*GOOD, tensor(F32, "", 1.0)) == ["C4"]
    with pytest.raises(ConstraintError):
        op()(*inputs(1), np.array(1, np.float32), causal=False)


def test_c5_scale() -> None:
    assert breach(*GOOD, "5,6", "2") == ["C5"]


def test_c6_batches() -> None:
    assert breach("2,5,8", "3,6,8", "3,6,7") == ["C6"]
    assert breach(*GOOD, "3,5,6") == ["C6"]


def test_partial_shapes() -> None:
    known = [tensor(F32, s) for s in ("1,?,80", "1,?,80", "1,?,80", "1,?,?")]
    (result,), breaches = infer(op(), [*known, None, None], causal=False)
    assert not breaches and str(result.shape) == "[1,?,80]"
    (result,), _ = infer(op(), [TensorType(F32), *known[1:3], None, None, None], causal=True)
    assert result.shape.rank is None
