"""An If whose condition is known when a plan is made: the layers of its branch are steps of the plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec.runtime import engine

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15


def chosen(condition: Any, x: Any, y: Any) -> Any:
    """Return an If: (x + y, the larger half of x) or (x - y, the smaller half)."""
    made = ops.if_op(condition)
    for branch in (True, False):
        a, b = (ops.parameter(value.get_partial_shape(), np.float32) for value in (x.output(0), y.output(0)))
        parts = ops.split(a, np.array(0), 2)
        results = [ops.add(a, b) if branch else ops.subtract(a, b), parts.output(0 if branch else 1)]
        body = Model([ops.result(result) for result in results], [a, b])
        (made.set_then_body if branch else made.set_else_body)(body)
        for outer, inner in ((x, a), (y, b)):
            made.set_input(outer.output(0), *((inner, None) if branch else (None, inner)))
    bodies = made.get_then_body(), made.get_else_body()
    return [made.set_output(*(body.results[n] for body in bodies)) for n in range(2)]


def model(shape: list[int]) -> Model:
    """Return a model with a branch for each number of rows, which is known when the shapes are."""
    x, y = (ops.parameter(shape, np.float32, name=name) for name in "xy")
    rows = ops.gather(ops.shape_of(x), np.array(0), np.array(0))
    first, second = chosen(ops.equal(rows, np.array(4, np.int64)), x, y)
    return Model([ops.multiply(first, np.float32(2)), second], [x, y])


def types(compiled: engine.CompiledModel, given: list[np.ndarray]) -> list[str]:
    """Return the types of the layers in the plan for shapes that have occurred before."""
    shapes = tuple(array.shape for array in given)
    compiled._plans.of(shapes)
    return [step.node.type for step in compiled._plans.of(shapes).steps]


@pytest.mark.parametrize("rows", [4, 6])
@pytest.mark.parametrize("shape", [[-1, 3], None])
def test_the_branch_that_runs_is_part_of_the_plan(shape: list[int] | None, rows: int) -> None:
    compiled = engine.CompiledModel(model(shape or [rows, 3]))
    rng = np.random.default_rng(0)
    for _ in range(4):
        x, y = given = [rng.standard_normal((rows, 3)).astype(np.float32) for _ in range(2)]
        first, second = compiled(given).to_tuple()
        np.testing.assert_array_equal(first, (x + y if rows == 4 else x - y) * np.float32(2))
        np.testing.assert_array_equal(second, x[: rows // 2] if rows == 4 else x[rows // 2 :])
    assert sorted(types(compiled, given)) == sorted(["Add" if rows == 4 else "Subtract", "Split", "Multiply"])


def test_a_condition_that_is_computed_keeps_the_if() -> None:
    x, y = (ops.parameter([4, 3], np.float32, name=name) for name in "xy")
    flag = ops.parameter([], np.bool_, name="flag")
    first, second = chosen(flag, x, y)
    compiled = engine.CompiledModel(Model([first, second], [x, y, flag]))
    given = [np.full((4, 3), number, np.float32) for number in (5, 2)]
    for value in (True, False):
        found = compiled([*given, np.array(value)]).to_tuple()[0]
        np.testing.assert_array_equal(found, given[0] + given[1] if value else given[0] - given[1])
    assert "If" in types(compiled, [*given, np.array(True)])


def test_listeners_see_the_if() -> None:
    seen = []

    class Seeing:
        def before(self, node: Any, inputs: Any) -> None:
            pass

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None:
            seen.append(node.type)

    compiled = engine.CompiledModel(model([4, 3]))
    given = [np.ones((4, 3), np.float32)] * 2
    compiled.create_infer_request([Seeing()]).infer(given)
    assert "If" in seen and "Add" in seen


def test_branches_in_branches_and_results_that_are_inputs() -> None:
    x = ops.parameter([2], np.float32, name="x")

    def branched(value: Any, depth: int) -> Any:
        made = ops.if_op(ops.constant(np.array(depth % 2 == 0)))
        for branch in (True, False):
            a = ops.parameter([2], np.float32)
            inner = branched(a, depth - 1) if depth and branch == (depth % 2 == 0) else a
            body = Model([ops.result(inner)], [a])
            (made.set_then_body if branch else made.set_else_body)(body)
            made.set_input(value.output(0), *((a, None) if branch else (None, a)))
        bodies = made.get_then_body(), made.get_else_body()
        return made.set_output(*(body.results[0] for body in bodies))

    compiled = engine.CompiledModel(Model([branched(x, 3), ops.relu(branched(x, 0))], [x]))
    given = np.float32([-1, 2])
    first, second = compiled([given]).to_tuple()
    assert first.tolist() == [-1, 2] and second.tolist() == [0, 2]
    first[0] = 9
    assert given[0] == -1
    assert types(compiled, [given]) == ["ReLU"]
