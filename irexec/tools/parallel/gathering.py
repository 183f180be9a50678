"""`gather`: a task for each of many items, here or on an executor, with the outcomes in the order of the items."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from irexec.core.diagnostics import IRError, Place, Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.records import field, record

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from irexec.tools.parallel.log import Log
    from irexec.tools.parallel.task import Task

R = TypeVar("R")


@record(frozen=True)
class Outcome(Generic[R]):
    """The outcome for an item: its result or an error. `logged`: the result comes from an earlier run."""

    item: str
    result: R | None = None
    error: BaseException | None = None
    report: Report = field(default_factory=Report)
    logged: bool = False


class UnfitWorker(Exception):
    """Raised if a worker differs from the program that sends it work, so that its results could differ."""


class _Sender(NamedTuple):
    """The properties that a worker must have in common with the program that sends it work."""

    version: str
    files: tuple[str, ...]


class _Attempt(NamedTuple):
    """The response of a worker. `same`: the logged result is still valid, because nothing it depends on has changed."""

    key: str
    result: Any
    same: bool


def gather(
    task: Task[R],
    items: Iterable[str],
    executor: Executor | None = None,
    *,
    log: Log | None = None,
    done: Callable[[Outcome[R]], object] = lambda _: None,
) -> Iterator[Outcome[R]]:
    """Yield the outcome for each item, in the order of the items; `done` is called with each outcome as soon as it is
    available.

    An error, or a worker that dies, is the outcome of its item; the other items are still processed. With a log, items
    whose result is in it are not processed again, unless something that the result depends on has changed. Without an
    executor, each item is processed in this process when its outcome is requested. If the caller stops early, calls
    that have not started are cancelled.
    """
    wanted = list(items)
    outcomes = _here(task, wanted, log) if executor is None else _there(task, wanted, executor, log)
    early: dict[int, Outcome[R]] = {}
    following = 0
    for number, outcome in outcomes:
        done(outcome)
        early[number] = outcome
        while following in early:
            yield early.pop(following)
            following += 1


def _here(task: Task[R], items: Sequence[str], log: Log | None) -> Iterator[tuple[int, Outcome[R]]]:
    for number, item in enumerate(items):
        yield number, _outcome(task, item, partial(_attempt, task, item, _logged_key(item, log)), log)


def _there(
    task: Task[R], items: Sequence[str], executor: Executor, log: Log | None
) -> Iterator[tuple[int, Outcome[R]]]:
    from irexec.version import __version__

    # Not `as_completed`: it takes the locks of all futures, one after the other. Ctrl-C at that moment leaves them
    # locked, and the threads that complete the calls wait without limit.
    ended: SimpleQueue[Future[_Attempt]] = SimpleQueue()

    def begin(number: int) -> Future[_Attempt]:
        item = items[number]
        files = tuple(os.fspath(path) for path in task.needed(item) if os.path.exists(path))
        future = executor.submit(_attempt_for, _Sender(__version__, files), task, item, _logged_key(item, log))
        future.add_done_callback(ended.put)
        return future

    numbers = {begin(number): number for number in range(len(items))}
    suspects = []
    try:
        for _ in items:
            future = ended.get()
            number = numbers[future]
            outcome = _outcome(task, items[number], future.result, log)
            if type(outcome.error).__name__ == "KilledWorker":
                suspects.append(number)
            else:
                yield number, outcome
        # Dask fails all calls that a worker had when it died. Each is repeated alone, to find the call that
        # kills workers.
        for number in suspects:
            numbers[future := begin(number)] = number
            yield number, _outcome(task, items[number], future.result, log)
    finally:
        for future in numbers:
            future.cancel()


def _logged_key(item: str, log: Log | None) -> str | None:
    """Return the key of an item in the log, empty if it is not logged; None without a log."""
    return None if log is None else log.key(item) or ""


def _attempt_for(sender: _Sender, task: Task[Any], item: str, logged: str | None) -> _Attempt:
    """Process an item in a worker. Raises UnfitWorker if the worker differs from the sender."""
    from irexec.version import __version__

    if sender.version != __version__:
        raise UnfitWorker(f"the worker has irexec {__version__}, expected {sender.version}")
    for path in sender.files:
        if not os.path.exists(path):
            raise UnfitWorker(f"the worker cannot access {path}")
    return _attempt(task, item, logged)


def _attempt(task: Task[Any], item: str, logged: str | None) -> _Attempt:
    """Process an item, unless its logged result is still valid."""
    key = "" if logged is None else task.key(item)
    if logged and key == logged and all(map(os.path.isfile, task.outputs(item))):
        return _Attempt(key, None, True)
    return _Attempt(key, task(item), False)


def _outcome(task: Task[R], item: str, attempt: Callable[[], _Attempt], log: Log | None) -> Outcome[R]:
    """Return the outcome of an attempt, and add it to the log."""
    try:
        key, result, same = attempt()
        if log is not None and same:
            result = log.result(item)
        elif log is not None:
            log.add(item, key, result)
        return Outcome(item, result, None, task.report(result), same)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return Outcome(item, None, error, _failure(item, error))


def _failure(item: str, error: BaseException) -> Report:
    from concurrent.futures import BrokenExecutor, CancelledError

    if isinstance(error, IRError):
        return error.report
    findings = Findings()
    why = f"{type(error).__name__}: {error}"
    if isinstance(error, BrokenExecutor):
        why = "the worker process was killed or crashed"
    elif isinstance(error, CancelledError):
        why = "the scheduler stopped responding"
    elif isinstance(error, UnfitWorker):
        why = str(error)
    findings.add("U008", f"there is no result: {why}", place=Place(file=item))
    return findings.report
