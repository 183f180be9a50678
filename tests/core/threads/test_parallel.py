"""Threads of kernels: every item is processed once, exceptions are passed on, and each thread has its own memory."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Iterator

import numpy as np
import pytest
from support.waiting import PATIENCE, until

from irexec.core.threads import parallel


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    parallel.set_num_threads(3)
    yield
    parallel.set_num_threads(None)


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_every_item_runs_once(count: int) -> None:
    done: list[int] = []
    parallel.parallel_for(count, done.append)
    assert sorted(done) == list(range(count))


def test_an_exception_reaches_the_caller_and_the_pool_lives_on() -> None:
    def fail(index: int) -> None:
        raise ValueError(f"item {index}")

    for _ in range(2):
        with pytest.raises(ValueError, match="item"):
            parallel.parallel_for(8, fail)
    test_every_item_runs_once(5)


def test_nested_loops_do_not_wait_for_each_other() -> None:
    done: list[tuple[int, int]] = []
    parallel.parallel_for(4, lambda i: parallel.parallel_for(4, lambda j: done.append((i, j))))
    assert len(set(done)) == 16


def test_scratch_is_reused_by_a_thread_and_not_shared() -> None:
    f32 = np.dtype(np.float32)
    first = parallel.scratch("a", (4, 5), f32)
    again = parallel.scratch("a", (5,), f32)
    assert np.shares_memory(first, again)
    assert not np.shares_memory(first, parallel.scratch("b", (4, 5), f32))
    others: list[np.ndarray] = []
    thread = threading.Thread(target=lambda: others.append(parallel.scratch("a", (4, 5), f32)))
    thread.start()
    thread.join(PATIENCE)
    assert not np.shares_memory(first, others[0])
    assert parallel.scratch("a", (parallel.MAX_KEPT_BYTES,), f32).nbytes == 4 * parallel.MAX_KEPT_BYTES
    assert np.shares_memory(first, parallel.scratch("a", (4, 5), f32))


def test_workers_do_not_warn() -> None:
    zeros = np.zeros(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel.parallel_for(20, lambda i: zeros / zeros)


@pytest.mark.parametrize(("extent", "parts", "multiple"), [(10, 3, 1), (10, 3, 4), (3, 8, 1), (1, 1, 16), (100, 7, 16)])
def test_split_covers_all(extent: int, parts: int, multiple: int) -> None:
    ranges = parallel.split(extent, parts, multiple)
    assert [i for a, b in ranges for i in range(a, b)] == list(range(extent))
    assert all(a % multiple == 0 for a, _ in ranges) and len(ranges) <= parts


def test_a_number_of_threads_is_positive() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        parallel.set_num_threads(0)


def test_the_first_failure_ends_the_work() -> None:
    done: list[int] = []

    def fail(index: int) -> None:
        done.append(index)
        raise KeyError(index)

    with pytest.raises(KeyError):
        parallel.parallel_for(1000, fail)
    assert len(done) <= 3


def test_workers_keep_nothing_alive() -> None:
    class Mark:
        pass

    mark = Mark()
    gone = weakref.ref(mark)
    parallel.parallel_for(3, lambda i, m=mark: None)  # type: ignore[misc]
    del mark
    until(lambda: gone() is None, "a worker lets go of its last task")


def test_callers_on_several_threads_share_the_workers() -> None:
    results: list[list[int]] = [[] for _ in range(4)]
    threads = [
        threading.Thread(target=lambda r=r: [parallel.parallel_for(20, r.append) for _ in range(20)])  # type: ignore[misc]
        for r in results
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert all(sorted(r) == sorted(list(range(20)) * 20) for r in results)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_has_workers_of_its_own() -> None:
    parallel.parallel_for(3, lambda i: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        done: list[int] = []
        parallel.parallel_for(10, done.append)
        os._exit(0 if len(done) == 10 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_the_environment_gives_the_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    parallel.set_num_threads(None)
    monkeypatch.setenv("IREXEC_NUM_THREADS", "5")
    assert parallel.num_threads() == 5
    parallel.set_num_threads(None)
    monkeypatch.setenv("IREXEC_NUM_THREADS", "all")
    assert parallel.num_threads() >= 1


def test_a_late_worker_is_not_awaited() -> None:
    parallel.set_num_threads(2)
    pool = parallel._get_pool()
    gate, begun = threading.Lock(), threading.Event()
    gate.acquire(timeout=PATIENCE)

    def occupy() -> None:
        begun.set()
        gate.acquire(timeout=PATIENCE)

    (occupied,) = pool.submit(occupy, 1)
    assert begun.wait(PATIENCE)
    done: list[int] = []
    try:
        # The only worker is busy: the caller does all of the work, and returns.
        parallel.parallel_for(4, done.append)
        assert done == [0, 1, 2, 3]
    finally:
        gate.release()
    occupied.finish()
    test_every_item_runs_once(5)
