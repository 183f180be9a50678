"""irexec compare: variables over several steps, and parts that the inputs did not exercise."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from support.verdicts import compared, named

from irexec import Model
from irexec import opset15 as ops
from irexec.model.graph.model import Node
from irexec.tools.compare.errors import Error
from irexec.tools.compare.result import Comparison, Row

F = np.float32
RNG = np.random.default_rng(0)


# States


def cached(*, swapped: bool = False, factor: float = 1.0, assigns_input: bool = False) -> Model:
    """Return a cache that grows by each step's rows."""
    x = ops.parameter([-1, 4], F, name="x")
    past = ops.read_value(ops.constant(np.zeros((0, 4), F)), "cache", "f32", [-1, 4], name="past")
    new = ops.multiply(x, F(factor), name="new")
    parts = [new, past] if swapped else [past, new]
    all_rows = ops.concat(parts, 0, name="all")
    assign = ops.assign(new if assigns_input else all_rows, "cache", name="assign")
    weights = F([1, 2, 3, 4])
    rows = ops.cum_sum(ops.multiply(all_rows, weights, name="weighted"), np.int64(0), name="sums")
    return Model([rows], [assign], [x], "cached")


STEPS = [[RNG.normal(0, 1, (n, 4)).astype(F)] for n in (3, 1, 1)]


def test_an_empty_state_hides_the_order_and_this_is_reported() -> None:
    found = compared(cached(), cached(swapped=True), STEPS[0])
    assert found.same
    assert "the state was empty in every step" in " ".join(found.notes)
    assert "with only one step" in " ".join(found.notes)
    assert any("all (Concat) reads" in note for note in found.notes), found.notes


def test_a_second_step_shows_the_order() -> None:
    found = compared(cached(), cached(swapped=True), *STEPS)
    assert named(found) == ["all"]
    assert found.culprit is not None and found.culprit.step >= 1
    assert not any("empty" in note for note in found.notes)


def test_another_value_is_assigned() -> None:
    found = compared(cached(), cached(assigns_input=True), *STEPS)
    assert not found.agrees
    assert named(found) == ["assign"]
    assert "reads new instead of all" in found.verdict


def counting(*, forgets: bool = False) -> Model:
    """Return a model that multiplies its input by the number of the step."""
    x = ops.parameter([4], F, name="x")
    count = ops.read_value(ops.constant(F([1])), "count", "f32", [1], name="count")
    following = count if forgets else ops.add(count, F([1]), name="next")
    return Model([ops.multiply(x, count, name="scaled")], [ops.assign(following, "count", name="assign")], [x], "n")


def test_a_variable_keeps_its_value_and_the_layer_that_changes_it_is_missing() -> None:
    found = compared(counting(), counting(forgets=True), *[[F([1, 2, 3, 4])]] * 3)
    assert not found.agrees
    assert named(found) == ["assign"]
    assert "reads count instead of next" in found.verdict


def test_a_culprit_of_a_later_step_only() -> None:
    """A limit that only the rows of the third step reach."""

    def model(most: float) -> Model:
        x = ops.parameter([1, 4], F, name="x")
        return Model([ops.exp(ops.clamp(x, -1, most, name="clamped"), name="exp")], [x], "late")

    steps = [[np.full((1, 4), value, F)] for value in (0.1, 0.2, 5.0)]
    found = compared(model(3.0), model(2.0), *steps)
    assert named(found) == ["clamped"]
    assert found.culprit is not None and found.culprit.step == 2


# Parts that were not exercised


def test_an_axis_of_one_element_is_reported() -> None:
    x = ops.parameter([1, -1], F, name="x")
    model = Model([ops.softmax(x, 1, name="probabilities")], [x], "one")
    notes = compared(model, model, [F([[3]])]).notes
    assert "not exercised: input x has one element along axis 1 in every step" in notes
    assert any(note.startswith("not exercised: probabilities: an axis with one element") for note in notes)
    assert compared(model, model, [F([[3, 4]])]).notes == []


def test_a_branch_that_is_not_taken_is_reported() -> None:
    x, condition = ops.parameter([2], F, name="x"), ops.parameter([], bool, name="condition")
    bodies = []
    for kind in (ops.relu, ops.tanh):
        inner = ops.parameter([2], F, name="inner")
        bodies.append(Model([kind(inner)], [inner], kind.__name__))
    chosen = ops.if_op(condition, name="chosen")
    chosen.set_then_body(bodies[0])
    chosen.set_else_body(bodies[1])
    chosen.set_input(x.output(0), *(body.parameters[0] for body in bodies))
    chosen.set_output(*(body.results[0] for body in bodies))
    model = Model([chosen.output(0)], [x, condition], "branches")
    steps = [[F([1, -2]), np.array(flag)] for flag in (True, True)]
    notes = compared(model, model, *steps).notes
    assert notes == ["not exercised: the else branch of chosen did not run"]


