"""One compiled model in many threads and processes: every result equals that of a single thread."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.amounts import amount
from support.processes import results_of
from support.waiting import PATIENCE

import irexec
from irexec import Model

ops: Any = irexec.opset15
THREADS = 8
# The number of calls of each model, in all threads together.
CALLS = amount(17_000, 2_000)


def static_model() -> Model:
    """Return a model of [4, 64] with reused buffers, a view, and a result computed in place."""
    x = ops.parameter([4, 64], np.float32, name="x")
    a = ops.relu(ops.add(x, ops.constant(np.float32(1))))
    b = ops.transpose(a, ops.constant(np.array([1, 0])))
    return Model([ops.softmax(b, axis=0), ops.multiply(a, a)], [x])


def dynamic_model() -> Model:
    """Return a model of [?, ?]: repeated shapes have their own plans."""
    x = ops.parameter([-1, -1], np.float32, name="x")
    rows = ops.gather(ops.shape_of(x), ops.constant(np.array([0])), ops.constant(np.int64(0)))
    flat = ops.reshape(ops.exp(x), ops.concat([rows, ops.constant(np.array([-1]))], axis=0), special_zero=False)
    return Model([ops.reduce_sum(flat, ops.constant(np.array([1]))), flat], [x])


def stateful_model() -> Model:
    """Return a running sum: each call adds its input to the variable."""
    x = ops.parameter([2], np.int64, name="x")
    before = ops.read_value(ops.constant(np.zeros(2, np.int64)), variable_id="sum")
    after = ops.add(before, x)
    return Model([after], [x], sinks=[ops.assign(after, variable_id="sum")])


def in_threads(work: Callable[[int], int]) -> int:
    """Return the sum of the results of `work` for each thread's number. Raises the exception of a thread."""
    with ThreadPoolExecutor(THREADS) as pool:
        return sum(pool.map(work, range(THREADS)))


def inputs_of(shapes: list[tuple[int, int]]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]


@pytest.mark.parametrize(
    ("model", "inputs"),
    [
        (static_model(), inputs_of([(4, 64)] * 5)),
        (
            dynamic_model(),
            inputs_of([(2, 3), (3, 2), (5, 7), (1, 64), (64, 1), (8, 8), (9, 4), (4, 9), (6, 6), (7, 5)]),
        ),
    ],
    ids=["static", "dynamic"],
)
def test_calls_of_one_compiled_model_are_as_if_alone(model: Model, inputs: list[np.ndarray]) -> None:
    config = {"EXECUTION_MODE_HINT": "ACCURACY"}  # Lowering would change the last bits after some 3,000 calls.
    compiled = irexec.compile_model(model, config=config)
    expected = [irexec.compile_model(model, config=config)([x]).to_tuple() for x in inputs]

    def work(number: int) -> int:
        wrong = 0
        for call in range(CALLS // THREADS):
            index = (call * (number + 1)) % len(inputs)
            got = compiled([inputs[index]]).to_tuple()
            wrong += not all(np.array_equal(a, b) for a, b in zip(got, expected[index], strict=True))
        return wrong

    assert in_threads(work) == 0
    assert len(compiled._idle) <= THREADS


def test_calls_of_a_model_with_variables_follow_one_another() -> None:
    """No assignment is lost: every sum occurs once, and the last one is the sum of all."""
    compiled = irexec.compile_model(stateful_model())
    sums: set[int] = set()

    def work(number: int) -> int:
        own = [int(compiled([np.array([1, 2])])[0][0]) for _ in range(CALLS // THREADS)]
        sums.update(own)
        return len(own)

    assert in_threads(work) == len(sums) == max(sums)


def test_requests_of_their_own_keep_states_of_their_own() -> None:
    compiled = irexec.compile_model(stateful_model())

    def work(number: int) -> int:
        request = compiled.create_infer_request()
        for _ in range(200):
            last = request.infer([np.array([number, 1])])[0]
        return int(last.tolist() != [200 * number, 200])

    assert in_threads(work) == 0


def test_a_busy_request_reports_it() -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Waiting:
        def before(self, node: Any, inputs: Any) -> None:
            begun.set()
            go_on.wait(PATIENCE)

        def after(self, node: Any, inputs: Any, outputs: Any, seconds: float) -> None: ...

    request = irexec.compile_model(static_model()).create_infer_request([Waiting()])
    x = np.zeros((4, 64), np.float32)
    thread = threading.Thread(target=request.infer, args=([x],))
    thread.start()
    assert begun.wait(PATIENCE)
    try:
        assert request.is_busy
        with pytest.raises(RuntimeError, match="Infer Request is busy"):
            request.infer([x])
        with pytest.raises(RuntimeError, match="Infer Request is busy"):
            request.reset_state()
    finally:
        go_on.set()
        thread.join(PATIENCE)
    assert not request.is_busy
    assert request.infer([x])[0].shape == (64, 4)


def test_after_an_error_the_variables_are_as_before() -> None:
    x = ops.parameter([2], np.int64, name="x")
    shape = ops.parameter([2], np.int64, name="shape")
    after = ops.add(ops.read_value(ops.constant(np.zeros(2, np.int64)), variable_id="v"), x)
    formed = ops.reshape(after, shape, special_zero=False)
    model = Model([formed], [x, shape], sinks=[ops.assign(after, variable_id="v")])
    request = irexec.compile_model(model).create_infer_request()
    assert request.infer([np.array([1, 2]), np.array([2, 1])])[0].tolist() == [[1], [2]]
    with pytest.raises(irexec.IRError):
        request.infer([np.array([10, 20]), np.array([3, 3])])
    assert request.query_state()[0].state.tolist() == [1, 2]
    assert request.infer([np.array([1, 2]), np.array([1, 2])])[0].tolist() == [[2, 4]]


def test_compiling_and_calling_leave_the_model_as_it_is() -> None:
    model = dynamic_model()
    before = [(value, value.type) for node in model.walk() for value in node.outputs]
    compiled = irexec.compile_model(model)

    def work(number: int) -> int:
        for size in range(1, 40):
            compiled([np.ones((size, number + 1), np.float32)])
        return 0

    in_threads(work)
    assert all(value.type is type for value, type in before)


def test_constants_are_folded_once_for_all_shapes() -> None:
    x = ops.parameter([-1, 256], np.float32, name="x")
    weights = ops.convert(ops.constant(np.arange(65536, dtype=np.uint8).reshape(256, 256)), destination_type="f32")
    plans = irexec.compile_model(Model([ops.matmul(x, weights, transpose_a=False, transpose_b=False)], [x]))._plans
    made = [plans.of(((rows, 256),)) for rows in (1, 2, 3) for _ in range(2)]
    large = {id(array) for plan in made for array in plan.template if array is not None and array.size == 65536}
    assert len({id(plan) for plan in made}) == 4
    assert len(large) == 1


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_processes(method: str, tmp_path: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system does not {method}")
    path = tmp_path / "m.xml"
    irexec.save_model(static_model(), path)
    expected = results_of(str(path))  # in this process first: a forked process inherits pools and locks
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        assert list(pool.map(results_of, [str(path)] * 4, timeout=PATIENCE)) == [expected] * 4
