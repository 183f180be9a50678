"""Programs under adverse conditions: threads, dropped models, errors, forks, and arrays of any kind."""

from __future__ import annotations

import copy
import gc
import multiprocessing
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import Annotated, Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.lowering import lowered_engine, small_ones_too
from support.ownership import sequences, unheld
from support.waiting import PATIENCE

import irexec
from irexec import Model
from irexec.api.opsets.nodes import make_node
from irexec.core.threads import parallel
from irexec.core.types import F32, Array
from irexec.ops.spec.operator import Elements, operator
from irexec.runtime.engine import CompiledModel, InferRequest

pytestmark = pytest.mark.any_python

ops: Any = irexec.opset15
RUNS = 6
Float = Annotated[Array, Elements("T", {F32})]
# Functions that the layer Between calls in the middle of a run.
happening: list[Callable[[], object]] = []


@operator("Between", "programs", shapes=lambda check, x: x.shape)
def between(x: Float, /, *, out: Array | None = None) -> Float:
    for happens in happening:
        happens()
    return np.positive(x, out=out)


@pytest.fixture(autouse=True)
def small_layers_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    small_ones_too(monkeypatch.setattr)
    yield
    happening.clear()
    parallel.set_num_threads(None)


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def projected(x: Any, seed: int) -> Any:
    weights = ops.constant(numbers(24, 24, seed=seed) / 5)
    return ops.tanh(ops.add(ops.matmul(x, weights, False, False), ops.constant(numbers(24, seed=seed))))


def layers(x: Any, seed: int) -> Any:
    """Return layers, some of them compiled, with a view and a copy between them."""
    turned = ops.transpose(projected(projected(x, seed), seed + 1), ops.constant(np.int64([0, 2, 1])))
    flat = ops.reshape(turned, ops.constant(np.int64([0, -1, 24])), True)
    return ops.softmax(projected(flat, seed + 2), axis=-1)


def held(x: Any) -> Any:
    return make_node(irexec.Node, between, (x,), {})


def model_of(seed: int = 0, middle: Callable[[Any], Any] = held, rows: int = 12) -> Model:
    x = ops.parameter([1, rows, 24], np.float32, name="x")
    return Model([ops.exp(layers(middle(layers(x, seed)), seed + 3))], [x])


def plainly(model: Model, *given: Any) -> list[np.ndarray]:
    return [CompiledModel(model)([array])[0] for array in given]


def ran_often(model: Model, *shape: int) -> InferRequest:
    request = lowered_engine(model).create_infer_request()
    for number in range(RUNS):
        request.infer([numbers(*(shape or (1, 12, 24)), seed=number)])
    assert sequences(request) and unheld(request) == []
    return request


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


def strided(array: np.ndarray) -> np.ndarray:
    wide = np.full((*array.shape[:-1], 2 * array.shape[-1]), np.nan, np.float32)
    wide[..., ::2] = array
    return wide[..., ::2]


def at_an_odd_byte(array: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + array.tobytes(), np.float32, offset=1).reshape(array.shape)