def attending(*, beams: bool, cached: bool) -> Model:
    """Return attention with keys and values that are kept in variables, reordered by beams, or are inputs."""
    x = ops.parameter([1, 2, -1, 4], np.float32, name="x")
    beam = ops.parameter([-1], np.int64, name="beam_idx")
    kept, sinks = [], []
    for name in ("key", "value"):
        if not cached:
            kept.append(x)
            continue
        start = ops.broadcast(np.float32(0), np.int64([1, 2, 0, 4]))
        read = ops.read_value(start, name, "f32", [1, 2, -1, 4], name=f"{name} cache")
        moved = ops.gather(read, beam, np.int64(0), name=f"{name} by beam") if beams else read
        kept.append(ops.concat([moved, x], 2, name=f"{name} joined"))
        sinks.append(ops.assign(kept[-1], name))
    attention = ops.scaled_dot_product_attention(x, *kept, causal=False, name="attention")
    return Model([attention], [x, beam], "attending", sinks=sinks)


def test_a_cache_in_fewer_bits_is_suggested_wherever_a_layer_reads_a_state() -> None:
    for beams in (False, True):
        nodes = {node.friendly_name: node for node in attending(beams=beams, cached=True).nodes}
        for name in ("key cache", "key joined", "attention"):
            assert _hints([nodes[name]]) == [
                "OpenVINO keeps the caches of attention in u8; --config KV_CACHE_PRECISION=f32 keeps them in f32"
            ]
    attention = [node for node in attending(beams=False, cached=False).nodes if node.friendly_name == "attention"]
    assert _hints(attention) == []


def _hints(layers: list[Node]) -> list[str]:
    """Return the hints of a comparison that observed these layers; no layer is wrong, but the result is."""
    error = Error(1e5, 0.02, 0.1)
    found = Comparison("OpenVINO 2026 CPU", "f32", about={"KV_CACHE_PRECISION": "u8"}, hidden=True)
    found.layers = [Row(layer, (), True, None, None, "exact") for layer in layers]
    found.results, found.results_agree = [("attention", error)], False
    assert "not when layers are observed" in found.verdict
    return found.hints


# States of two exports, paired by what they compute


def blocks(ids: Sequence[str], *, factor: float = 0.25, folded: bool = False, assigns: Sequence[int] = ()) -> Model:
    """Return two blocks with keys and values in variables of these names. `folded`: weights are stored transposed.
    `assigns`: the order in which the new values are assigned to the variables.
    """
    rng = np.random.default_rng(1)
    x: Any = ops.parameter([1, -1, 4], F, name="x")
    first, variables, made = x, [], []
    for block in range(2):
        parts = []
        for part in range(2):
            weights = rng.normal(0, 1, (4, 4)).astype(F)
            new = ops.matmul(x, weights.T.copy() if folded else weights, False, folded)
            new = ops.sin(new) if part == 0 else new
            zeros = ops.constant(np.zeros((1, 0, 4), F))
            past = ops.read_value(zeros, ids[2 * block + part], "f32", [1, -1, 4])
            parts.append(ops.concat([past, new], 1))
        variables += ids[2 * block : 2 * block + 2]
        made += parts
        scaled = ops.multiply(x, F(factor if block == 0 else 0.25), name=f"{block}/scaled")
        x = ops.add(x, ops.scaled_dot_product_attention(scaled, *parts, causal=False), name=f"{block}/added")
    order = assigns or range(len(made))
    sinks = [ops.assign(made[at], name) for at, name in zip(order, variables, strict=True)]
    return Model([x], sinks, [first], "attending")


NAMES = ("k0", "v0", "k1", "v1")
TEXTS = [[RNG.normal(0, 1, (1, n, 4)).astype(F)] for n in (5, 1, 1)]


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize(
    "ids", [*permutations(NAMES), ("a", "b", "c", "d"), ("d", "c", "b", "a"), ("v1", "x", "k0", "y")]
)
def test_states_are_paired_by_what_they_compute(ids: Sequence[str], folded: bool) -> None:
    agreeing = compared(blocks(NAMES), blocks(ids, folded=folded), *TEXTS)
    assert agreeing.agrees, agreeing.verdict
    wrong = compared(blocks(NAMES), blocks(ids, factor=0.5, folded=folded), *TEXTS)
    assert named(wrong) == ["0/scaled"], wrong.verdict


@pytest.mark.parametrize("order", [(1, 0, 2, 3), (2, 1, 0, 3)])
def test_values_that_are_assigned_to_the_wrong_variables(order: Sequence[int]) -> None:
    found = compared(blocks(NAMES), blocks(NAMES, assigns=order), *TEXTS)
    assert not found.agrees and found.culprit is not None
    assert {node.type for node in found.culprit.nodes} <= {"Assign", "ReadValue"}, found.verdict
