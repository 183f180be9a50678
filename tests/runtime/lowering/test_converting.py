"""Convert in compiled code: the bits of the kernel for all pairs of types."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.lowering import entries, forms, kernels, lowered_engine

import irexec
from irexec import Model
from irexec.runtime.engine import CompiledModel
from irexec.runtime.lowering.checked import CheckedBackend
from irexec.runtime.lowering.llvm import compiler

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15
WHOLE = ("boolean", "u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64")
REAL = ("f16", "bf16", "f32", "f64")
LIMITS = [0.0, -0.0, 0.5, -0.5, 127.5, -128.5, 255.9, 256.0, 32768.0, 65504.0, -(2.0**31), 2.0**31, 2.0**33, 1e30]


def numbers(type: Any, size: int) -> np.ndarray:
    """Return numbers of all sizes of a type, for floats including numbers that integers cannot represent."""
    rng = np.random.default_rng(size)
    if not type.is_real:
        return np.frombuffer(rng.bytes(size * type.dtype.itemsize), type.dtype if type.name != "boolean" else "?")
    with np.errstate(over="ignore"):
        spread = rng.standard_normal(size) * 2.0 ** rng.integers(-20, 70, size)
        spread[: len(LIMITS)] = LIMITS[:size]
        spread[len(LIMITS) : len(LIMITS) + 3] = [np.nan, np.inf, -np.inf][: max(size - len(LIMITS), 0)]
        return spread.astype(type.dtype)


@pytest.mark.by_hand(3)
@pytest.mark.parametrize("source", [*WHOLE, *REAL])
def test_all_pairs_of_types(source: str) -> None:
    given = irexec.Type.by_name[source]
    for target, size in product((*WHOLE, *REAL), (1, 15, 5003)):
        x = ops.parameter([size], given, name="x")
        made = ops.convert(x, target)
        model = Model([made, ops.concat([made, made], 0)], [x])
        array = numbers(given, size)
        if source == "boolean":
            array = array.view(np.uint8) % 2 == 1
        compiled = lowered_engine(model)
        request = compiled.create_infer_request()
        with np.errstate(invalid="ignore"):
            results = request.infer([array]).to_tuple(), kernels(model)([array]).to_tuple()
        for pair in zip(*results, strict=True):
            assert pair[0].dtype == pair[1].dtype
            if irexec.Type.by_name[target].is_real:
                # An assertion on bf16 treats NaN as unequal.
                pair = tuple(each.astype(np.float64) for each in pair)
            np.testing.assert_array_equal(*pair, err_msg=f"{source} to {target}, {size}")
        is_left = source == target or target == "boolean"
        is_left |= source == "f64" and target != "f32"
        is_left |= source in REAL and target in ("u32", "i64", "u64")
        if not {"f16"} & {source, target} or compiler().converts_halves:
            assert ("Convert" in forms(compiled)) != is_left, f"{source} to {target}"


def test_conversions_are_part_of_sequences() -> None:
    """Small results of types other than f32 are in memory of the program, from which results are copied."""
    x = ops.parameter([3, 40], np.float32, name="x")
    level = ops.convert(ops.clamp(ops.reduce_max(x, np.array([0, 1])), 0.0, 255.0), "u8")
    wide = ops.convert(level, "f64")
    model = Model([wide, level, ops.multiply(x, ops.convert(level, "f32"))], [x])
    compiled, expected = lowered_engine(model), kernels(model)
    request = compiled.create_infer_request()
    given = [np.random.default_rng(seed).standard_normal((3, 40)).astype(np.float32) * 90 for seed in range(4)]
    found = [request.infer([array]).to_tuple() for array in given]
    for array, results in zip(given, found, strict=True):
        for result, known in zip(results, expected([array]).to_tuple(), strict=True):
            np.testing.assert_array_equal(result, known)
    checked = CompiledModel(model, CheckedBackend()).create_infer_request()
    np.testing.assert_array_equal(checked.infer([given[0]]).to_tuple()[1], found[0][1])
    assert entries(request)[0] == "sequence" and entries(request).count("sequence") == 1


def test_arrays_that_are_not_contiguous_keep_the_kernel() -> None:
    x = ops.parameter([60, 70], np.uint8, name="x")
    model = Model([ops.convert(ops.transpose(x, ops.constant(np.array([1, 0]))), "f32")], [x])
    given = np.random.default_rng(0).integers(0, 256, (60, 70)).astype(np.uint8)
    np.testing.assert_array_equal(lowered_engine(model)([given]).to_tuple()[0], given.T)
    odd = np.frombuffer(b"\0" + np.arange(4200, dtype=np.int32).tobytes(), np.int32, offset=1).reshape(60, 70)
    y = ops.parameter([60, 70], np.int32, name="y")
    np.testing.assert_array_equal(lowered_engine(Model([ops.convert(y, "f32")], [y]))([odd]).to_tuple()[0], odd)
