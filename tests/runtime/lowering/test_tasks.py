"""Threads that share tasks: each task runs once in each round, in any thread; threads leave the caller's core."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason="compiled code is the extra irexec[fast]")

from llvmlite import ir

from irexec.core.threads import parallel
from irexec.runtime.lowering import tasks
from irexec.runtime.lowering.llvm import compiler
from irexec.runtime.lowering.llvm.after import After
from irexec.runtime.lowering.llvm.code import Code
from irexec.runtime.lowering.llvm.elementwise import write_elementwise
from irexec.runtime.lowering.llvm.memory import Records


@pytest.fixture(autouse=True)
def same_threads_afterwards() -> Iterator[None]:
    yield
    parallel.set_num_threads(None)


def write_count(module: Any, name: str, lanes: int) -> None:
    """Write `count(shared, task, scratch, round)`: increment the task's number, if all numbers were those of the
    previous round.
    """
    code = Code(module, name, 4, lanes)
    shared, task, _, number = code.parameters
    counts = shared.numbers().number(0).numbers()
    place = task.numbers().number(0)
    with code.when(counts.number(place).equals(number)):
        counts.put(place, (number + 1).value)
    code.end()


def job_of(count: int, rounds: int) -> tuple[tasks.Job, np.ndarray]:
    counts = np.zeros(count, np.int64)
    function = compiler().written(write_count)
    places = Records.of([[place] for place in range(count)])
    return tasks.Job(function, Records.of([[counts]]), places, rounds, 0), counts


def test_what_functions_are_generated_from_is_freed_without_a_collection() -> None:
    gc.collect()
    gc.disable()
    try:
        compiler().written(write_elementwise, (After(np.square, "numbers", 0), After(np.tanh, "numbers", 0)) * 3)
        left = sum(isinstance(each, ir.Instruction) for each in gc.get_objects())
    finally:
        gc.enable()
    assert left == 0


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 1000])
def test_each_task_runs_once_in_each_round(threads: int, count: int) -> None:
    parallel.set_num_threads(threads)
    for rounds in (1, 2, 5):
        for _ in range(20):
            job, counts = job_of(count, rounds)
            tasks.run_job(job)
            assert (counts == rounds).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_jobs_of_a_sequence_run_in_order(threads: int) -> None:
    parallel.set_num_threads(threads)
    made = [job_of(count, 3) for count in (5, 1, 40, 2, 300)]
    sequence = tasks.Sequence([job for job, _ in made])
    for _ in range(30):
        for _, counts in made:
            counts[:] = 0
        sequence()
        assert all((counts == 3).all() for _, counts in made)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="the system does not move threads")
def test_a_member_that_is_moved_may_still_use_every_core() -> None:
    parallel.set_num_threads(2)
    job, _ = job_of(64, 1)
    tasks.run_job(job)
    pool = tasks._the_pool(1)
    number = pool._threads[0].native_id
    assert number is not None
    before = os.sched_getaffinity(number)
    core = min(before)
    pool._cores[0] = core
    pool._move_off(core)
    assert os.sched_getaffinity(number) == before
    tasks.run_job(job_of(64, 1)[0])
