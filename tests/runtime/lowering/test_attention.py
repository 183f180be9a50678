"""Compiled attention: the results of the plain kernel, for any extents, masks and arrangement in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.lowering import forms, kernels, lowered

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering.scaled_dot_product_attention import Attention

ops: Any = irexec.opset15
rng = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return rng.standard_normal(shape).astype(np.float32)


def model_of(arrays: list[np.ndarray], causal: bool = False, order: tuple[int, ...] | None = None) -> Model:
    """Return a model of attention alone. `order`: the transposition of query, key and value before it."""
    given = [ops.parameter(array.shape, array.dtype, name=f"in{number}") for number, array in enumerate(arrays)]
    taken = list(given)
    if order is not None:
        taken[:3] = [ops.transpose(node, ops.constant(np.array(order))) for node in taken[:3]]
    return Model([ops.scaled_dot_product_attention(*taken, causal=causal)], given)


def runs(model: Model, arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the results of the kernel, and of compiled code in its second run."""
    compiled = lowered(model)
    assert isinstance(forms(compiled)["ScaledDotProductAttention"], Attention)
    compiled(arrays)
    return kernels(model)(arrays)[0], compiled(arrays)[0]


# batch, queries, keys, depth, columns
EXTENTS = [
    ((1, 4), 196, 196, 16, 32),
    ((1, 8), 16, 16, 16, 32),
    ((2, 3), 8, 8, 1, 1),
    ((5,), 17, 33, 7, 5),
    ((2, 1, 3), 9, 49, 64, 70),
    ((2,), 30, 600, 8, 3),
    ((1,), 8, 31, 600, 100),
    ((1, 8), 1, 700, 64, 64),
    ((2, 3), 2, 37, 5, 7),
    ((3,), 7, 1200, 40, 150),
    ((2, 2), 1, 1, 1, 1),
]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("batch", "length", "keys", "depth", "columns"), EXTENTS)
def test_any_extents(batch: tuple[int, ...], length: int, keys: int, depth: int, columns: int, causal: bool) -> None:
    arrays = [drawn(*batch, length, depth), drawn(*batch, keys, depth), drawn(*batch, keys, columns)]
    plain, found = runs(model_of(arrays, causal), arrays)
    np.testing.assert_allclose(found, plain, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("shape", [(20, 40), (1, 40), (3, 20, 40), (2, 1, 1, 40), (20, 1), (2, 3, 1, 1)])
@pytest.mark.parametrize("boolean", [False, True])
def test_any_mask(shape: tuple[int, ...], boolean: bool) -> None:
    arrays = [drawn(2, 3, 20, 16), drawn(2, 3, 40, 16), drawn(1, 3, 40, 24)]
    mask = rng.random(shape) < 0.7 if boolean else drawn(*shape)
    plain, found = runs(model_of([*arrays, mask]), [*arrays, mask])
    np.testing.assert_allclose(found, plain, rtol=2e-4, atol=2e-6)


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 1, 3, 2), (3, 2, 1, 0)])
def test_any_arrangement_in_memory(order: tuple[int, ...]) -> None:
    back = tuple(np.argsort(order))
    arrays = [drawn(2, 3, 20, 16).transpose(back), drawn(2, 3, 40, 16).transpose(back), drawn(2, 3, 40, 24)]
    arrays = [np.ascontiguousarray(array) for array in (*arrays[:2], arrays[2].transpose(back))]
    plain, found = runs(model_of(arrays, order=order), arrays)
    np.testing.assert_allclose(found, plain, rtol=2e-4, atol=2e-6)


def test_values_at_the_ends_of_what_f32_holds() -> None:
    """No allowed value becomes NaN, NaN stays where it is, and a forbidden score is ignored whatever it was."""
    query, key, value = drawn(1, 12, 16), drawn(1, 40, 16), drawn(1, 40, 20)
    query[0, 1], query[0, 2, 3], query[0, 3] = 3e18, np.nan, 1e-40
    key[0, 5] = 3e18
    key[0, 6, 0] = np.nan
    key[0, 7] = np.inf
    allowed = rng.random((12, 40)) < 0.8
    allowed[4], allowed[:, 5:8] = False, False
    allowed[0, 5], allowed[5, 6], allowed[6, 7] = True, True, True
    for mask in (allowed, np.where(allowed, np.float32(0), np.float32(-np.inf))):
        arrays = [query, key, value, mask]
        with np.errstate(all="ignore"):
            plain, found = runs(model_of(arrays), arrays)
        np.testing.assert_allclose(found, plain, rtol=2e-4, atol=2e-6)
    assert np.isnan(plain[0, 4]).all()


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    arrays = [drawn(3, 100, 32), drawn(3, 150, 32), drawn(3, 150, 48)]
    model = model_of(arrays)
    _, expected = runs(model, arrays)
    compiled = lowered(model)
    for threads in (1, 2, 8):
        parallel.set_num_threads(threads)
        assert np.array_equal(compiled(arrays)[0], expected)
    parallel.set_num_threads(None)


def test_extents_that_change_and_a_scale() -> None:
    shapes = [[2, -1, 16], [2, -1, -1], [2, -1, 8], [-1, -1], [1]]
    given = [ops.parameter(shape, np.float32, name=f"in{number}") for number, shape in enumerate(shapes)]
    compiled = lowered(Model([ops.scaled_dot_product_attention(*given, causal=False)], given))
    for length, keys in [(10, 20), (10, 20), (9, 20), (10, 30), (1, 30), (12, 3), (10, 20), (10, 20), (50, 60)]:
        q, k, v, mask = drawn(2, length, 16), drawn(2, keys, 16), drawn(2, keys, 8), drawn(length, keys)
        scores = q @ k.swapaxes(1, 2) * np.float64(0.3) + mask
        powers = np.exp(scores - scores.max(2, keepdims=True))
        expected = powers / powers.sum(2, keepdims=True) @ v
        found = compiled([q, k, v, mask, np.float32([0.3])])[0]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    with pytest.raises(irexec.IRError, match="query"):
        compiled([q, k[:, :, :15], v, mask, np.float32([0.3])])
    with pytest.raises(irexec.IRError, match="attention_mask"):
        compiled([q, k, v, mask[:, :7], np.float32([0.3])])


@pytest.mark.parametrize("kind", [np.float32, np.bool_])
@pytest.mark.parametrize("queries", [1, 3])
def test_few_queries_of_heads_that_share_a_growing_cache(queries: int, kind: type) -> None:
    shapes = [[2, 4, queries, 16], [2, 1, -1, 16], [2, 1, -1, 24]]
    given = [ops.parameter(shape, np.float32, name=f"in{number}") for number, shape in enumerate(shapes)]
    given.append(ops.parameter([2, 1, queries, -1], kind, name="mask"))
    model = Model([ops.scaled_dot_product_attention(*given, causal=False)], given)
    plain, compiled = kernels(model), lowered(model)
    cache = drawn(2, 1, 700, 16), drawn(2, 1, 700, 24)
    for keys in (1, 30, 31, 32, 600, 601):
        arrays = [drawn(2, 4, queries, 16), *(part[:, :, :keys] for part in cache)]
        mask = drawn(2, 1, queries, keys) if kind is np.float32 else rng.random((2, 1, queries, keys)) < 0.9
        mask[..., 0] = True
        np.testing.assert_allclose(
            compiled([*arrays, mask])[0], plain([*arrays, mask])[0], rtol=2e-4, atol=2e-6, err_msg=str(keys)
        )
