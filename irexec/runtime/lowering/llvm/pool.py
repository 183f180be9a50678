"""Threads that share the tasks of compiled code among themselves, without Python, and spin while they wait.

A job is a function, a record that all of its tasks share, and a table with a record for each task. It is executed in
one or several rounds; each round starts after the previous round is complete. Each thread has a part of the tasks: a
range of consecutive tasks, which it takes from the front. A thread whose part is done takes the last tasks of other
parts. So threads rarely write to the same memory; where cores are far apart, such a write takes as long as a small
task. And consecutive layers, which divide pixels in the same way, find them in the cache of the same core.

One 64-bit word is the state of a part: the number of rounds that this pool has begun so far, the end of the remaining
tasks, and the first of them. A thread takes a task by a compare-and-swap of the word, which fails if the thread read
the word in an earlier round. So any thread may take part, and join at any time.
"""

from __future__ import annotations

from typing import Any

from irexec.runtime.lowering.llvm.code import I64, Code, Fields, Number, Run

# The position of each number in the pool's state. Numbers that different threads write are in different cache lines,
# which are not adjacent, because processors fetch adjacent lines together.
DONE, AWAKE, SETTINGS, PARTS = 0, 16, 32, 48
# Settings that stay from job to job: the address of the members' scratch memory, and its bytes per member; the number
# of spins for which a member waits; the address of the system function that yields the core, and its duration; the
# number of members besides the caller.
SCRATCH, SCRATCH_STRIDE, PATIENCE, REST, REST_FOR, MEMBERS = range(SETTINGS, SETTINGS + 6)
# The address of the system function that returns the number of the calling thread's core; 0 if it is not available.
CORE_OF = SETTINGS + 6
# The number of the next job of a sequence.
AT = SETTINGS + 7
# The part of a thread, with the job in the same cache line: the state word; addresses of the function, of the shared
# record, of the tasks; the bytes between two tasks; the round of the job. In another cache line, the thread's core.
WORD, FUNCTION, SHARED, TASKS, STRIDE, ROUND = range(6)
CORE = 8
PART_SIZE = 32
# The fields of one job of a sequence: the parameters of `lead` after the first.
SEQUENCED = ("rounds", "count", "function", "shared", "tasks", "stride")
# The state word: first task in the low bits, end in the middle bits, number of the round in the remaining bits.
BITS = 20
MOST_TASKS = (1 << BITS) - 1


def size(members: int) -> int:
    """Return the length of the state of a pool."""
    return PARTS + (1 + members) * PART_SIZE


def write_lead(module: Any, name: str, lanes: int) -> Code:
    """Write `lead(state, rounds, count, function, shared, tasks, stride)`: start a job of `count` tasks and take part
    in it.

    The function returns when the job is complete. While waiting for other threads it calls REST(REST_FOR) after every
    PATIENCE spins, unless the address REST is 0: a member that the system interrupted in the middle of a task may need
    this core.
    """
    share, wait = _share(module, f"{name}_share", lanes), _wait(module, f"{name}_wait", lanes)
    code = Code(module, name, 7, lanes)
    address, rounds, count, *job = code.parameters
    state = address.numbers()
    threads = state.number(MEMBERS) + 1
    with code.loop(0, rounds) as number:
        state.put(DONE, code.number(0).value)
        with code.loop(0, threads) as member:
            part = _part(state, member)
            before = part.number(WORD) & -(1 << 2 * BITS)
            for place, value in enumerate((*job, number), FUNCTION):
                part.put(place, value.value)
            first, end = ((count * each + threads - 1) // threads for each in (member, member + 1))
            part.put_shared(WORD, before + (1 << 2 * BITS) + end * (1 << BITS) + first)
        code.run(share, address, 0)
        code.run(wait, address, count)
    return code.end()


def _part(state: Run, member: Number) -> Run:
    return state + (member * PART_SIZE + PARTS)


def write_sequence(module: Any, name: str, lanes: int) -> None:
    """Write `sequence(state, jobs, first, last)`: execute these jobs in order; each is a record of SEQUENCED.

    A caller without members, and any job of one task, needs no synchronization. Before any shared job but the first,
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
    share = _share(module, f"{name}_share", lanes)
    code = Code(module, name, 2, lanes)
    address, member = code.parameters
    state, b = address.numbers(), code.builder
    own, patience, core_of = _part(state, member), state.number(PATIENCE), state.number(CORE_OF)
    idle = b.alloca(I64)
    b.store(I64(0), idle)
    state.add_shared(AWAKE, 1)
    with code.rounds() as end:
        with b.if_else(_has_tasks(own.shared(WORD))) as (some, none):
            with some:
                code.run(share, address, member)
                with code.when(code.number(0) < core_of):
                    own.put(CORE, code.result_at(core_of).value)
                b.store(I64(0), idle)
            with none:
                code.pause()
                b.store(b.add(b.load(idle), I64(1)), idle)
        end(patience < Number(code, b.load(idle)))
    state.add_shared(AWAKE, -1)
    code.end()


def _has_tasks(word: Number) -> Any:
    return (word & MOST_TASKS) < (word >> BITS & MOST_TASKS)


def _share(module: Any, name: str, lanes: int) -> Code:
    """Write `share(state, member)`: execute tasks, first those of the member's own part, until no tasks are left; then
    count the executed tasks.
    """
    code = Code(module, name, 2, lanes)
    address, member = code.parameters
    state, b = address.numbers(), code.builder
    threads = state.number(MEMBERS) + 1
    done = b.alloca(I64)
    b.store(I64(0), done)
    with code.loop(0, threads) as turn:
        owner = (member + turn) % threads
        part, is_own = _part(state, owner), turn < 1
        with code.rounds() as end:
            word = part.shared(WORD)
            end(b.not_(_has_tasks(word)))
            index = Number(code, b.select(is_own, (word & MOST_TASKS).value, ((word >> BITS & MOST_TASKS) - 1).value))
            called, shared, number = part.number(FUNCTION), part.number(SHARED), part.number(ROUND)
            task = part.number(TASKS) + index * part.number(STRIDE)
            scratch = state.number(SCRATCH) + member * state.number(SCRATCH_STRIDE)
            taken = Number(code, b.select(is_own, I64(1), I64(-(1 << BITS))))
            with code.when(part.replaced(WORD, word, word + taken)):
                code.run_at(called, shared, task, scratch, number)
                b.store(b.add(b.load(done), I64(1)), done)
    total = Number(code, b.load(done))
    with code.when(code.number(0) < total):
        state.add_shared(DONE, total)
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
