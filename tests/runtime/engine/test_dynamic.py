"""Dynamic shapes: one plan for all shapes, a separate one for repeated shapes, and extents checked when they
are known.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.nets import two_inputs

import irexec
from irexec import Model
from irexec.core.types import PartialShape
from irexec.ops.spec.operator import Operator
from irexec.runtime.engine import InferRequest
from irexec.runtime.engine.plans import MAX_PLANS, Plans

ops: Any = irexec.opset15


def flattening() -> irexec.CompiledModel:
    """Return a model that flattens [?, ?, 4] to [batch, rest] through ShapeOf, Gather, Concat, Reshape, and
    doubles it.
    """
    x = ops.parameter([-1, -1, 4], np.float32, name="x")
    batch = ops.gather(ops.shape_of(x), ops.constant(np.array([0])), ops.constant(np.int64(0)))
    target = ops.concat([batch, ops.constant(np.array([-1]))], axis=0)
    flat = ops.reshape(x, target, special_zero=False)
    return irexec.compile_model(Model([ops.add(flat, flat)], [x]))


@pytest.mark.by_hand(0)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=12))
def test_any_order_of_shapes(shapes: list[tuple[int, int]]) -> None:
    compiled = flattening()
    for batch, length in shapes:
        x = np.arange(batch * length * 4, dtype=np.float32).reshape(batch, length, 4)
        np.testing.assert_array_equal(compiled([x])[0], 2 * x.reshape(batch, -1))


def test_shapes_that_come_again_have_a_plan_with_static_shapes() -> None:
    compiled = flattening()
    x = np.ones((2, 3, 4), np.float32)
    plans = Plans(compiled.model)
    first, second = plans.of((x.shape,)), plans.of((x.shape,))
    assert first is plans.of(((9, 9, 4),)) is plans.general
    assert second is plans.of((x.shape,)) is not first
    assert second.steps[-1].shape == (2, 12)
    # Sub-graphs of shapes are constants then: only Reshape and Add remain.
    assert [step.operator.type for step in second.steps] == ["Reshape", "Add"]
    np.testing.assert_array_equal(compiled([x])[0], 2 * x.reshape(2, 12))


def either() -> irexec.CompiledModel:
    """Return an If whose branches add constants of four and of eight elements to the rows of x."""
    x, cond = ops.parameter([-1, -1], np.float32, name="x"), ops.parameter([], np.bool_, name="cond")
    choice = ops.if_op(cond)
    inner = [ops.parameter(PartialShape([-1, -1]), np.float32) for _ in range(2)]
    sums = [ops.add(given, ops.constant(np.ones(size, np.float32))) for given, size in zip(inner, (4, 8), strict=True)]
    bodies = [Model([total], [given], "branch") for total, given in zip(sums, inner, strict=True)]
    choice.set_then_body(bodies[0])
    choice.set_else_body(bodies[1])
    choice.set_input(x.output(0), *inner)
    out = choice.set_output(bodies[0].results[0], bodies[1].results[0])
    return irexec.compile_model(Model([ops.negative(out)], [x, cond]))


def test_a_branch_that_cannot_run_with_a_shape_prevents_no_plan_for_it() -> None:
    compiled = either()
    plans = Plans(compiled.model)
    for size, fits in ((4, True), (8, False)):
        x = np.zeros((2, size), np.float32)
        for _ in range(3):
            assert np.array_equal(compiled([x, np.bool_(fits)])[0], np.full((2, size), -1))
            with pytest.raises(irexec.IRError, match="do not broadcast"):
                compiled([x, np.bool_(not fits)])
        shapes = ((2, size), ())
        plans.of(shapes)
        assert plans.of(shapes) is not plans.general
        assert plans.of(shapes).steps[-1].shape == (2, size)


def test_a_shape_with_which_neither_branch_can_run_is_refused_every_time() -> None:
    compiled = either()
    for _ in range(3):
        with pytest.raises(irexec.IRError, match="do not broadcast"):
            compiled([np.zeros((2, 5), np.float32), np.bool_(True)])


def test_a_plan_of_its_own_does_not_change_the_model() -> None:
    compiled = flattening()
    before = [str(value.type) for node in compiled.model.nodes for value in node.outputs]
    for _ in range(3):
        compiled([np.ones((2, 3, 4), np.float32)])
    assert [str(value.type) for node in compiled.model.nodes for value in node.outputs] == before
    assert str(compiled.output(0).partial_shape) == "[?,4..]" or compiled.output(0).partial_shape.rank == 2


def test_old_plans_and_their_buffers_go() -> None:
    plans = Plans(flattening().model)
    request = InferRequest(plans)
    for length in [*range(1, 30), *range(1, 30)]:
        for _ in range(2):
            request.infer([np.ones((1, length, 4), np.float32)])
    assert len(plans) <= MAX_PLANS
    assert len(request._runners) <= MAX_PLANS
    np.testing.assert_array_equal(request.infer([np.ones((1, 3, 4), np.float32)])[0], np.full((1, 12), 2))


def test_results_of_one_shape_survive_a_run_of_another() -> None:
    compiled = flattening()
    kept = []
    for length in (3, 3, 5, 5, 3):
        x = np.full((1, length, 4), length, np.float32)
        kept.append((compiled([x])[0], 2 * x.reshape(1, -1)))
    for got, expected in kept:
        np.testing.assert_array_equal(got, expected)


def test_extents_that_do_not_fit_are_a_finding_each_time() -> None:
    compiled = irexec.compile_model(irexec.read_model(two_inputs().text.encode()))
    x, y = np.ones((2, 3), np.float32), np.ones((3, 3), np.float32)
    for _ in range(4):
        with pytest.raises(irexec.IRError) as caught:
            compiled([x, y])
        assert [(f.code, f.layer and f.layer.name) for f in caught.value.report] == [("O001", "product")]


def test_bounds_of_an_input_are_kept() -> None:
    x = ops.parameter(PartialShape.parse("1..3,4"), np.float32, name="x")
    compiled = irexec.compile_model(Model([ops.relu(x)], [x]))
    assert compiled([np.ones((3, 4), np.float32)])[0].shape == (3, 4)
    with pytest.raises(irexec.IRError, match=r"has shape \[4,4\], which does not match .* \[1\.\.3,4\]"):
        compiled([np.ones((4, 4), np.float32)])


@pytest.mark.parametrize("shape", [(), (3,), (0,), (2, 0, 3), (1, 2, 3, 4)])
def test_a_rank_that_is_not_known(shape: tuple[int, ...]) -> None:
    x = ops.parameter(PartialShape.dynamic(), np.float32, name="x")
    compiled = irexec.compile_model(Model([ops.relu(ops.negative(x))], [x]))
    for _ in range(3):
        assert compiled([np.ones(shape, np.float32)])[0].shape == shape


def test_empty_tensors() -> None:
    compiled = flattening()
    for _ in range(3):
        assert compiled([np.ones((3, 0, 4), np.float32)])[0].shape == (3, 0)


def test_constants_whose_shapes_only_folding_gives_are_checked() -> None:
    x = ops.parameter([1], np.int64)
    places = ops.non_zero(ops.constant(np.ones(5000, np.float32)))
    product = ops.matmul(places, ops.constant(np.ones((4, 1), np.int64)), False, False)
    with pytest.raises(irexec.IRError, match="b has 4 rows, expected 5000") as caught:
        irexec.compile_model(Model([ops.add(product, x)], [x]))([np.zeros(1, np.int64)])
    assert [finding.constraint for finding in caught.value.report] == ["MatMul-1 C2"]


def test_a_shape_that_the_model_excludes_is_refused_every_time() -> None:
    x = ops.parameter(PartialShape.parse("1..6"), np.float32, name="x")
    compiled = irexec.compile_model(Model([ops.relu(ops.squeeze(x, [0]))], [x]))
    for _ in range(3):
        with pytest.raises(irexec.IRError, match="3 elements along axis 0"):
            compiled([np.ones(3, np.float32)])
    assert compiled([np.ones(1, np.float32)])[0].shape == ()


def test_a_computed_array_can_be_a_result() -> None:
    x = ops.parameter([2], np.float32, name="x")
    model = Model([ops.result(ops.minimum([1.0, 5.0], [2.0, 2.0]))], [x])
    assert irexec.compile_model(model)([np.zeros(2, np.float32)])[0].tolist() == [1, 2]


def test_extents_that_change_from_call_to_call_are_open_in_a_plan() -> None:
    compiled = flattening()
    plans = Plans(compiled.model)
    shapes = [((1, length, 4),) for length in range(1, 12)]
    found = [plans.of(one, last) for last, one in pairwise([(), *shapes])]
    assert found[:2] == [plans.general] * 2
    assert found[2] is not plans.general
    assert found[2:] == [found[2]] * 9
    assert found[2].inference[compiled.model.inputs[0]].shape == PartialShape([1, -1, 4])
    assert plans.of(((2, 3, 4),), shapes[-1]) is plans.general
    assert plans.of(((5, 6, 4),), ((2, 3, 4),)) is plans.general, "all extents changed twice: the model's own types"


def added() -> irexec.CompiledModel:
    x, y = (ops.parameter([-1, 2], np.float32, name=name) for name in "xy")
    return irexec.compile_model(Model([ops.add(ops.concat([x, y], 0), ops.concat([x, x], 0))], [x, y]))


def test_shape_rules_do_not_run_again_for_extents_they_do_not_distinguish(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, runs = added(), []
    infer = Operator.infer
    monkeypatch.setattr(Operator, "infer", lambda *given: runs.append(given) or infer(*given))
    for length in (*range(2, 40), 5000):
        x = np.ones((length, 2), np.float32)
        np.testing.assert_array_equal(compiled([x, x])[0], np.full((2 * length, 2), 2))
        if length == 8:
            runs.clear()
    assert runs == []


def test_extents_that_a_proof_does_not_cover_are_checked() -> None:
    compiled = added()
    for length in (2, 3, 4, 5, 6):
        compiled([np.ones((length, 2), np.float32)] * 2)
    x = np.ones((3, 2), np.float32)
    for _ in range(2):
        with pytest.raises(irexec.IRError, match="O001"):
            compiled([x, np.ones((4, 2), np.float32)])
    assert compiled([x, x])[0].shape == (6, 2)


def test_an_element_type_that_the_operator_refuses_is_found_after_another_one() -> None:
    x = ops.parameter([2], irexec.Type.dynamic, name="x")
    compiled = irexec.compile_model(Model([ops.relu(x)], [x]))
    assert compiled([np.float32([-1, 2])])[0].tolist() == [0, 2]
    with pytest.raises(irexec.IRError, match="O002"):
        compiled([np.array([True, False])])


def test_the_first_token_after_another_prompt_has_the_plan_of_all_tokens() -> None:
    x, mask = ops.parameter([-1, -1], np.float32, name="x"), ops.parameter([-1, -1], np.float32, name="mask")
    plans = Plans(Model([ops.add(x, ops.reduce_sum(mask, np.int64(1), keep_dims=True))], [x, mask]))

    def talked(prompt: int) -> list[Any]:
        lengths = [(prompt, prompt), *((1, prompt + 1 + number) for number in range(20))]
        shapes = [((1, tokens), (1, length)) for tokens, length in lengths]
        return [plans.of(one, last) for last, one in pairwise([(), *shapes])]

    *_, token = talked(5)
    for prompt in (7, 9, 30):
        assert set(map(id, talked(prompt)[1:])) == {id(token)}
    same = [plans.of(((1, 30), (1, 30))) for _ in range(3)]
    assert same[2] is same[1] is not plans.general, "a prompt that is repeated has a plan of its own"


def test_equal_layers_share_what_is_known_of_their_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    infer = Operator.infer
    monkeypatch.setattr(Operator, "infer", lambda self, *given: asked.append(self.type) or infer(self, *given))
    x = made = ops.parameter([-1, -1], np.float32, name="x")
    for _ in range(50):
        made = ops.transpose(made, np.int64([1, 0]))
    request = irexec.compile_model(Model([made], [x])).create_infer_request()
    asked.clear()
    for length in (3, 4, 6, 9, 14):
        np.testing.assert_array_equal(request.infer([np.ones((1, length), np.float32)])[0], np.ones((1, length)))
    assert len(asked) < 50
