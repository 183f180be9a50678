"""Equal layers, such as those of repeated blocks: little is stored for each, and the rest is shared."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import irexec
from irexec import Model
from irexec.core.types import Stored
from irexec.runtime.engine.plan import Plan, _Planner, make_plan

ops: Any = irexec.opset15


def blocks(count: int) -> Model:
    """Return blocks that each transpose their input and add a constant to it."""
    x = node = ops.parameter([1, 4, 8], np.float32, name="x")
    for number in range(count):
        turned = ops.transpose(ops.reshape(node, np.int64([0, 4, 2, 4]), special_zero=True), np.int64([0, 2, 1, 3]))
        flat = ops.reshape(ops.transpose(turned, np.int64([0, 2, 1, 3])), np.int64([0, 4, 8]), special_zero=True)
        node = ops.relu(ops.add(flat, np.full((1, 4, 8), number, np.float32)))
    return Model([node], [x], "blocks")


def from_file(model: Model, folder: Path) -> Model:
    irexec.save_model(model, folder / "m.xml")
    return irexec.read_model(folder / "m.xml")


def calls(plan: Plan, type: str) -> list[Any]:
    return [step.call for step in plan.steps if step.node.type == type]


def test_equal_layers_share_their_call_and_their_types(tmp_path: Path) -> None:
    plan = make_plan(from_file(blocks(5), tmp_path))
    assert {type: len(set(calls(plan, type))) for type in ("Reshape", "Transpose", "Add", "ReLU")} == {
        "Reshape": 2,
        "Transpose": 2,
        "Add": 1,
        "ReLU": 1,
    }
    relu = [step for step in plan.steps if step.node.type == "ReLU"]
    assert len({id(step.given) for step in relu}) == len({id(step.types) for step in relu}) == 1


def test_small_constants_that_are_the_same_are_one_array(tmp_path: Path) -> None:
    model = from_file(blocks(5), tmp_path)
    plan = make_plan(model)
    assert sum(isinstance(node.held, Stored) for node in model.get_ops()) == 25
    # Two patterns, an order, and the constant of each block.
    assert len({id(array) for array in plan.template if array is not None}) == 3 + 5


def test_constants_of_other_types_are_others(tmp_path: Path) -> None:
    x = ops.parameter([4], np.float32, name="x")
    same = [np.zeros(4, np.float32), np.zeros(2, np.float64), np.zeros(4, np.int32)]
    model = from_file(Model([ops.add(x, same[0]), ops.sin(same[1]), ops.add(same[2], np.int32(1))], [x]), tmp_path)
    results = irexec.compile_model(model)(np.ones(4, np.float32)).to_tuple()
    assert [(result.dtype, result.shape) for result in results] == [("f4", (4,)), ("f8", (2,)), ("i4", (4,))]


@pytest.mark.parametrize("stored", [False, True])
def test_zeros_of_either_sign_are_attributes_of_their_own(stored: bool, tmp_path: Path) -> None:
    x = ops.parameter([1], np.float32, name="x")
    model = Model([ops.clamp(x, low, 1.0) for low in (0.0, -0.0, 0.0)], [x])
    compiled = irexec.compile_model(from_file(model, tmp_path) if stored else model)
    signs = [bool(np.signbit(result[0])) for result in compiled(np.float32([-1])).to_tuple()]
    assert signs == [False, True, False]


def test_attributes_that_are_changed_are_looked_at(tmp_path: Path) -> None:
    x = ops.parameter([1, 3], np.float32, name="x")
    model = from_file(Model([ops.cum_sum(x, 1, reverse=False), ops.cum_sum(x, 1, reverse=False)], [x]), tmp_path)
    second = model.results[1].inputs[0].node
    second.attributes["reverse"] = True
    first, changed = irexec.compile_model(model)(np.float32([[1, 2, 3]])).to_tuple()
    assert first.tolist() == [[1, 3, 6]] and changed.tolist() == [[6, 5, 3]]


def test_little_is_made_for_each_layer(tmp_path: Path) -> None:
    """Objects that the garbage collector tracks: a step and the tuples of its slots; equal parts are shared."""

    def made(count: int) -> int:
        model = from_file(blocks(count), tmp_path)
        gc.collect()
        gc.disable()
        before = len(gc.get_objects())
        plan = make_plan(model)
        after = len(gc.get_objects())
        gc.enable()
        assert len(plan.steps) == 6 * count
        return after - before

    made(1)
    assert (made(50) - made(10)) / (40 * 6) < 4.5


def test_a_plan_keeps_nothing_of_what_made_it() -> None:
    plan = make_plan(blocks(2))
    assert not any(isinstance(item, _Planner) for item in gc.get_objects())
    assert len(plan.steps) == 12


def test_a_compiled_model_is_freed_when_it_is_dropped() -> None:
    """The model is freed without the garbage collector, which may run much later."""
    compiled = irexec.compile_model(blocks(2))
    for _ in range(4):
        compiled(np.ones((1, 4, 8), np.float32))
    plan = compiled._plans.general
    watched = [weakref.ref(step.call) for step in plan.steps if step.node.type == "Reshape"]
    gc.disable()
    del plan, compiled
    assert [found() for found in watched] == [None] * 4
    gc.enable()
