"""Threads that share the tasks of compiled code among themselves, without Python, and spin while they wait.

A job is a function, a record that all of its tasks share, and a table with a record for each task. It is executed in
one or several rounds; each round starts after the previous round is complete. One 64-bit word is the state of the job:
the number of rounds that this pool ever began, the number of tasks in this round, and the index of the next task. A
thread takes a task by adding one to the word with a compare and swap. That fails for a thread that read the word in an
earlier round, so it does not matter which threads take part or when they join.
"""

from __future__ import annotations

from typing import Any

from irexec.lowering.llvm.code import I64, Code, Fields, Number

# The position of each number in the pool's state. Numbers that different threads write are in different cache lines.
WORD, DONE, AWAKE, ROUND, JOB = 0, 8, 16, 24, 25
# A job: addresses of the function, of the shared record, of the tasks; the bytes between two tasks.
FUNCTION, SHARED, TASKS, STRIDE = range(JOB, JOB + 4)
# Settings kept from job to job: the address of the members' scratch memory and the bytes of scratch memory per member;
# the number of spins for which a member waits; the system function that yields the core and its duration; the number of
# members besides the caller.
SCRATCH, SCRATCH_STRIDE, PATIENCE, REST, REST_FOR, MEMBERS = range(32, 38)
# The next job of a sequence of jobs.
AT = 38
SIZE = 40
# The fields of one job of a sequence, as the parameters of `lead` after the first.
SEQUENCED = ("rounds", "count", "function", "shared", "tasks", "stride")
# The state word: index in the low bits, count in the middle bits, number of the round in the remaining bits.
BITS = 20
MOST_TASKS = (1 << BITS) - 1


def write_lead(module: Any, name: str, lanes: int) -> Code:
    """Write `lead(state, rounds, count, function, shared, tasks, stride)`: start a job of `count` tasks and take part
    in it.

    The function returns when the job is complete. While waiting for other threads it calls REST(REST_FOR) after every
    PATIENCE spins, unless the address REST is 0: a member that the system interrupted in the middle of a task may need
    this core.
    """
    take, wait = _take(module, f"{name}_take", lanes), _wait(module, f"{name}_wait", lanes)
    code = Code(module, name, 7, lanes)
    address, rounds, count, *job = code.parameters
    state = address.numbers()
    for place, value in enumerate(job, JOB):
        state.put(place, value.value)
    with code.loop(0, rounds) as number:
        state.put(ROUND, number.value)
        state.put(DONE, code.number(0).value)
        before = state.number(WORD) & -(1 << 2 * BITS)
        state.put_shared(WORD, before + (1 << 2 * BITS) + count * (1 << BITS))
        code.run(take, address, 0, 0)
        code.run(wait, address, count)
    return code.end()


def write_sequence(module: Any, name: str, lanes: int) -> None:
    """Write `sequence(state, jobs, first, last)`: execute these jobs in order; each is a record of SEQUENCED.

    A caller without members, and any job of one task, needs no synchronisation. Before any shared job but the first,
    the function returns if a member sleeps, because only Python can wake members. AT holds the job to continue with.
    """
    lead = write_lead(module, f"{name}_lead", lanes)
    code = Code(module, name, 4, lanes)
    address, jobs, first, last = code.parameters
    state, b = address.numbers(), code.builder
    place = b.alloca(I64)
    b.store(first.value, place)
    with code.rounds() as end:
        at = Number(code, b.load(place))
        end(last <= at)
        job = Fields(jobs + at * (8 * len(SEQUENCED)), SEQUENCED)
        is_shared = b.and_(code.number(1) < job.count, code.number(0) < state.number(MEMBERS))
        end(b.and_(is_shared, b.and_(first < at, state.shared(AWAKE) < state.number(MEMBERS))))
        with b.if_else(is_shared) as (shared, alone):
            with shared:
                code.run(lead, address, *(getattr(job, field) for field in SEQUENCED))
            with alone, code.loop(0, job.rounds) as number, code.loop(0, job.count) as task:
                code.run_at(job.function, job.shared, job.tasks + task * job.stride, state.number(SCRATCH), number)
        b.store((at + 1).value, place)
    state.put(AT, b.load(place))
    code.end()


def write_serve(module: Any, name: str, lanes: int) -> None:
    """Write `serve(state, member)`: take part in every job until no job has arrived for PATIENCE spins."""
    take = _take(module, f"{name}_take", lanes)
    code = Code(module, name, 2, lanes)
    address, member = code.parameters
    state = address.numbers()
    state.add_shared(AWAKE, 1)
    code.run(take, address, state.number(PATIENCE), member)
    state.add_shared(AWAKE, -1)
    code.end()


def _take(module: Any, name: str, lanes: int) -> Code:
    """Write `take(state, patience, member)`: execute tasks until none came for more than `patience` spins."""
    code = Code(module, name, 3, lanes)
    address, patience, member = code.parameters
    state, b = address.numbers(), code.builder
    idle = b.alloca(I64)
    b.store(I64(0), idle)
    with code.rounds() as end:
        word = state.shared(WORD)
        index = word & MOST_TASKS
        with b.if_else(index < (word >> BITS & MOST_TASKS)) as (some, none):
            with some:
                called = state.number(FUNCTION)
                task = state.number(TASKS) + index * state.number(STRIDE)
                scratch = state.number(SCRATCH) + member * state.number(SCRATCH_STRIDE)
                shared, number = state.number(SHARED), state.number(ROUND)
                with code.when(state.replaced(WORD, word, word + 1)):
                    code.run_at(called, shared, task, scratch, number)
                    state.add_shared(DONE, 1)
                b.store(I64(0), idle)
            with none:
                code.pause()
                b.store(b.add(b.load(idle), I64(1)), idle)
        end(patience < Number(code, b.load(idle)))
    return code.end()


def _wait(module: Any, name: str, lanes: int) -> Code:
    """Write `wait(state, count)`: wait until `count` tasks are done."""
    code = Code(module, name, 2, lanes)
    address, count = code.parameters
    state, b = address.numbers(), code.builder
    patience, rest = state.number(PATIENCE), state.number(REST)
    idle = b.alloca(I64)
    b.store(I64(0), idle)
    with code.rounds() as end:
        end(count <= state.shared(DONE))
        code.pause()
        b.store(b.add(b.load(idle), I64(1)), idle)
        with code.when(b.and_(patience < Number(code, b.load(idle)), code.number(0) < rest)):
            code.run_at(rest, state.number(REST_FOR))
            b.store(I64(0), idle)
    return code.end()
