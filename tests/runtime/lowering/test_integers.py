"""MatMul of integers in compiled code: the numbers of the kernel, which wrap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")


from support.lowering import forms, kernels, lowered, lowered_engine

import irexec
from irexec import Model
from irexec.runtime.lowering.integers import IntegerProduct
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.matmul import Product

ops: Any = irexec.opset15
TYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def drawn(rng: np.random.Generator, dtype: Any, shape: tuple[int, ...], most: int | None = None) -> np.ndarray:
    """Return numbers over the whole range, or with a magnitude of at most `most`."""
    information = np.iinfo(dtype)
    low, high = information.min, information.max
    if most is not None:
        low, high = max(low, -most), min(high, most)
    return rng.integers(low, high, shape, dtype, endpoint=True)


@pytest.mark.parametrize("most", [None, 90], ids=["any", "small"])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("left", "right", "transposed"),
    [
        ((70, 33), (33, 50), (False, False)),
        ((2, 9, 40), (2, 21, 40), (False, True)),
        ((3, 17, 5), (17, 80), (True, False)),
        ((4, 1), (1, 1), (False, False)),
        ((3, 600), (600, 4), (False, False)),
        ((5, 1100), (1100, 20), (False, False)),
    ],
)
def test_products_are_those_of_the_kernel(dtype: Any, left: Any, right: Any, transposed: Any, most: int | None) -> None:
    rng = np.random.default_rng(0)
    given = [drawn(rng, dtype, shape, most) for shape in (left, right)]
    a, b = (ops.parameter(array.shape, dtype, name=name) for name, array in zip("ab", given, strict=True))
    model = Model([ops.matmul(a, b, *transposed)], [a, b])
    (found,), (expected,) = lowered(model)(given).to_tuple(), kernels(model)(given).to_tuple()
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_a_constant_matrix(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x = ops.parameter([40, 30], dtype, name="x")
    model = Model([ops.matmul(x, ops.constant(drawn(rng, dtype, (30, 20))), False, False)], [x])
    compiled, plain = lowered_engine(model), kernels(model)
    for _ in range(3):
        given = drawn(rng, dtype, (40, 30))
        np.testing.assert_array_equal(compiled([given])[0], plain([given])[0])
    is_float = dtype is np.int8 and not compiler().has_bytes
    assert isinstance(forms(compiled)["MatMul"], Product if is_float else IntegerProduct)
