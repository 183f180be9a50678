"""Runs into which one looks and in which values are changed: only what a change reaches runs again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import irexec
from irexec import opset15 as ops
from irexec.core.diagnostics import IRError
from irexec.model.graph.model import Model, Node, Value
from irexec.runtime.engine import run as module
from irexec.runtime.engine.run import Run

pytestmark = pytest.mark.any_python
X = np.float32([[1, -2, 3], [4, 5, -6]])


def branched() -> Model:
    """Return a model: y = relu(x) * w + x, and z = -x."""
    x = ops.parameter([-1, 3], np.float32, name="x")
    scaled = ops.multiply(ops.relu(x, name="kept"), np.float32([1, 10, 100]), name="scaled")
    return irexec.Model([ops.add(scaled, x, name="y"), ops.negative(x, name="z")], [x], "branched")


def counting() -> Model:
    """Return a model whose variable sums its inputs; the result is twice the sum before."""
    x = ops.parameter([3], np.float32, name="x")
    past = ops.read_value(ops.constant(np.zeros(3, np.float32)), "sum", np.float32, [3], name="past")
    total = ops.add(past, x, name="total")
    sink = ops.assign(total, "sum", name="kept")
    return irexec.Model([ops.multiply(past, np.float32(2), name="y")], [sink], [x], "counting")


def looped() -> Model:
    """Return a model that doubles a value in each of three iterations, then adds 1."""
    x, inner = ops.parameter([2], np.float32, name="x"), ops.parameter([2], np.float32, name="inner")
    doubled = ops.multiply(inner, np.float32(2), name="doubled")
    body = irexec.Model([doubled, ops.constant(np.array(True))], [inner], "body")
    loop = ops.loop(ops.constant(np.int32(3)), ops.constant(np.array(True)), name="loop")
    loop.set_function(body)
    loop.set_special_body_ports([-1, 1])
    loop.set_merged_input(inner, x.output(0), doubled.output(0))
    last = loop.get_iter_value(doubled.output(0), -1)
    return irexec.Model([ops.add(last, np.float32(1), name="y")], [x], "looped")


def value(model: Model, name: str) -> Value:
    found: dict[str, Node] = {node.friendly_name: node for node in model.walk()}
    return found[name].outputs[0]


def doubled(array: np.ndarray) -> np.ndarray:
    return array * np.float32(2)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the layers that run."""
    names: list[str] = []
    before = module._Recorder.before

    def noted(self: module._Recorder, node: Node, inputs: list[np.ndarray | None]) -> None:
        names.append(node.friendly_name)
        before(self, node, inputs)

    monkeypatch.setattr(module._Recorder, "before", noted)
    return names


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    ("name", "move", "expected"),
    [
        ("kept", np.float32([[0, 0, 0], [1, 1, 1]]), [[[1, -2, 3], [5, 15, 94]], -X]),
        ("kept", doubled, [[[3, -2, 603], [12, 105, -6]], -X]),
        ("x", np.zeros_like(X), [np.zeros_like(X), np.zeros_like(X)]),
        ("z", np.ones_like(X), [[[2, -2, 303], [8, 55, -6]], np.ones_like(X)]),
        ("scaled", doubled, [[[3, -2, 603], [12, 105, -6]], -X]),
    ],
)
def test_a_change_reaches_the_results(held: bool, name: str, move: Callable | np.ndarray, expected: list) -> None:
    run, steps = Run(branched()), [[X]]
    if held:
        run.hold(steps)
    (outcome,) = run(steps, change={value(run.model, name): move})
    for found, right in zip(outcome.results, expected, strict=True):
        np.testing.assert_array_equal(found, right)


