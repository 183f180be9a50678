"""Small differences between two models: those that rounding explains, and those that a layer causes."""

from __future__ import annotations

import numpy as np
import pytest

from irexec import Model, Node
from irexec import opset15 as ops
from irexec.tools.compare.causes import cause
from irexec.tools.compare.compare import compare
from irexec.tools.compare.culprit import Culprit
from irexec.tools.compare.errors import NONE
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


def names(found: Comparison) -> list[str]:
    return [] if found.culprit is None else [node.friendly_name for node in found.culprit.nodes]


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
    assert names(found) == ["attention"]


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
    assert names(found) == ["root"]


def two(first: float, second: float) -> Model:
    x = ops.parameter([1, 2, 6, 8], F, name="x")
    branches = [ops.tanh(ops.multiply(x, F(k), name=n)) for k, n in ((first, "first"), (second, "second"))]
    return Model([ops.add(*branches)], [x], "two")


@pytest.mark.parametrize(("other", "name"), [((1.5, 1), "first"), ((1, 1.5), "second"), ((1.5, 1.5), "")])
def test_a_layer_is_the_cause_if_the_results_follow_from_its_values(other: tuple[float, float], name: str) -> None:
    right = Reference(two(1, 1), [[ROWS]])
    loaded = OtherModel("other.xml", two(*other)).load(right.model)
    nodes = [node for node in right.model.nodes if node.type == "Multiply"]
    suspects = [(node, Culprit(right.model, [node], (), NONE, "exact")) for node in nodes]
    found = cause(right, loaded, suspects, loaded.results(right.steps))
    assert (found.nodes[0].friendly_name if found else "") == name


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