def read_only(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


KINDS: dict[str, Callable[[np.ndarray], Any]] = {
    "contiguous": np.copy,
    "strided": strided,
    "transposed": lambda array: np.ascontiguousarray(array.swapaxes(1, 2)).swapaxes(1, 2),
    "backwards": lambda array: array[:, ::-1].copy()[:, ::-1],
    "at an odd byte": at_an_odd_byte,
    "read-only": lambda array: read_only(array.copy()),
    "other endian": lambda array: array.astype(">f4"),
    "a list": lambda array: array.tolist(),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("first", KINDS)
def test_inputs_of_any_kind(first: str, threads: int) -> None:
    """The inputs of the first run do not determine those of further runs."""
    parallel.set_num_threads(threads)
    model = model_of()
    request = lowered_engine(model).create_infer_request()
    for number, kind in enumerate([first, first, *KINDS, first]):
        given = numbers(1, 12, 24, seed=number)
        expected = plainly(model, given)[0]
        close(request.infer([KINDS[kind](given)])[0], expected)
    assert sequences(request)


def test_inputs_that_are_one_array_or_a_result() -> None:
    x, y = (ops.parameter([1, 12, 24], np.float32, name=name) for name in "xy")
    model = Model([layers(ops.add(layers(x, 0), layers(y, 3)), 6)], [x, y])
    request = lowered_engine(model).create_infer_request()
    last, other = numbers(1, 12, 24), numbers(1, 12, 24, seed=1)
    for number in range(2 * RUNS):
        given = [last, last if number % 2 else other]
        before = [array.copy() for array in given]
        expected = CompiledModel(model)(given)[0]
        last = request.infer(given)[0]
        close(last, expected)
        assert all(np.array_equal(*pair) for pair in zip(given, before, strict=True))
    assert sequences(request)


def test_results_are_the_callers_own() -> None:
    """Results of earlier runs stay as they are, and writing to them affects no other value."""
    x = ops.parameter([1, 12, 24], np.float32, name="x")
    first = layers(x, 0)
    second = layers(first, 3)
    turned = ops.transpose(second, ops.constant(np.int64([2, 0, 1])))
    flat = ops.reshape(second, ops.constant(np.int64([-1])), False)
    model = Model([first, second, turned, flat, ops.exp(second)], [x])
    request = lowered_engine(model).create_infer_request()
    kept: list[tuple[np.ndarray, ...]] = []
    for number in range(RUNS):
        results = request.infer([numbers(1, 12, 24, seed=number)]).to_tuple()
        expected = CompiledModel(model)([numbers(1, 12, 24, seed=number)]).to_tuple()
        for found, wanted in zip(results, expected, strict=True):
            close(found, wanted)
        assert not any(np.shares_memory(own, other) for own in results for others in kept for other in others)
        assert not any(np.shares_memory(a, b) for place, a in enumerate(results) for b in results[:place])
        for result in results:
            result[...] = np.nan
        kept.append(results)
    assert all(np.isnan(result).all() for results in kept for result in results)


@pytest.mark.by_hand(0)
def test_a_model_that_is_dropped_in_the_middle_of_a_run() -> None:
    model = model_of()
    given = numbers(1, 12, 24, seed=20)
    expected = plainly(model, given)[0]
    compiled = lowered_engine(model)
    for number in range(RUNS):
        compiled([numbers(1, 12, 24, seed=number)])
    (request,) = compiled._idle
    assert sequences(request)
    runner = weakref.ref(next(iter(request._runners.values())))
    reached, go_on = threading.Event(), threading.Event()
    happening.extend([reached.set, lambda: go_on.wait(PATIENCE)])
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(request.infer, [given])
        assert reached.wait(PATIENCE)
        del compiled, model, request
        gc.collect()
        # Code that uses freed memory would write into these arrays.
        rubbish = [np.full(size, np.nan, np.float32) for size in range(1, 4000)]
        go_on.set()
        close(running.result(PATIENCE)[0], expected)
    del running, rubbish
    gc.collect()
    assert runner() is None


@pytest.mark.by_hand(0)
def test_plans_that_are_replaced_in_turn() -> None:
    """More shapes than a model keeps plans for, each with a program."""
    x = ops.parameter([1, -1, 24], np.float32, name="x")
    model = Model([ops.exp(layers(layers(x, 0), 3))], [x])
    request = lowered_engine(model).create_infer_request()
    for turn in range(2):
        for rows in range(1, 12):
            for number in range(RUNS):
                given = numbers(1, rows, 24, seed=100 * turn + number)
                close(request.infer([given])[0], plainly(model, given)[0])
            assert unheld(request) == []
    assert len(sequences(request)) > 5


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ValueError, SystemExit])
@pytest.mark.parametrize("at", range(1, 5))
def test_an_interrupted_run_does_not_affect_the_next_one(error: type[BaseException], at: int) -> None:
    """In the first run and in later runs."""
    model = model_of()

    def fail() -> None:
        raise error

    request = lowered_engine(model).create_infer_request()
    for number in range(at):
        happening[:] = [fail] if number == at - 1 else []
        with pytest.raises((error, irexec.IRError)) if happening else nullcontext():
            request.infer([numbers(1, 12, 24, seed=number)])
    happening.clear()
    for number in range(RUNS):
        given = numbers(1, 12, 24, seed=number)
        close(request.infer([given])[0], plainly(model, given)[0])
    assert sequences(request) and unheld(request) == []


def test_a_layer_that_runs_a_model_in_the_first_run_of_its_own() -> None:
    """The inner run does not use the memory of the outer one."""
    inner, outer = model_of(5, lambda x: x), model_of()
    request = lowered_engine(inner).create_infer_request()
    found: list[np.ndarray] = []
    count = iter(range(100))

    def run_inner() -> None:
        found.append(request.infer([numbers(1, 12, 24, seed=next(count))])[0])

    run_inner()
    happening.append(run_inner)
    own = ran_often(outer)
    assert len(found) == 1 + RUNS
    for number, result in enumerate(found):
        close(result, plainly(inner, numbers(1, 12, 24, seed=number))[0])
    given = numbers(1, 12, 24, seed=50)
    result = own.infer([given])[0]
    happening.clear()
    close(result, plainly(outer, given)[0])


def test_the_same_request_in_the_middle_of_its_own_run_is_refused() -> None:
    request = ran_often(model_of())
    happening.append(lambda: request.infer([numbers(1, 12, 24)]))
    with pytest.raises((RuntimeError, irexec.IRError), match="busy"):
        request.infer([numbers(1, 12, 24)])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_several_models_in_several_threads(threads: int) -> None:
    parallel.set_num_threads(threads)
    models = [model_of(seed, lambda x: x, rows=40) for seed in range(4)]
    given = [numbers(1, 40, 24, seed=seed) for seed in range(4)]
    expected = [plainly(model, array)[0] for model, array in zip(models, given, strict=True)]
    compiled = [lowered_engine(model) for model in models]

    def run(number: int) -> None:
        for turn in range(60):
            which = (number + turn) % 4 if number % 2 else number % 4
            close(compiled[which]([given[which]])[0], expected[which])

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(run, range(6)))


