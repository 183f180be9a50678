"""Buffers are shared without an effect on results: random graphs compared with plain evaluation, in several runs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Annotated, Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.amounts import amount
from support.work import MOST, Work

import irexec
from irexec import Model, Node
from irexec.api.opsets.nodes import make_node
from irexec.core.types import FLOATS
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import Elements, operator
from irexec.runtime.engine.memory import Sharing, _Piece, plan_memory
from irexec.runtime.engine.plan import make_plan

Array = np.ndarray[Any, Any]
T: TypeAlias = Annotated[Array, Elements("T", FLOATS)]

SQUARE, FLAT, TALL = (64, 32), (2048,), (32, 64)
SHAPES = (SQUARE, FLAT, TALL)
ops: Any = irexec.opset15

# name → (number of operands, node from nodes, array from arrays)
OPERATIONS: dict[str, tuple[int, Any, Any]] = {
    "add": (2, lambda a, b: ops.add(a, b), np.add),
    "subtract": (2, lambda a, b: ops.subtract(a, b), np.subtract),
    "maximum": (2, lambda a, b: ops.maximum(a, b), np.maximum),
    "relu": (1, lambda a: ops.relu(a), lambda a: np.maximum(a, 0)),
    "negative": (1, lambda a: ops.negative(a), np.negative),
    "floor": (1, lambda a: ops.floor(a), np.floor),
    "convert": (1, lambda a: ops.convert(a, destination_type="f32"), lambda a: a),
    "half": (1, lambda a: ops.multiply(a, ops.constant(np.float32(0.5))), lambda a: a * np.float32(0.5)),
    "square": (
        1,
        lambda a: ops.reshape(a, ops.constant(np.array(SQUARE)), special_zero=False),
        lambda a: a.reshape(SQUARE),
    ),
    "flat": (1, lambda a: ops.reshape(a, ops.constant(np.array(FLAT)), special_zero=False), lambda a: a.reshape(FLAT)),
    "unsqueeze": (
        1,
        lambda a: ops.squeeze(ops.unsqueeze(a, ops.constant(np.array([0]))), ops.constant(np.array([0]))),
        lambda a: a,
    ),
    "transpose": (
        1,
        lambda a: ops.transpose(a, ops.constant(np.arange(len(a.outputs[0].shape))[::-1].copy())),
        lambda a: a.T,
    ),
    "split": (
        1,
        lambda a: ops.concat(ops.split(a, ops.constant(np.int64(0)), num_splits=2).outputs[::-1], axis=0),
        lambda a: np.concatenate(np.split(a, 2)[::-1]),
    ),
}


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[tuple[str, list[int]]], list[int]]:
    """Return steps (operation, operands by number; 0 and 1 are the inputs), and the numbers that are results."""
    shapes = [SQUARE, SQUARE]
    steps = []
    for _ in range(draw(st.integers(1, 25))):
        name = draw(st.sampled_from(sorted(OPERATIONS)))
        count = OPERATIONS[name][0]
        # Late operands are more likely, so that chains are long and values are released early.
        first = len(shapes) - 1 - min(draw(st.integers(0, 6)), len(shapes) - 1)
        same = [i for i, shape in enumerate(shapes) if shape == shapes[first]]
        operands = [first, *[draw(st.sampled_from(same)) for _ in range(count - 1)]]
        steps.append((name, operands))
        shape = {"square": SQUARE, "flat": FLAT, "transpose": shapes[first][::-1]}.get(name, shapes[first])
        shapes.append(shape)
    results = draw(st.lists(st.sampled_from(range(len(shapes))), min_size=1, max_size=4))
    return steps, [*results, len(shapes) - 1]


def compiled_graph(steps: list[tuple[str, list[int]]], results: list[int]) -> irexec.CompiledModel:
    parameters = [ops.parameter(list(SQUARE), np.float32) for _ in range(2)]
    nodes: list[Node] = list(parameters)
    for name, operands in steps:
        nodes.append(OPERATIONS[name][1](*[nodes[i] for i in operands]))
    return irexec.compile_model(Model([nodes[i] for i in results], parameters))


def plain(steps: list[tuple[str, list[int]]], results: list[int], inputs: list[Array]) -> list[Array]:
    arrays = list(inputs)
    for name, operands in steps:
        arrays.append(OPERATIONS[name][2](*[arrays[i] for i in operands]).copy())
    return [arrays[i] for i in results]


@settings(max_examples=amount(150, 50))
@given(graphs(), st.integers(0, 2**31))
def test_random_graphs_give_what_plain_evaluation_gives(
    graph: tuple[list[tuple[str, list[int]]], list[int]], seed: int
) -> None:
    steps, results = graph
    compiled = compiled_graph(steps, results)
    rng = np.random.default_rng(seed)
    kept: list[tuple[list[Array], list[Array]]] = []
    for _ in range(3):
        inputs = [rng.standard_normal(SQUARE, dtype=np.float32) for _ in range(2)]
        given_inputs = [a.copy() for a in inputs]
        expected = plain(steps, results, inputs)
        got = list(compiled(inputs).to_tuple())
        kept.append((expected, got))
        for mine, theirs in zip(inputs, given_inputs, strict=True):
            np.testing.assert_array_equal(mine, theirs, err_msg="an input was overwritten")
        for a in got:
            for other in [*inputs, *[b for b in got if b is not a]]:
                assert not np.shares_memory(a, other)
    for expected, got in kept:
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_array_equal(a, b)


def test_two_requests_do_not_share_buffers() -> None:
    compiled = compiled_graph([("half", [0]), ("negative", [2]), ("floor", [3])], [4])
    first, second = compiled.create_infer_request(), compiled.create_infer_request()
    x, y = (np.full(SQUARE, value, np.float32) for value in (3, 8))
    a = first.infer([x, x])[0]
    b = second.infer([y, y])[0]
    assert (a[0, 0], b[0, 0]) == (-2, -4)
    assert first.infer([y, y])[0][0, 0] == -4


def test_a_long_chain_needs_two_buffers() -> None:
    """Each layer's input is released with it; layers that may overwrite their input need even less."""
    parameter = ops.parameter(list(SQUARE), np.float32)
    node = parameter
    for _ in range(30):
        node = ops.softmax(ops.negative(node), axis=1)
    plan = make_plan(Model([ops.negative(node)], [parameter]))
    assert plan.memory.size <= 2 * 4 * 2048
    assert len(plan.memory.buffer_of) >= 30


