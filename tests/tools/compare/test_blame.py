"""The rule that blames: rounding explains a difference, or a layer makes it, which experiments show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.verdicts import named, through_a_dump

from irexec import Model, Node
from irexec import opset15 as ops
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.runtime import OtherModel
from irexec.tools.run.record import Reference

pytestmark = pytest.mark.any_python

F = np.float32
RNG = np.random.default_rng(0)
ROWS = RNG.normal(0, 1, (1, 2, 6, 8)).astype(F)
WEIGHTS = RNG.normal(0, 0.4, (3, 8, 8)).astype(F)


def compared(right: Model, other: Model) -> Comparison:
    return compare(Reference(right, [[ROWS]]), OtherModel("other.xml", other))


def attention(between: str) -> Model:
    """Return attention whose query passes through another layer."""
    x = ops.parameter([1, 2, 6, 8], F, name="x")
    query, key, value = (ops.matmul(x, w, False, False, name=n) for w, n in zip(WEIGHTS, "qkv", strict=True))
    made: Node = query
    if between == "f16":
        made = ops.convert(ops.convert(made, "f16"), "f32")
    elif between == "f64":
        made = ops.convert(ops.convert(made, "f64"), "f32")
    elif between == "scaled":
        made = ops.multiply(ops.multiply(made, F(3)), F(1 / 3))
    return Model([ops.scaled_dot_product_attention(made, key, value, name="attention")], [x], "attention")


@pytest.mark.parametrize("reversed", [False, True])
def test_a_value_that_is_rounded_between_layers_is_a_difference(reversed: bool) -> None:
    """The layer that reads the value may round by more."""
    pair = attention(""), attention("f16")
    found = compared(*(pair[::-1] if reversed else pair))
    assert not found.agrees, found.verdict
    assert named(found) == ["attention"]


@pytest.mark.parametrize("between", ["f64", "scaled"])
def test_layers_that_compute_what_they_read_are_none(between: str) -> None:
    for pair in ((attention(""), attention(between)), (attention(between), attention(""))):
        found = compared(*pair)
        assert found.agrees, found.verdict


def normalized(epsilon: float) -> Model:
    x = ops.parameter([1, 2, 6, 8], F, name="x")
    mean = ops.reduce_mean(ops.multiply(x, x), np.int64([-1]), True, name="mean")
    inside = ops.add(mean, F(epsilon), name="sum") if epsilon else mean
    return Model([ops.divide(x, ops.sqrt(inside, name="root"), name="divided")], [x], "normalized")


def test_an_epsilon_that_is_left_out() -> None:
    found = compared(normalized(1e-6), normalized(0))
    assert not found.agrees, found.verdict
    assert named(found) == ["root"]


def two(first: float, second: float) -> Model:
    x = ops.parameter([1, 2, 6, 8], F, name="x")
    branches = [ops.tanh(ops.multiply(x, F(k), name=n)) for k, n in ((first, "first"), (second, "second"))]
    return Model([ops.add(*branches)], [x], "two")


@pytest.mark.parametrize(("other", "name"), [((1.5, 2), "first"), ((1, 2.5), "second"), ((1.5, 2.5), "first")])
def test_the_first_of_the_layers_that_make_the_difference_is_named(other: tuple[float, float], name: str) -> None:
    found = compared(two(1, 2), two(*other))
    assert named(found) == [name]
    assert found.proof.startswith(f"with the error of {name}")


def scaled_inside(factor: float) -> Model:
    """Return weights by which all values are larger, by a factor that rounds; another layer compensates for it."""
    x = ops.parameter([1, 2, 6, 8], F, name="x")
    first = ops.matmul(x, WEIGHTS[0] * F(factor), name="first")
    made = ops.multiply(first, F(1 / factor)) if factor != 1 else first
    return Model([ops.matmul(made, WEIGHTS[1], name="second")], [x], "scaled")


def test_a_layer_that_compensates_for_others_is_not_a_cause() -> None:
    found = compared(scaled_inside(1), scaled_inside(3))
    assert not found.same
    assert found.agrees, found.verdict


# Proofs


def residual(*, gain: float = 1, bias: float = 0, scale: float = 1) -> Model:
    """Return a block whose values may be `scale` times as large in between; `gain` and `bias` are faults."""
    x = ops.parameter([1, 2, 6, 8], F, name="x")
    up = ops.matmul(x, WEIGHTS[0] * F(scale), name="up")
    raised = ops.relu(ops.multiply(up, F(gain), name="gained"), name="raised")
    down = ops.matmul(raised, WEIGHTS[1] / F(scale), name="down")
    return Model([ops.add(ops.add(down, F(bias), name="biased"), x, name="sum")], [x], "residual")


@pytest.mark.parametrize(
    ("fault", "first", "repaired"),
    [
        ({"gain": 1.01}, "gained", "equal"),
        ({"bias": 1e-6}, "biased", "equal"),
        ({"gain": 1.01, "scale": 4}, "gained", "equal"),
        ({"gain": 2, "bias": -0.5}, "gained", ""),
    ],
)
def test_the_layers_that_are_blamed_are_proved(fault: dict[str, float], first: str, repaired: str) -> None:
    """The other side agrees if it has irexec's values of the layer; layers that undo a scale are not blamed."""
    found = compared(residual(), residual(**fault))
    assert named(found) == [first]
    assert found.proof.startswith(f"with the error of {first}")
    assert "irexec's results are" in found.proof and " as well" in found.proof
    if repaired:
        assert found.proof.endswith(f"; with irexec's {first}, those of the other side are {repaired}")


def test_two_layers_whose_errors_cancel_in_part_are_blamed_together() -> None:
    found = compared(residual(), residual(gain=2, bias=-0.5))
    assert "gained (Multiply) and biased (Add)" in found.proof


def test_layers_that_undo_each_other_are_listed_without_a_proof() -> None:
    found = compared(residual(), residual(scale=4))
    assert found.same and not found.proof
    assert {"up", "down"} <= {*found.others}
    rounded = compared(residual(), residual(scale=3))
    assert rounded.agrees and not rounded.same and not rounded.proof


def test_the_proof_names_a_layer_of_a_dump_by_what_rounding_explains(tmp_path: Path) -> None:
    found = through_a_dump(residual(), residual(gain=1.01), tmp_path, [ROWS])
    assert named(found) == ["gained"]
    assert "; rounding of all others changes them by" in found.proof