def test_a_copy_of_a_model_has_programs_of_its_own() -> None:
    model = model_of(middle=lambda x: x)
    first = ran_often(model)
    other = copy.deepcopy(model)
    second = ran_often(other)
    given = numbers(1, 12, 24, seed=9)
    np.testing.assert_array_equal(first.infer([given])[0], second.infer([given])[0])
    del first, model
    gc.collect()
    close(second.infer([given])[0], plainly(other, given)[0])


def test_variables() -> None:
    """The memory of a variable, which one run assigns and the next one reads, does not belong to a program."""
    x = ops.parameter([1, 12, 24], np.float32, name="x")
    before = ops.read_value(ops.constant(np.zeros((1, 12, 24), np.float32)), variable_id="v")
    after = layers(ops.add(layers(x, 0), before), 3)
    model = Model([ops.exp(layers(after, 6))], [x], sinks=[ops.assign(after, variable_id="v")])
    request = lowered_engine(model).create_infer_request()
    plain = CompiledModel(model).create_infer_request()
    expected = [plain.infer([numbers(1, 12, 24, seed=number)])[0] for number in range(2 * RUNS)]
    for turn in range(3):
        for number in range(2 * RUNS):
            close(request.infer([numbers(1, 12, 24, seed=number)])[0], expected[number])
        state = request.query_state()[0].state
        kept = state.copy()
        request.reset_state()
        request.infer([numbers(1, 12, 24, seed=turn)])
        np.testing.assert_array_equal(state, kept)
        request.reset_state()
    assert sequences(request)


def test_bodies() -> None:
    """A body runs many times in one run, and has a program."""
    row, total = (ops.parameter([1, 12, 24], np.float32, name=name) for name in ("row", "total"))
    made = layers(ops.add(layers(row, 0), total), 3)
    body = Model([made, ops.exp(layers(made, 6))], [row, total])
    x, start = ops.parameter([5, 12, 24], np.float32, name="x"), ops.parameter([1, 12, 24], np.float32, name="start")
    loop = ops.tensor_iterator()
    loop.set_function(body)
    loop.set_sliced_input(row, x.output(0), 0, 1, 1, -1, 0)
    loop.set_merged_input(total, start.output(0), body.results[0].output(0))
    last = loop.get_iter_value(body.results[0].output(0), -1)
    rows = loop.get_concatenated_slices(body.results[1].output(0), 0, 1, 1, -1, 0)
    model = Model([layers(last, 9), rows], [x, start])
    request = lowered_engine(model).create_infer_request()
    for number in range(RUNS):
        given = [numbers(5, 12, 24, seed=number), numbers(1, 12, 24, seed=number)]
        expected = CompiledModel(model)(given).to_tuple()
        for found, wanted in zip(request.infer(given).to_tuple(), expected, strict=True):
            close(found, wanted)


def test_listeners_that_come_later_see_every_layer() -> None:
    model = model_of()
    request = ran_often(model)
    seen: list[str] = []

    class Listening:
        def before(self, node: Any, inputs: Any) -> None: ...

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None:
            seen.append(node.type)

    given = numbers(1, 12, 24, seed=4)
    expected = plainly(model, given)[0]
    request.listeners.append(Listening())
    close(request.infer([given])[0], expected)
    assert len(seen) == len(CompiledModel(model)._plans.general.steps)
    request.listeners.clear()
    close(request.infer([given])[0], expected)
    assert len(seen) == len(CompiledModel(model)._plans.general.steps)


def _in_child(request: InferRequest, given: np.ndarray, answers: Any) -> None:
    parallel.set_num_threads(None)
    answers.put([request.infer([given])[0] for _ in range(3)])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX systems fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("threads", [1, 3])
def test_a_forked_process_runs_the_programs_of_its_parent(threads: int) -> None:
    """Meanwhile another thread of the parent process is in the middle of its own runs."""
    parallel.set_num_threads(threads)
    model = model_of(middle=lambda x: x, rows=200)
    request, other = ran_often(model, 1, 200, 24), ran_often(model, 1, 200, 24)
    given = numbers(1, 200, 24, seed=5)
    expected = plainly(model, given)[0]
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            other.infer([given])

    thread = threading.Thread(target=run)
    thread.start()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    try:
        children = [context.Process(target=_in_child, args=(request, given, answers)) for _ in range(4)]
        for child in children:
            child.start()
        for _ in children:
            for found in answers.get(timeout=PATIENCE):
                close(found, expected)
        for child in children:
            child.join(PATIENCE)
            assert child.exitcode == 0
    finally:
        ended.set()
        thread.join(PATIENCE)
    close(request.infer([given])[0], expected)