@settings(max_examples=amount(100, 40))
@given(graphs())
def test_what_lives_at_the_same_time_lies_apart(graph: tuple[list[tuple[str, list[int]]], list[int]]) -> None:
    """Buffers are parts of one array, each at a multiple of 64 bytes."""
    plan = compiled_graph(*graph)._plans.general
    memory = plan.memory
    last = {slot: number for number, step in enumerate(plan.steps) for slot in (*step.outputs, *step.inputs)}
    made: dict[int, list[int]] = {}
    for number, buffer in memory.buffer_of.items():
        made.setdefault(buffer, []).append(number)
    lives = {
        buffer: (min(numbers), max(last[slot] for number in numbers for slot in plan.steps[number].outputs))
        for buffer, numbers in made.items()
    }
    assert all(start % 64 == 0 for start in memory.starts)
    assert all(start + size <= memory.size for start, size in zip(memory.starts, memory.sizes, strict=True))
    for one, other in combinations(lives, 2):
        if lives[one][0] <= lives[other][1] and lives[other][0] <= lives[one][1]:
            low, high = sorted((memory.starts[buffer], memory.sizes[buffer]) for buffer in (one, other))
            assert sum(low) <= high[0]


@pytest.mark.parametrize("seed", range(20))
def test_places_are_taken_and_given_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    piece, taken = _Piece(), []
    owners = np.zeros(1 << 16, np.int64)
    for number in range(1, 200):
        if taken and rng.random() < 0.5:
            start, nbytes = taken.pop(rng.integers(len(taken)))
            owners[start : start + nbytes] = 0
            piece.give_back(start, nbytes)
        else:
            nbytes = int(rng.integers(1, 500))
            start = piece.take(nbytes)
            assert start + nbytes <= piece.size and not owners[start : start + nbytes].any()
            owners[start : start + nbytes] = number
            taken.append((start, nbytes))
    for start, nbytes in taken:
        piece.give_back(start, nbytes)
    assert piece._gaps == [(0, piece.size)]
    assert piece.take(piece.size) == 0 and piece._gaps == []