def test_only_the_layers_after_a_change_run_again(ran: list[str]) -> None:
    run, steps = Run(branched()), [[X]]
    run.hold(steps)
    assert sorted(ran) == ["kept", "scaled", "y", "z"]
    ran.clear()
    scaled = value(run.model, "scaled")
    (outcome,) = run(steps, see=[scaled, value(run.model, "x")], change={scaled: doubled})
    assert ran == ["y"]
    np.testing.assert_array_equal(outcome.seen[scaled], [[2, 0, 600], [8, 100, 0]])
    np.testing.assert_array_equal(outcome.seen[value(run.model, "x")], X)
    ran.clear()
    np.testing.assert_array_equal(run(steps)[0].results[1], -X)
    assert ran == []


def test_a_changed_constant_is_changed_for_its_readers() -> None:
    run = Run(branched())
    weights = next(n for n in run.model.nodes if n.constant is not None and n.constant.size == 3).outputs[0]
    scaled = value(run.model, "scaled")
    (outcome,) = run([[X]], see=[scaled], change={weights: doubled})
    np.testing.assert_array_equal(outcome.seen[scaled], [[2, 0, 600], [8, 100, 0]])


@pytest.mark.parametrize("held", [False, True])
def test_a_change_reaches_later_steps_through_variables(held: bool) -> None:
    run = Run(counting())
    steps = [[np.float32([1, 2, 3])], [np.float32([10, 20, 30])], [np.float32([0, 0, 0])]]
    if held:
        run.hold(steps)
    total = value(run.model, "total")
    outcomes = run(steps, change=[{total: np.float32([7, 7, 7])}, {}, {}])
    np.testing.assert_array_equal([made.results[0] for made in outcomes], [[0, 0, 0], [14, 14, 14], [34, 54, 74]])
    np.testing.assert_array_equal(run(steps)[2].results[0], [22, 44, 66])


@pytest.mark.parametrize("held", [False, True])
def test_a_value_in_a_body_changes_in_every_iteration(held: bool) -> None:
    run, steps = Run(looped()), [[np.float32([1, 2])]]
    if held:
        run.hold(steps)
    inner = value(run.model, "doubled")
    (outcome,) = run(steps, see=[inner], change={inner: lambda array: array + np.float32(1)}, calls=range(3))
    np.testing.assert_array_equal([seen[inner] for seen in outcome.calls], [[3, 5], [7, 11], [15, 23]])
    np.testing.assert_array_equal(outcome.results[0], [16, 24])
    assert outcome.counts[inner.node] == 3


def test_values_in_a_file_are_used_as_those_in_memory(monkeypatch: pytest.MonkeyPatch, ran: list[str]) -> None:
    monkeypatch.setattr(module, "HELD_BYTES", 0)
    run, steps = Run(branched()), [[X]]
    run.hold(steps)
    ran.clear()
    (outcome,) = run(steps, change={value(run.model, "scaled"): doubled})
    assert ran == ["y"]
    np.testing.assert_array_equal(outcome.results[0], [[3, -2, 603], [12, 105, -6]])


@pytest.mark.parametrize("new", [np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float64)])
def test_a_value_of_another_type_is_refused(new: np.ndarray) -> None:
    run = Run(branched())
    with pytest.raises(IRError, match="scaled"):
        run([[X]], change={value(run.model, "scaled"): new})


def test_results_belong_to_the_caller() -> None:
    run, steps = Run(branched()), [[X]]
    run.hold(steps)
    first = run(steps)[0].results[1]
    first[:] = 0
    np.testing.assert_array_equal(run(steps)[0].results[1], -X)


def test_a_changed_value_that_depends_on_known_shapes_alone() -> None:
    """Such layers are computed when the model is planned, though no constant determines them."""
    x = ops.parameter([2, 3], np.float32, name="x")
    filled = ops.broadcast(np.float32(1), ops.shape_of(x, output_type="i64"), name="filled")
    model = irexec.Model([ops.add(x, ops.sqrt(filled), name="y")], [x], "filled")
    (outcome,) = Run(model)([[X]], change={value(model, "filled"): lambda array: array + 3})
    np.testing.assert_array_equal(outcome.results[0], X + 2)
