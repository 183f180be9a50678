"""Groups of cases in several processes of a runtime: while they run, the caller judges and draws other cases."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import NamedTuple

from irexec.tools.conformance.case import Case
from irexec.tools.conformance.defendant import Answer, Defendant
from irexec.tools.conformance.together import joined

AT_ONCE = 3
"""The number of groups that run at a time, each in its own process."""
_AHEAD = 4
"""The number of groups that are drawn before a process is free for them."""
Group = Sequence[Case]
Free = Callable[[Case, list[Defendant]], Defendant | None]


class Run(NamedTuple):
    """A group of cases that a process of the runtime runs as one model."""

    cases: Group
    defendant: Defendant
    answer: Future[Answer]


def runs(groups: Iterator[Group], again: deque[Group], free: Free) -> Generator[Run]:
    """Run groups, and yield each with its answer, which may be an IRError. `again`: further groups, which the caller
    adds. `free`: returns a process of the runtime for a case, given those that are busy; None if there is none.
    """
    ready: deque[Group] = deque()
    running: list[Run] = []
    with ThreadPoolExecutor(AT_ONCE) as threads:
        try:
            while True:
                done = next((run for run in running if run.answer.done()), None)
                if done is not None:
                    running.remove(done)
                ready.extendleft(again)
                again.clear()
                while len(running) < AT_ONCE and (found := _next(ready, running, free)) is not None:
                    running.append(Run(*found, threads.submit(_answer, *found)))
                if done is not None:
                    yield done
                elif len(ready) < _AHEAD and (group := next(groups, None)) is not None:
                    ready.append(group)
                elif running:
                    wait([run.answer for run in running], return_when=FIRST_COMPLETED)
                else:
                    return
        except BaseException:
            for run in running:
                run.defendant.close()
            raise


def _next(ready: deque[Group], running: list[Run], free: Free) -> tuple[Group, Defendant] | None:
    """Take the first group for which a process is free."""
    busy = [run.defendant for run in running]
    for group in ready:
        if (defendant := free(group[0], busy)) is not None:
            ready.remove(group)
            return group, defendant
    return None


def _answer(cases: Group, defendant: Defendant) -> Answer:
    with joined(cases) as case:
        return defendant.run(case)
