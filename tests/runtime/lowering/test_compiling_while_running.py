"""One compiled model called by many threads from its first run on, while its kernels are compiled one by one."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from support.lowering import kernels, lowered, small_ones_too
from support.waiting import PATIENCE

import irexec
from irexec import Model
from irexec.core.threads import parallel
from irexec.runtime.lowering import backend, tasks

ops: Any = irexec.opset15
THREADS, CALLS = 6, 12


@pytest.fixture(autouse=True)
def small_arrays_too(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    small_ones_too(monkeypatch.setattr)
    monkeypatch.setattr(tasks, "WORTH_PRODUCTS", 1)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)
    parallel.set_num_threads(None)


def of_everything(seed: int) -> Model:
    """Return convolutions of all kinds, pooling, gates, normalization, products and an LSTM, each with its own compiled
    form.
    """
    rng = np.random.default_rng(seed)

    def constant(*shape: int) -> Any:
        return ops.constant((rng.standard_normal(shape) / np.sqrt(max(shape[-1], 4))).astype(np.float32))

    def same(x: Any, *kernel: int) -> Any:
        convolve = ops.group_convolution if len(kernel) == 5 else ops.convolution
        pad = kernel[-1] // 2
        return convolve(x, constant(*kernel), [1, 1], [pad, pad], [pad, pad], [1, 1])

    x = ops.parameter([1, 8, 20, 20], np.float32, name="x")
    y = ops.relu(ops.add(same(x, 16, 8, 3, 3), constant(1, 16, 1, 1)))
    y = ops.swish(same(y, 16, 1, 1, 3, 3))
    gate = ops.sigmoid(same(ops.reduce_mean(y, ops.constant(np.int64([2, 3])), True), 16, 16, 1, 1))
    y = ops.add(ops.multiply(y, gate), same(y, 16, 16, 1, 1))
    y = ops.hswish(irexec.opset1.max_pool(y, strides=[2, 2], pads_begin=[1, 1], pads_end=[1, 1], kernel=[3, 3]))
    rows = ops.reshape(y, ops.constant(np.int64([1, 16, -1])), False)
    rows = ops.mvn(rows, ops.constant(np.int64([-1])), normalize_variance=True, eps=1e-5, eps_mode="inside_sqrt")
    rows = ops.gelu(ops.add(ops.matmul(rows, constant(100, 64), False, False), constant(64)), approximation_mode="erf")
    rows = ops.softmax(ops.tanh(rows), axis=-1)
    states, lengths = constant(1, 2, 40), ops.constant(np.int64([13]))
    weights = constant(2, 160, 64), constant(2, 160, 40), constant(2, 160)
    last = ops.lstm_sequence(rows, states, states, lengths, *weights, hidden_size=40, direction="bidirectional")
    return Model([last.output(i) for i in range(3)] + [y], [x])


@pytest.mark.by_hand(2)
@pytest.mark.parametrize(("seed", "calls"), [(0, 20), (1, 3), (2, 1)])
def test_every_call_is_right(seed: int, calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model is lowered at the call with this number, counting the calls of all threads."""
    monkeypatch.setattr(backend, "MANY_CALLS", calls)
    monkeypatch.setattr(backend, "MUCH_WORK", 1)
    model = of_everything(seed)
    rng = np.random.default_rng(seed)
    given = [rng.standard_normal((1, 8, 20, 20)).astype(np.float32) for _ in range(THREADS)]
    expected = [kernels(model)([x]).to_tuple() for x in given]
    compiled = irexec.compile_model(model)
    begin = threading.Barrier(THREADS + 1)

    def call(number: int) -> list[tuple[np.ndarray, ...]]:
        begin.wait(PATIENCE)
        return [compiled([given[number]]).to_tuple() for _ in range(CALLS)]

    with ThreadPoolExecutor(THREADS) as pool:
        running = [pool.submit(call, number) for number in range(THREADS)]
        begin.wait(PATIENCE)
        while not all(one.done() for one in running):
            # Another number of threads creates another pool, while the previous pool is still working.
            parallel.set_num_threads(int(rng.integers(1, 5)))
            threading.Event().wait(float(rng.choice([0.002, 0.05])))
    for one, x, right in zip(running, given, expected, strict=True):
        lowered_results = compiled([x]).to_tuple()
        for found, wanted in zip(lowered_results, right, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)
        # Each call has the bits of the kernels, or those of compiled code; after the latter, never those of the
        # kernels.
        was_lowered = [_same(results, lowered_results) for results in one.result(PATIENCE)]
        assert was_lowered == sorted(was_lowered)
        assert all(_same(results, right) for results in one.result(PATIENCE)[: was_lowered.count(False)])


def _same(results: tuple[np.ndarray, ...], others: tuple[np.ndarray, ...]) -> bool:
    return all(np.array_equal(*pair) for pair in zip(results, others, strict=True))


def _first_numbers(model: Model, x: np.ndarray) -> float:
    return float(lowered(model)([x])[0].sum())


def _forked(model: Model, x: np.ndarray, answers: Any) -> None:
    answers.put(_first_numbers(model, x))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only POSIX systems fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_while_others_compile_compiles_too() -> None:
    model, x = of_everything(7), np.ones((1, 8, 20, 20), np.float32)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    ended = threading.Event()

    def keep_compiling() -> None:
        seed = 100
        while not ended.is_set():
            _first_numbers(of_everything(seed), x)
            seed += 1

    thread = threading.Thread(target=keep_compiling)
    thread.start()
    try:
        children = [context.Process(target=_forked, args=(model, x, answers)) for _ in range(3)]
        for child in children:
            child.start()
        found = [answers.get(timeout=PATIENCE) for _ in children]
        for child in children:
            child.join(PATIENCE)
    finally:
        ended.set()
        thread.join(PATIENCE)
    np.testing.assert_allclose(found, _first_numbers(model, x), rtol=1e-4)