@pytest.mark.parametrize("name", ["negative", "unsqueeze", "square"])
def test_results_are_the_callers_own(name: str) -> None:
    """A result is neither the caller's input nor the next run's buffer, even if the model only returns its input."""
    compiled = compiled_graph([(name, [0])], [2, 2, 0])
    x = np.ones(SQUARE, np.float32)
    results = compiled([x, x]).to_tuple()
    kept = [r.copy() for r in results]
    for r in results:
        assert r.flags.owndata and r.flags.writeable and r.flags.c_contiguous
    x[:] = 7
    results[0][:] = 5
    compiled([x, x])
    np.testing.assert_array_equal(results[1], kept[1])
    np.testing.assert_array_equal(results[2], kept[2])


def test_a_constant_that_is_a_result_is_a_copy() -> None:
    parameter = ops.parameter([1], np.float32)
    constant = ops.constant(np.arange(3, dtype=np.float32))
    compiled = irexec.compile_model(Model([constant, ops.negative(constant)], [parameter]))
    first = compiled([np.zeros(1, np.float32)])
    first[0][:] = 99
    first[1][:] = 99
    second = compiled([np.zeros(1, np.float32)])
    np.testing.assert_array_equal(second[0], [0, 1, 2])
    np.testing.assert_array_equal(second[1], [0, -1, -2])


@operator("PassThrough", "opset_test_memory", shapes=same_as())
def hands_on(x: T, /, *, out: Array | None = None) -> T:
    """Return the input, although the kernel is given a buffer."""
    return x


def test_a_kernel_that_passes_its_buffer_over_spoils_nothing() -> None:
    x = ops.parameter(list(SQUARE), np.float32, name="x")
    kept = make_node(irexec.Node, hands_on, (ops.negative(x),), {})
    later = ops.floor(ops.floor(ops.negative(x)))
    compiled = irexec.compile_model(Model([ops.add(kept, later)], [x]))
    array = np.random.default_rng(0).standard_normal(SQUARE, np.float32) * 9
    for _ in range(2):
        np.testing.assert_array_equal(compiled([array])[0], -array + np.floor(-array))


def residuals(count: int) -> Model:
    """Return blocks that add their result to their input: of two buffers that could be overwritten, it is the later
    one.
    """
    x = node = ops.parameter(SQUARE, np.float32)
    for _ in range(count):
        node = ops.add(ops.tanh(ops.sin(node)), ops.sinh(node))
    return Model([node], [x], "residuals")


def all_alive(count: int) -> Model:
    """Return a model with many buffers that are in use until the end."""
    x = ops.parameter(SQUARE, np.float32)
    return Model([ops.concat([ops.sin(x) for _ in range(count)], axis=0)], [x], "all alive")


def many_free(count: int) -> Model:
    """Return a model with many free buffers of all sizes while a chain is computed."""
    x = ops.parameter(SQUARE, np.float32)
    rows = [ops.concat([ops.sin(x)] * (1 + number % 7), axis=0) for number in range(count)]
    node = ops.sin(ops.concat([ops.sin(row) for row in rows], axis=0))
    for _ in range(count):
        node = ops.sin(ops.softmax(node, axis=0))
    return Model([node], [x], "many free")


@pytest.mark.by_hand(2)
@pytest.mark.parametrize("build", [residuals, all_alive, many_free])
def test_the_work_of_planning_grows_with_the_steps(
    build: Callable[[int], Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(monkeypatch)
    slot = work.number()

    def task(size: int) -> Callable[[], object]:
        plan = make_plan(build(size))
        for step in plan.steps:
            step.inputs, step.outputs = tuple(map(slot, step.inputs)), tuple(map(slot, step.outputs))
        sharing = Sharing(plan.steps, len(plan.template))
        assert len(plan_memory(plan.steps, sharing, frozenset(plan.results)).buffer_of) >= size
        return lambda: plan_memory(plan.steps, sharing, frozenset(plan.results))

    assert work.growth(task, 100) < MOST
