"""Results that a page leaves open: any reading of it is accepted, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from irexec.conformance.case import Case
from irexec.conformance.clusters import clusters_of
from irexec.conformance.defendant import Answer
from irexec.conformance.made import case_named
from irexec.conformance.results import Finding
from irexec.conformance.verdict import NARROWED, WRAPS, judge_case
from irexec.debug.record import Reference
from irexec.types import Array

pytestmark = pytest.mark.any_python
NAN, INF = np.nan, np.inf
OPENVINO = {"f64": "f32", "i64": "i32"}


def verdict_of(case: Case, change: Callable[[list[Array]], list[Array]]) -> str:
    """The verdict if a runtime returns changed results; the detail follows the word."""
    results = Reference(case.model, case.inputs).results()
    answer = Answer("results", [change([array.copy() for array in results[call]]) for call in case.calls])
    found = judge_case(case, answer, OPENVINO)
    return f"{found.word} {found.detail}"


def given(name: str, *arrays: Array) -> Case:
    case = case_named(name)
    case.inputs[0] = [a.astype(b.dtype) for a, b in zip(arrays, case.inputs[0], strict=True)]
    return case


ROW = np.array([2.0, 8.0, NAN, 5.0, 6.0])
IMAGE = ROW.reshape(1, 1, 5)


@pytest.mark.parametrize(
    ("name", "data", "value", "word"),
    [
        ("ReduceMin-1/f32/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, NAN, "passed"),
        ("ReduceMin-1/f32/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, 2.0, "open"),
        ("ReduceMin-1/f32/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, 5.0, "wrong"),
        ("ReduceMin-1/bf16/keep_dims=false/data=[5]/axes=const:i64[1]{0}/seed1", ROW, 5.0, "wrong"),
        ("ReduceMax-1/f32/keep_dims=false/data=[2]/axes=const:i64[1]{0}/seed1", np.array([NAN, NAN]), -3.4e38, "open"),
        ("ReduceMax-1/f32/keep_dims=false/data=[2]/axes=const:i64[1]{0}/seed1", np.array([NAN, NAN]), 0.0, "wrong"),
        ("ReLU-1/f32/x=[1]/seed1", np.array([NAN]), 0.0, "open"),
        ("ReLU-1/f32/x=[1]/seed1", np.array([NAN]), 1.0, "wrong"),
        ("Clamp-1/f32/min=1/max=2/x=[1]/seed1", np.array([NAN]), 2.0, "open"),
        ("Clamp-1/f32/min=1/max=2/x=[1]/seed1", np.array([NAN]), 1.5, "wrong"),
        ("Sigmoid-1/f32/x=[1]/seed1", np.array([NAN]), 0.0, "wrong"),
    ],
)
def test_nan_in_an_order_is_propagated_or_ignored(name: str, data: Array, value: float, word: str) -> None:
    case = given(name, data)
    assert verdict_of(case, lambda arrays: [np.full_like(arrays[0], value)]).startswith(f"{word} ")


@pytest.mark.parametrize(("value", "word"), [(0.0, "passed"), (NAN, "passed"), (1.0, "wrong")])
def test_an_infinity_times_zero_may_have_its_limit(value: float, word: str) -> None:
    case = given("Mish-4/f32/x=[2]/seed1", np.array([-INF, 1.0]))
    found = verdict_of(case, lambda arrays: [np.array([value, arrays[0][1]], np.float32)])
    assert found.startswith(word)


@pytest.mark.parametrize(("name", "word"), [("Gelu-7", "passed"), ("Sigmoid-1", "wrong")])
def test_small_numbers_that_a_formula_loses(name: str, word: str) -> None:
    case = given(f"{name}/f32/x=[2]/seed1", np.array([-9.0, 1.0]))
    assert verdict_of(case, lambda arrays: [np.array([0.0, arrays[0][1]], np.float32)]).startswith(word)


def test_an_infinity_is_no_rounding_error() -> None:
    case = given("Acosh-4/f16/x=[2]/seed1", np.array([INF, 2.0]))
    assert verdict_of(case, lambda arrays: [np.array([11.78, arrays[0][1]], np.float16)]).startswith("wrong")


def test_top_k_may_choose_any_of_the_equal_values() -> None:
    name = "TopK-11/f32/axis=0/mode=max/sort=value/index_element_type=i32/data=[4]/k=const:i64[]{1}/seed1"
    case = given(name, np.array([3.0, 7.0, 7.0, 1.0]))
    with_index = lambda place: lambda arrays: [arrays[0], np.full_like(arrays[1], place)]  # noqa: E731
    assert verdict_of(case, with_index(1)).startswith("passed")
    assert verdict_of(case, with_index(2)).startswith("open")
    assert verdict_of(case, with_index(3)).startswith("wrong")
    assert verdict_of(case, with_index(9)).startswith("wrong")


def test_an_order_of_nothing_is_open() -> None:
    case = case_named("ReduceMax-1/f32/keep_dims=false/data=[2,0]/axes=const:i64[1]{1}/seed1")
    assert verdict_of(case, lambda arrays: [np.full_like(arrays[0], 7)]).startswith("open")


def test_integers_wrap_and_a_saturated_result_is_named() -> None:
    case = given("Add-1/u8/a=[2]/b=[2]/seed1", np.array([250, 3]), np.array([10, 4]))
    found = verdict_of(case, lambda arrays: [np.array([255, 7], np.uint8)])
    assert found.startswith("wrong") and WRAPS in found
    found = verdict_of(case, lambda arrays: [np.array([4, 8], np.uint8)])
    assert found.startswith("wrong"), "7 is expected in the second place, which does not overflow"
    case = given("Maximum-1/u8/a=[2]/b=[2]/seed1", np.array([250, 3]), np.array([10, 4]))
    assert WRAPS not in verdict_of(case, lambda arrays: [arrays[0] + np.uint8(1)])


def test_what_follows_an_overflow_in_a_graph_is_open() -> None:
    words = set()
    for seed in range(20):
        case = case_named(f"graph.integers/f32/r1/length=2/kind=u8/end=same/static/seed{seed}")
        ends = [n.type for n in case.model.nodes if n.type in ("Add", "Multiply")]
        case.inputs[0][0][...] = 255
        word = verdict_of(case, lambda arrays: [np.full_like(arrays[0], 255)]).split()[0]
        words.add((word, bool(ends)))
    assert ("open", True) in words and not any(word == "open" and not sums for word, sums in words)


def test_integers_that_32_bits_cannot_hold_are_one_cluster() -> None:
    details = []
    for name in ("Abs-1/i64/x=[2]/seed1", "Negative-1/i64/x=[2]/seed1"):
        case = given(name, np.array([-(2**45), 7]))
        details.append(verdict_of(case, lambda arrays: [np.array([0, arrays[0][1]])]))
        assert NARROWED in details[-1]
    findings = [Finding(f"{i}", "wrong", detail, f"Operator-{i}", "static", {}) for i, detail in enumerate(details)]
    (cluster,) = clusters_of(findings)
    assert cluster.operator == NARROWED and len(cluster.findings) == 2


def test_a_model_without_computed_inputs() -> None:
    case = case_named("Add-1/f32/a=const:[2,3]/b=const:[3]/seed4")
    assert case.inputs == [[]] and not case.model.inputs
    assert verdict_of(case, lambda arrays: arrays).startswith("passed")
    assert verdict_of(case, lambda arrays: [arrays[0] * 2]).startswith("wrong")
