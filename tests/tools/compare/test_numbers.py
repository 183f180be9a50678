"""The numbers that decide verdicts: all of them are in one module and in docs/compare.md, and each is measured here."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.core.types import BF16, F32
from irexec.model.arrays.units import apart, unit
from irexec.tools.compare import numbers
from irexec.tools.compare.errors import measure
from irexec.tools.compare.rounding import Rounding
from irexec.tools.compare.tolerances import tolerance_of
from irexec.tools.run.record import Reference

ROOT = Path(irexec.__file__).parent
JUDGES = [path for path in sorted((ROOT / "tools/compare").rglob("*.py")) if path.name != "origins.py"]
JUDGES += [ROOT / f"tools/conformance/{name}.py" for name in ("bias", "exact", "verdict", "wrapping")]

OF_WORK = {  # how much is tried, held in memory or waited for
    "FIRST_ITERATIONS", "LIMIT", "SHOWN_BYTES", "STARTING", "_BLOCK", "_CALLS", "_CANDIDATES", "_DEPTHS", "_FAULTS",
    "_KEPT", "_LARGE", "_MAX_BYTES", "_MAX_ITERATIONS", "_MOST", "_MOST_ALIKE", "_MOST_AXES", "_MOST_ITERATIONS",
    "_MOST_LAYERS", "_MOST_OF_A_MODULE", "_MOST_VALUES", "_PRODUCTS", "_SAMPLED", "_SCALED",
    "_SMALL", "_TRIED", "_UNKNOWN_BYTES",
}  # fmt: skip
OF_TEXT = {"FEW", "_FEW", "_HARDLY", "_LEAST", "_MOST", "_NAMED", "_OTHERS", "_PLAIN", "_SHOWN"}
FACTS = {  # of types and of devices; _PUSH belongs to an experiment that cannot change a verdict
    "_ENDLESS", "_F32_BITS", "_FATAL", "_HALF_BITS", "_I32_END", "_LEVELS", "_MOVED_LEVELS", "_NEAREST", "_NEIGHBOUR",
    "_PUSH", "_ROUNDING", "_VERBOSE",
}  # fmt: skip
DECIDING = [name for name in vars(numbers) if name.isupper()]
Rng = np.random.Generator


def constants(path: Path) -> Iterator[str]:
    """Yield the names of the constants of a module that are made of numbers alone."""
    for node in ast.parse(path.read_text("utf-8")).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        value = getattr(node, "value", None)
        parts = [] if value is None else [*ast.walk(value)]
        plain = (ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop, ast.expr_context)
        if not parts or not all(isinstance(part, plain) for part in parts):
            continue
        if any(isinstance(part, ast.Constant) and type(part.value) in (int, float) for part in parts):
            names = (name for target in targets if target is not None for name in ast.walk(target))
            yield from (name.id for name in names if isinstance(name, ast.Name))


def test_every_other_number_limits_work_or_text_or_is_a_fact() -> None:
    found = {name for path in JUDGES if path.name != "numbers.py" for name in constants(path)}
    assert found == OF_WORK | OF_TEXT | FACTS
    assert len(DECIDING) <= 12


def test_functions_decide_by_no_number_of_their_own() -> None:
    for path in JUDGES:
        for function in (n for n in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(n, ast.FunctionDef)):
            literals = (n.value for n in ast.walk(function) if isinstance(n, ast.Constant))
            assert {v for v in literals if type(v) is float} <= {0.0, 0.5, 1.0}, f"{path.name}:{function.lineno}"


def test_the_page_lists_each_number() -> None:
    page = (Path(__file__).parents[3] / "docs" / "compare.md").read_text("utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    named = [row[2:].split(",")[0] for row in rows if row[2:].split(",")[0].isupper()]
    assert named == [name for name in DECIDING if name != "SAME"]
    assert numbers.REORDERED * float(unit(1.0, F32)) == numbers.SAME


def f32(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float32)


def test_fused_is_what_fused_products_and_sums_differ_by() -> None:
    """Two products and sums in a row, each rounded once instead of twice."""
    worst = 0.0
    for seed in range(20):
        a, b, c, d, e = (f32(np.random.default_rng((seed, k)).normal(0, 1, 1000)) for k in range(5))
        fused = f32(f32(a.astype(float) * b + c) * d.astype(float) + e)
        worst = max(worst, measure((a * b + c) * d + e, fused).ulp)
    assert numbers.FUSED / 2 < worst <= numbers.FUSED


def test_reordered_is_what_sums_in_another_order_differ_by() -> None:
    worst = 0.0
    for seed in range(20):
        terms = f32(np.random.default_rng(seed).normal(0, 1, (16, 4096)))
        worst = max(worst, measure(np.cumsum(terms, 1)[:, -1], np.cumsum(terms[:, ::-1], 1)[:, -1]).ulp)
    assert numbers.REORDERED / 8 < worst <= numbers.REORDERED


def deep(layers: int, kind: np.dtype | type) -> np.ndarray:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 1, (8, 64)).astype(kind)
    for _ in range(layers):
        weights = rng.normal(0, 1, (64, 64)).astype(np.float32)
        x = np.maximum(x @ weights.astype(kind) * kind(0.18), kind(0)) + x * kind(0.5)  # type: ignore[operator]
    return x


def test_deep_is_above_the_rounding_of_a_deep_network_and_below_half_types() -> None:
    error = measure(f32(deep(50, np.float64)), deep(50, np.float32))
    assert error.relative < numbers.DEEP < float(unit(1.0, BF16))


def chain(rows: int, layers: int) -> tuple[irexec.Model, list[np.ndarray]]:
    rng = np.random.default_rng(1)
    x = made = ops.parameter([rows, 32], "f32", name="x")
    for _ in range(layers):
        product = ops.matmul(made, f32(rng.normal(0, 0.2, (32, 32))), False, False)
        made = ops.add(ops.tanh(product), made)
    return irexec.Model([ops.result(made)], [], [x]), [f32(rng.normal(0, 1, (rows, 32)))]


@pytest.mark.parametrize("rows", [1, 4, 16])
def test_the_margin_covers_errors_of_one_sign_in_all_layers(rows: int) -> None:
    """All values a unit larger, or all smaller, compared with DRAWS runs in which they change at random."""
    model, inputs = chain(rows, 8)
    reference = Reference(model, [inputs])
    nodes = [node for node in model.nodes if node.type in ("MatMul", "Tanh", "Add")]
    rounding = Rounding(reference, dict.fromkeys(nodes, 16.0))
    for sign in (1, -1):
        moved = reference.changed(
            {n.outputs[0]: lambda a, sign=sign: a + f32(sign * 16 * unit(np.abs(a), F32)) for n in nodes}
        )
        assert rounding.explains(moved)
        wrong = [[step[0] + 3 * numbers.MARGIN * (step[0] - right[0])] for step, right in zip(
            moved, reference.results(), strict=True)]  # fmt: skip
        assert not rounding.explains(wrong)


def test_the_margin_of_many_elements_is_that_of_independent_errors() -> None:
    """Rounding to bf16 itself, compared with random errors of the same size."""
    values = f32(np.random.default_rng(0).normal(0, 1, (64, 64)))
    rounded = np.square(apart(values, f32(values.astype(ml_dtypes.bfloat16)))).mean()
    random = np.square(unit(np.abs(values), BF16) * np.random.default_rng(1).uniform(-0.5, 0.5, values.shape)).mean()
    assert (rounded / random) ** 0.5 < numbers.NOISE_MARGIN
    assert numbers.multiple(1) == numbers.MARGIN
    assert numbers.multiple(values.size) < 1.1 * numbers.NOISE_MARGIN


def test_enough_elements_have_a_reliable_mean_and_one_has_not() -> None:
    """The largest of DRAWS errors of one element is often small; that of ENOUGH elements together never is."""
    errors = np.abs(np.random.default_rng(0).uniform(-1, 1, (10_000, numbers.DRAWS, numbers.ENOUGH)))
    assert (errors[:, :, 0].max(1) < 1 / numbers.MARGIN).any()
    assert not (errors.max((1, 2)) < 1 / numbers.NOISE_MARGIN).any()


def test_midway_tells_truncation_from_rounding() -> None:
    exact = np.random.default_rng(0).uniform(1, 2, 10_000)
    rounded = (exact.astype(np.float16) - exact) / unit(exact, irexec.ElementType.by_name["f16"])
    whole = np.floor(exact * 1024) / 1024
    cut = (whole - exact) / unit(exact, irexec.ElementType.by_name["f16"])
    assert abs(float(rounded.mean())) < numbers.MIDWAY / 10
    assert abs(float(cut.mean()) + 2 * numbers.MIDWAY) < numbers.MIDWAY / 10


def test_a_formula_that_cancels_loses_small_results() -> None:
    """1 - (1 - x) in f32 is 1 % off and more below 1e-5, and less above."""
    small, large = f32(np.geomspace(1e-7, 3e-6, 200)), f32(np.geomspace(1e-5, 1e-3, 200))
    lost, kept = (np.abs(1 - (1 - x) - x) / x for x in (small, large))
    assert lost.max() > numbers.LOST > kept.max()


def test_an_unknown_extent_is_counted_only_without_values() -> None:
    data = ops.parameter([1, 2, -1, -1], "f32", name="data")
    node = ops.interpolate(data, np.array([8, 8]), "linear_onnx", "sizes", axes=np.array([2, 3]))
    array = np.zeros((1, 2, 4, 4), np.float32)
    known = {data.output(0): array, node.output(0): np.zeros((1, 2, 8, 8), np.float32)}
    assert tolerance_of(node, known).ulp < tolerance_of(node).ulp
