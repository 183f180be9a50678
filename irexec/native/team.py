"""Threads that take tasks of compiled code from one another without a word of Python, and spin while they wait.

A job is a function, a record that all of its tasks share, and a table with a record for each task. One word says how
far it is: the job's number, how many tasks it has, and the next one. Whoever puts the word up by one has taken a task.
A member that read the word of an earlier job fails at that, so nobody needs to know who takes part.
"""

from __future__ import annotations

from typing import Any

from irexec.native.code import I64, Code, Number

# Where in the team's state each number stands; what different threads write lies in cache lines of its own.
WORD, DONE, AWAKE, JOB = 0, 8, 16, 24
SIZE = 40
# The fields of a job: addresses of the function, of the shared record, of the tasks; the bytes between two tasks; an
# address of scratch memory for all members, and the bytes that each of them has.
FUNCTION, SHARED, TASKS, STRIDE, SCRATCH, SCRATCH_STRIDE = range(JOB, JOB + 6)
FIELDS = 6
# A word: index in the low bits, count in the middle, the job's number in the rest.
BITS = 20
MOST_TASKS = (1 << BITS) - 1


def write_lead(module: Any, name: str, lanes: int) -> None:
    """`lead(state, patience, count, job...)`: hand out a job of so many tasks, and take part.

    Returns when all is done, or when it waited for the other members for `patience` rounds.
    """
    take, wait = _take(module, f"{name}_take", lanes), _write_wait(module, f"{name}_wait", lanes)
    code = Code(module, name, 3 + FIELDS, lanes)
    address, patience, count, *job = code.parameters
    state = address.numbers()
    for place, value in enumerate(job, JOB):
        state.put(place, value.value)
    state.put(DONE, code.number(0).value)
    number = (state.number(WORD) & -(1 << 2 * BITS)) + (1 << 2 * BITS)
    state.put_shared(WORD, number + count * (1 << BITS))
    code.run(take, address, 0, 0)
    code.run(wait, address, patience, count)
    code.end()


def write_serve(module: Any, name: str, lanes: int) -> None:
    """`serve(state, patience, member)`: take part in any job, until there was none for `patience` rounds."""
    take = _take(module, f"{name}_take", lanes)
    code = Code(module, name, 3, lanes)
    address, patience, member = code.parameters
    state = address.numbers()
    state.add_shared(AWAKE, 1)
    code.run(take, address, patience, member)
    state.add_shared(AWAKE, -1)
    code.end()


def write_wait(module: Any, name: str, lanes: int) -> None:
    """`wait(state, patience, count)`: until so many tasks are done, or for `patience` rounds."""
    _write_wait(module, name, lanes)


def _take(module: Any, name: str, lanes: int) -> Code:
    """`take(state, patience, member)`: do tasks until there was none for more than `patience` rounds."""
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
                shared = state.number(SHARED)
                with code.when(state.replaced(WORD, word, word + 1)):
                    code.run_at(called, shared, task, scratch)
                    state.add_shared(DONE, 1)
                b.store(I64(0), idle)
            with none:
                code.pause()
                b.store(b.add(b.load(idle), I64(1)), idle)
        end(patience < Number(code, b.load(idle)))
    return code.end()


def _write_wait(module: Any, name: str, lanes: int) -> Code:
    code = Code(module, name, 3, lanes)
    address, patience, count = code.parameters
    state, b = address.numbers(), code.builder
    idle = b.alloca(I64)
    b.store(I64(0), idle)
    with code.rounds() as end:
        code.pause()
        b.store(b.add(b.load(idle), I64(1)), idle)
        end(b.or_(count <= state.shared(DONE), patience < Number(code, b.load(idle))))
    return code.end()
