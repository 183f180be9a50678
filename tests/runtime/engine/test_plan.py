"""Plans: work that is done once, buffers that are released, and layers that do not become steps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest

import irexec
from irexec import Model, Node
from irexec.core.diagnostics import IRError
from irexec.core.types import F32, Array
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import REGISTRY, Elements, operator, random
from irexec.runtime.engine.plan import Plan, make_plan

ops: Any = irexec.opset15
Float = Annotated[Array, Elements("T", {F32})]


def plan_of(*results: Node, parameters: list[Node]) -> Plan:
    return make_plan(Model(list(results), parameters))


def types(plan: Plan) -> list[str]:
    return [step.operator.type for step in plan.steps]


def x_parameter(shape: Any = (4, 4)) -> Any:
    return ops.parameter(list(shape), np.float32, name="x")


def test_constant_subgraphs_are_evaluated_once() -> None:
    x = x_parameter()
    weights = ops.multiply(ops.constant(np.full((4, 4), 2, np.float32)), ops.constant(np.float32(3)))
    plan = plan_of(ops.add(x, ops.transpose(weights, ops.constant(np.array([1, 0])))), parameters=[x])
    assert types(plan) == ["Add"]
    constants = [a for a in plan.template if a is not None]
    assert len(constants) == 1, "what nothing reads any more is released"
    np.testing.assert_array_equal(constants[0], np.full((4, 4), 6))


def test_large_constants_are_folded_too() -> None:
    big = ops.constant(np.ones((300, 300), np.float32))
    x = x_parameter((300, 300))
    assert types(plan_of(ops.add(x, ops.negative(big)), parameters=[x])) == ["Add"]


def test_a_constant_that_would_unfold_to_much_more_is_not_kept() -> None:
    x = x_parameter((1,))
    wide = ops.broadcast(ops.constant(np.zeros(1, np.float32)), ops.constant(np.array([1 << 14, 1 << 13])))
    assert (
        types(plan_of(ops.reduce_max(ops.add(wide, x), ops.constant(np.array([0, 1]))), parameters=[x]))[0]
        == "Broadcast"
    )


def test_what_takes_much_more_work_than_its_size_is_a_step() -> None:
    x = x_parameter((1,))
    square = ops.constant(np.ones((512, 512), np.float32))
    total = ops.constant(np.array([0, 1]))
    heavy = ops.reduce_sum(ops.matmul(square, square, transpose_a=False, transpose_b=False), total)
    assert types(plan_of(ops.add(heavy, x), parameters=[x])) == ["MatMul", "ReduceSum", "Add"]
    small = ops.constant(np.ones((64, 64), np.float32))
    light = ops.reduce_sum(ops.matmul(small, small, transpose_a=False, transpose_b=False), total)
    assert types(plan_of(ops.add(light, x), parameters=[x])) == ["Add"]


def test_constants_that_unfold_again_and_again_are_measured_by_what_the_file_holds() -> None:
    x = x_parameter((1,))
    wide = ops.broadcast(ops.constant(np.zeros(1, np.float32)), ops.constant(np.array([1 << 24])))
    wider = ops.tile(wide, ops.constant(np.array([8])))
    assert types(plan_of(ops.add(ops.reduce_max(wider, 0), x), parameters=[x])) == ["Tile", "ReduceMax", "Add"]


def test_random_operators_are_not_folded() -> None:
    @operator("Dice", "plan", shapes=same_as(), tolerance=random)
    def dice(x: Float, /) -> Float:
        return np.random.default_rng().standard_normal(x.shape, dtype=np.float32)

    try:
        constant = ops.constant(np.zeros(3, np.float32))
        node = Node(dice, [constant.outputs[0]])
        node.set_outputs([constant.outputs[0].type.without_value()])
        assert types(plan_of(node, parameters=[])) == ["Dice"]
    finally:
        del REGISTRY["Dice", "plan"]


def test_a_constant_subgraph_that_fails_is_a_finding() -> None:
    big = ops.constant(np.ones(9000, np.float32))
    x = x_parameter((1,))
    node = ops.gather_elements(big, ops.constant(np.full(9000, 9000)), axis=0)
    node.friendly_name = "bad"
    with pytest.raises(irexec.IRError) as caught:
        plan_of(ops.add(node, x), parameters=[x])
    (finding,) = caught.value.report
    assert (finding.code, finding.layer and finding.layer.name) == ("O005", "bad")


def test_values_that_inference_knows_are_not_steps() -> None:
    x = x_parameter((2, 3, 4))
    flat = ops.reshape(
        x, ops.reduce_prod(ops.shape_of(x), ops.constant(np.array([0])), keep_dims=True), special_zero=False
    )
    assert types(plan_of(flat, parameters=[x])) == ["Reshape"]
    only = plan_of(ops.shape_of(x), parameters=[x])
    assert types(only) == []
    np.testing.assert_array_equal(only.template[only.results[0]], [2, 3, 4])


def test_values_are_released_after_their_last_use() -> None:
    x = x_parameter()
    a = ops.negative(x)
    b = ops.relu(a)
    c = ops.add(a, b)
    plan = plan_of(ops.floor(c), parameters=[x])
    slot = {step.operator.type: step.outputs[0] for step in plan.steps}
    frees = {step.operator.type: set(step.frees) for step in plan.steps}
    assert frees["ReLU"] == set()
    assert frees["Add"] == {slot["Negative"], slot["ReLU"]}
    assert plan.parameters[0] in frees["Negative"]
    assert slot["Floor"] not in frees["Floor"]


def test_a_result_needs_no_step_and_may_be_an_input() -> None:
    x = x_parameter()
    plan = plan_of(x, ops.negative(x), x, parameters=[x])
    assert types(plan) == ["Negative"]
    assert plan.results[0] == plan.results[2] == plan.parameters[0]


def test_a_result_that_a_result_reads_is_what_it_reads() -> None:
    x = x_parameter()
    first = ops.result(ops.relu(x))
    model = Model([first, ops.result(first), ops.result(ops.abs(first))], [x])
    results = irexec.compile_model(model)(np.full((4, 4), -1, np.float32))
    assert [results[i][0, 0] for i in range(3)] == [0, 0, 0]


def test_an_output_that_nothing_reads_is_released_immediately() -> None:
    x = x_parameter()
    first, _ = ops.split(x, ops.constant(np.int64(0)), num_splits=2).outputs
    plan = plan_of(ops.negative(first), parameters=[x])
    (split, _) = plan.steps
    assert split.outputs[1] in split.frees


def test_views_share_the_memory_of_what_they_view() -> None:
    x = x_parameter((64, 64))
    node = ops.negative(x)
    for _ in range(3):
        node = ops.squeeze(ops.unsqueeze(node, ops.constant(np.array([0]))), ops.constant(np.array([0])))
    plan = plan_of(ops.negative(node), parameters=[x])
    assert len(plan.memory.sizes) == 1
    seen: list[Array] = []

    class Watching:
        def before(self, node: Node, inputs: Any) -> None:
            pass

        def after(self, node: Node, inputs: Any, outputs: Any, seconds: float) -> None:
            seen.extend(outputs)

    compiled = irexec.compile_model(Model([ops.negative(node)], [x]))
    compiled.create_infer_request([Watching()]).infer([np.ones((64, 64), np.float32)])
    assert all(np.shares_memory(seen[0], view) for view in seen[1:-1])


@pytest.mark.parametrize("shape", [[1 << 14], [-1]])
def test_weights_that_are_truncated_while_a_model_is_used_are_a_finding(shape: list[int], tmp_path: Path) -> None:
    """Reading a mapped file beyond its end would terminate the process."""
    weights = np.arange(1 << 14, dtype=np.float32)
    x = ops.parameter(shape, np.float32, name="x")
    irexec.save_model(irexec.Model([ops.add(x, weights)], [x], "m"), tmp_path / "m.xml")
    compiled = irexec.compile_model(tmp_path / "m.xml")
    assert compiled([weights])[0][-1] == 2 * weights[-1]
    model = irexec.read_model(tmp_path / "m.xml")
    os.truncate(tmp_path / "m.bin", 100)
    for act in (lambda: compiled([weights]), lambda: irexec.compile_model(model)):
        with pytest.raises(irexec.IRError, match="the file was truncated: 100 of "):
            act()


def test_a_constant_layer_with_an_invalid_constant_is_reported() -> None:
    """The axis was replaced after inference, so only the computation of the constants notices it."""
    x = ops.parameter([100_000], np.float32, name="x")
    picked = ops.gather(np.zeros(200_000, np.float32), np.arange(100_000), np.int64(0), name="picked")
    model = Model([ops.add(picked, x)], [x], "constant")
    axis = ops.constant(np.int64(1))
    picked.replace_input_with(2, axis.outputs[0])
    model.nodes.insert(0, axis)
    with pytest.raises(IRError, match=r"axis 1 is outside \[-1, 0\]"):
        irexec.compile_model(model)
