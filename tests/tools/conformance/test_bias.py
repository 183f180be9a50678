"""Errors that only many elements reveal: results that are truncated, or computed with fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from irexec.core.types import Array
from irexec.tools.conformance.case import Case
from irexec.tools.conformance.defendant import Answer
from irexec.tools.conformance.made import case_named
from irexec.tools.conformance.verdict import judge_case
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python
BF16 = np.dtype(ml_dtypes.bfloat16)
BITS = {np.dtype(np.float16): (np.uint16, 13), BF16: (np.uint16, 16)}


def cut_off(wide: Array, dtype: np.dtype[Any]) -> Array:
    """Round towards zero, as a kernel does that drops the low bits of f32 (f64)."""
    if dtype == BF16:
        return (wide.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).view(BF16)
    near = wide.astype(dtype)
    beyond = np.abs(near.astype(np.float64)) > np.abs(wide.astype(np.float64))
    return np.where(beyond, np.nextafter(near, dtype.type(0)), near).astype(dtype)


def floored(wide: Array, dtype: np.dtype[Any]) -> Array:
    """Round downwards."""
    near = wide.astype(dtype)
    return np.where(near.astype(np.float64) > wide, np.nextafter(near, dtype.type(-np.inf)), near).astype(dtype)


def judged(case: Case, results: Array) -> str:
    found = judge_case(case, Answer("results", [[results]] * len(case.calls)), {"f64": "f32", "i64": "i32"})
    return f"{found.word} {found.detail}"


def exact_of(case: Case) -> Array:
    a, b = (array.astype(np.float64) for array in (*case.inputs[0], *case.inputs[0])[:2])
    return {"Multiply": a * b, "Add": a + b, "Divide": a / b, "Convert": a}[case.operator.partition("-")[0]]


CASES = [
    "Convert-1/f32/destination_type=f16/input=[4,33]/seed1",
    "Convert-1/f32/destination_type=bf16/input=[4,33]/seed1",
    "Multiply-1/f16/a=[4,33]/b=[4,33]/seed1",
    "Multiply-1/bf16/a=[4,33]/b=[4,33]/seed2",
    "Multiply-1/f32/a=[4,33]/b=[4,33]/seed3",
    "Divide-1/f16/a=[4,33]/b=[4,33]/seed3",
    "Add-1/f32/a=[8,33]/b=[8,33]/seed3",
]


@pytest.mark.parametrize("name", CASES)
def test_results_that_are_cut_off_are_wrong_although_each_is_close(name: str) -> None:
    case = case_named(name)
    (right,) = Reference(case.model, case.inputs).results()[0]
    assert judged(case, right) == "passed "
    found = judged(case, cut_off(exact_of(case), right.dtype))
    assert found.startswith("wrong the magnitudes of the results are -0.") and "ulp off on average" in found


@pytest.mark.parametrize("name", [name for name in CASES if "bf16" not in name])
def test_results_that_are_rounded_downwards(name: str) -> None:
    case = case_named(name)
    (right,) = Reference(case.model, case.inputs).results()[0]
    assert judged(case, floored(exact_of(case), right.dtype)).startswith("wrong the results are -0.")


@pytest.mark.parametrize("function", [np.tanh, lambda x: 1 / (1 + np.exp(-x))])
def test_values_between_that_have_fewer_bits(function: Callable[[Array], Array]) -> None:
    case = case_named(f"{'Tanh' if function is np.tanh else 'Sigmoid'}-1/f16/x=[4,64]/seed5")
    exact = function(case.inputs[0][0].astype(np.float64))
    assert judged(case, exact.astype(np.float32).astype(np.float16)) == "passed "
    found = judged(case, exact.astype(BF16).astype(np.float16))
    assert found.startswith("wrong the errors of 25") and "have a root mean square of" in found


@pytest.mark.parametrize(
    ("name", "place", "value", "word"),
    [
        ("Erf-1/f32/x=[4]{1e-09,0.4,-2.0,3e-05}/seed1", 0, 0.0, "wrong a result is 100 % off at [0]: 1.12"),
        ("Erf-1/f32/x=[4]{1e-09,0.4,-2.0,3e-05}/seed1", 3, 3.4e-5, "passed"),
        ("SoftPlus-4/f32/x=[2]{-29.1,1.0}/seed1", 0, -1.9e-6, "wrong a result is 8.3e8 % off at [0]: 2.3"),
        ("Elu-1/f32/alpha=1/x=[2]{-1e-09,1.0}/seed1", 0, 0.0, "passed"),
        ("Sin-1/f32/x=[2]{3.1415927,1.0}/seed1", 0, -1.2e-7, "passed"),
        ("Subtract-1/f32/a=[2]{1.0000001,5.0}/b=[2]{1.0,2.0}/seed1", 0, 0.0, "passed"),
        ("FloorMod-1/f32/a=[2]{0.5,5.0}/b=[2]{3e-11,2.0}/seed1", 0, 1.5e-8, "passed"),
        ("FloorMod-1/f32/a=[2]{0.5,5.0}/b=[2]{0.3,2.0}/seed1", 0, 0.3, "wrong a result is 50 % off at [0]"),
    ],
)
def test_a_small_result_is_right_by_itself_unless_the_inputs_or_the_formula_excuse_it(
    name: str, place: int, value: float, word: str
) -> None:
    case = case_named(name)
    found = Reference(case.model, case.inputs).results()[0][0].copy()
    found[place] = value
    assert judged(case, found).startswith(word)


def test_small_results_and_results_of_few_elements_have_no_bias() -> None:
    case = case_named("Multiply-1/f16/a=[4,8]/b=[4,8]/seed1")
    (right,) = Reference(case.model, case.inputs).results()[0]
    assert judged(case, cut_off(exact_of(case), right.dtype)) == "passed "
