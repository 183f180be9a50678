"""f16 and bf16 in compiled code: rounded once per layer as in the kernels, and in f32 between compiled layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.halves import needs_half
from support.lowering import entries, kernels, lowered, lowered_engine
from support.ownership import unheld

import irexec
from irexec import Model
from irexec.runtime.lowering.narrow import converted, rounded
from irexec.runtime.lowering.work import Work

ops: Any = irexec.opset15
BF16 = np.dtype(ml_dtypes.bfloat16)
TYPES = [pytest.param(np.dtype(np.float16), marks=needs_half, id="f16"), pytest.param(BF16, id="bf16")]
SHAPE = (2, 6, 9, 10)


pytestmark = pytest.mark.usefixtures("small_layers_too")


def ran(add: Callable[[Work], None]) -> None:
    work = Work()
    add(work)
    work.run()


@pytest.mark.parametrize("dtype", TYPES)
def test_all_narrow_numbers_become_f32_and_come_back(dtype: np.dtype[Any]) -> None:
    every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
    wide, back = np.empty(every.shape, np.float32), np.empty_like(every)
    ran(lambda work: converted(work, every, wide))
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    ran(lambda work: converted(work, wide, back))
    number = ~np.isnan(wide)
    np.testing.assert_array_equal(back.view(np.uint16)[number], every.view(np.uint16)[number])
    assert np.isnan(back[~number].astype(np.float32)).all()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1, 15, 17, 70000])
def test_rounding_gives_the_bits_of_numpy(dtype: np.dtype[Any], size: int) -> None:
    rng = np.random.default_rng(size)
    bits = rng.integers(0, 1 << 32, size, dtype=np.uint32)
    # Half of the numbers are halfway between two narrow ones.
    bits[::2] = bits[::2] & 0xFFFF_0000 | 0x8000 if dtype == BF16 else bits[::2] & 0xFFFF_E000 | 0x1000
    numbers = bits.view(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = numbers.astype(dtype)
    found, narrow = numbers.copy(), np.empty(size, dtype)
    ran(lambda work: rounded(work, found, "bf16" if dtype == BF16 else "f16"))
    ran(lambda work: converted(work, numbers, narrow))
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    np.testing.assert_array_equal(narrow.astype(np.float32), expected.astype(np.float32))


def compare(make: Callable[[Any], Any], dtype: np.dtype[Any], ulps: int, shape: tuple[int, ...] = SHAPE) -> None:
    """Compare a lowered model with its kernels in every call. `ulps`: the number of narrow numbers that may lie
    between.
    """
    x = ops.parameter(shape, irexec.Type.bf16 if dtype == BF16 else irexec.Type.f16, name="x")
    model = Model([make(x)], [x])
    given = np.random.default_rng(1).standard_normal(shape).astype(np.float32).astype(dtype)
    expected = kernels(model)([given])[0]
    compiled = lowered(model)
    results = [compiled([given])[0].copy() for _ in range(3)]
    assert all(result.dtype == dtype and result.tobytes() == results[0].tobytes() for result in results)
    found, expected = results[0].astype(np.float64), expected.astype(np.float64)
    margin = ulps * (2.0**-7 if dtype == BF16 else 2.0**-10)
    np.testing.assert_allclose(found, expected, rtol=margin, atol=margin * np.abs(expected).max() / 16)
    if not ulps:
        np.testing.assert_array_equal(found, expected)


def constant(x: Any, *shape: int) -> Any:
    numbers = np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)
    return ops.constant(numbers, x.get_element_type())


def convolved(x: Any, groups: int = 1) -> Any:
    if groups > 1:
        return ops.group_convolution(x, constant(x, 6, 1, 1, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    return ops.convolution(x, constant(x, 6, 6, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])


def kept(x: Any) -> Any:
    """Return the result of a layer without a compiled form."""
    return ops.elu(x, 0.5)


def reshaped(x: Any, *shape: int) -> Any:
    return ops.reshape(x, np.array(shape), False)


# Layers whose operations are exact except for the rounding.
EXACT: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: ops.add(x, constant(x, 1, 6, 1, 1)),
    "chain": lambda x: ops.relu(ops.subtract(ops.multiply(ops.add(x, constant(x, 10)), constant(x, 9, 1)), x)),
    "clamp": lambda x: ops.add(ops.clamp(ops.divide(x, constant(x, 1)), -0.3, 0.7), x),
    "sqrt": lambda x: ops.negative(ops.sqrt(ops.abs(ops.multiply(x, x)))),
    "maximum": lambda x: ops.minimum(ops.maximum(ops.multiply(x, x), constant(x, 6, 1, 1)), constant(x, 1)),
    "slopes": lambda x: ops.prelu(ops.add(x, x), constant(x, 6)),
    "quantized": lambda x: ops.fake_quantize(ops.add(x, x), *(constant(x, 1, 6, 1, 1) for _ in range(4)), 16),
    "max pool": lambda x: ops.max_pool(ops.add(x, x), [1, 1], [1, 1], [1, 1], [1, 1], [3, 3]).output(0),
    "concat": lambda x: ops.concat([ops.add(x, x), ops.multiply(x, x), x], 1),
    "views": lambda x: ops.add(
        reshaped(ops.transpose(ops.add(x, x), np.array([0, 2, 3, 1])), 2, 90, 6), constant(x, 6)
    ),
    "parts": lambda x: ops.add(*(ops.split(ops.add(x, x), np.int64(1), 2).output(part) for part in range(2))),
    "kernels between": lambda x: ops.multiply(kept(ops.add(x, x)), constant(x, 1, 6, 1, 1)),
    "kernel of a view": lambda x: ops.add(kept(reshaped(ops.add(x, x), 2, 6, 90)), constant(x, 6, 1)),
    "two readers": lambda x: ops.add(kept(y := ops.add(x, constant(x, 1))), ops.multiply(y, constant(x, 10))),
}
# Layers with sums of products, or with approximated functions.
ROUNDED: dict[str, Callable[[Any], Any]] = {
    "convolution": convolved,
    "convolutions": lambda x: ops.relu(ops.add(convolved(ops.relu(convolved(x))), constant(x, 1, 6, 1, 1))),
    "residual": lambda x: ops.relu(ops.add(convolved(y := ops.relu(convolved(x))), y)),
    "depthwise": lambda x: ops.clamp(ops.add(convolved(x, 6), constant(x, 1, 6, 1, 1)), 0.0, 6.0),
    "average": lambda x: ops.avg_pool(ops.add(x, x), [1, 1], [1, 1], [1, 1], [3, 3], False),
    "product": lambda x: ops.add(ops.matmul(ops.add(x, x), constant(x, 10, 30), False, False), constant(x, 30)),
    "both computed": lambda x: ops.matmul(ops.add(x, x), ops.multiply(x, constant(x, 1)), False, True),
    "gelu": lambda x: ops.gelu(ops.add(x, x), approximation_mode="erf"),
    "sigmoid": lambda x: ops.multiply(x, ops.sigmoid(ops.add(x, x))),
    "softmax": lambda x: ops.softmax(ops.add(x, x), -1),
    "normalized": lambda x: ops.add(
        ops.multiply(ops.mvn(x, np.array([3]), True, 1e-5, "inside_sqrt"), constant(x, 10)), constant(x, 10)
    ),
    "mean": lambda x: ops.reduce_mean(ops.add(x, x), np.array([2, 3]), keep_dims=True),
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("make", EXACT.values(), ids=EXACT)
def test_exact_operations_give_the_bits_of_the_kernels(make: Callable[[Any], Any], dtype: np.dtype[Any]) -> None:
    compare(make, dtype, 0)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("make", ROUNDED.values(), ids=ROUNDED)
def test_results_are_those_of_the_kernels(make: Callable[[Any], Any], dtype: np.dtype[Any]) -> None:
    compare(make, dtype, 4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("groups", "outputs", "inputs", "extent", "size", "stride"),
    [(1, 9, 3, 30, 7, 2), (1, 40, 16, 17, 3, 1), (1, 70, 33, 12, 1, 1), (3, 5, 5, 11, 3, 3), (1, 20, 600, 4, 3, 1)],
)
def test_convolutions_of_integers_give_the_bits_of_the_kernel(
    groups: int, outputs: int, inputs: int, extent: int, size: int, stride: int, dtype: np.dtype[Any]
) -> None:
    """All products and sums are exact, so that both forms round the same number once."""
    rng = np.random.default_rng(0)
    kind = irexec.Type.bf16 if dtype == BF16 else irexec.Type.f16
    x = ops.parameter((2, groups * inputs, extent, extent), kind, name="x")
    weights = rng.integers(-9, 10, (groups, outputs, inputs, size, size)).astype(np.float32)
    convolve = ops.group_convolution if groups > 1 else ops.convolution
    kernel = ops.constant(weights if groups > 1 else weights[0], kind)
    model = Model([convolve(ops.add(x, x), kernel, [stride] * 2, [size // 2] * 2, [size // 2] * 2, [1, 1])], [x])
    given = rng.integers(-20, 21, tuple(x.shape)).astype(dtype)
    np.testing.assert_array_equal(
        lowered(model)([given])[0].astype(np.float64), kernels(model)([given])[0].astype(np.float64)
    )


def attention(x: Any) -> Any:
    """Return attention of two heads over rows of 12 numbers."""

    def heads(x: Any) -> Any:
        return ops.transpose(
            reshaped(ops.matmul(x, constant(x, 12, 12), False, False), 1, 20, 2, 6), np.array([0, 2, 1, 3])
        )

    x = ops.mvn(x, np.array([2]), True, 1e-5, "inside_sqrt")
    scores = ops.matmul(heads(x), heads(x), False, True)
    found = ops.transpose(ops.matmul(ops.softmax(scores, -1), heads(x), False, False), np.array([0, 2, 1, 3]))
    return ops.add(reshaped(found, 1, 20, 12), x)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ["convolutions", "attention"])
def test_layers_between_the_input_and_the_result_are_one_sequence(kind: str, dtype: np.dtype[Any]) -> None:
    shape = (1, 6, 20, 20) if kind == "convolutions" else (1, 20, 12)
    x = ops.parameter(shape, irexec.Type.bf16 if dtype == BF16 else irexec.Type.f16, name="x")
    y = ops.relu(convolved(x)) if kind == "convolutions" else ops.add(x, x)
    for _ in range(3):
        y = ops.add(ops.relu(convolved(y)), y) if kind == "convolutions" else attention(y)
    model = Model([kept(y)], [x])
    request = lowered_engine(model).create_infer_request()
    for seed in range(3):
        given = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
        (found,), (expected,) = request.infer([given]).to_tuple(), kernels(model)([given]).to_tuple()
        distance = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
        assert distance <= 0.03 * np.abs(expected.astype(np.float64)).max()
    first = "Convolution" if kind == "convolutions" else "Add"
    assert entries(request) == [first, "sequence", "Elu"]
    assert unheld(request) == []
