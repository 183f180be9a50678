"""Options for commands that process many files: processes, a cluster, a log to resume from, and progress."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from irexec.cli.extension import load_extensions
from irexec.cli.options import whole
from irexec.cli.streams import complain
from irexec.core.diagnostics import IRError, Place, Report
from irexec.core.diagnostics.deadline import time_limit
from irexec.core.diagnostics.findings import Findings
from irexec.core.environment import installing
from irexec.core.records import field, record
from irexec.ir.io.guard import check_output, reads
from irexec.tools.parallel.gathering import Outcome, gather
from irexec.tools.parallel.task import PathLike, Task

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from irexec.tools.parallel.log import Log
    from irexec.tools.render.printing import Printout

R = TypeVar("R")


def add_many_arguments(parser: argparse.ArgumentParser) -> None:
    many = parser.add_argument_group("processes and resuming")
    many.add_argument(
        "-j",
        "--jobs",
        type=_count,
        default=1,
        metavar="N",
        help="number of processes (default: 1, the current process; 0: one per core)",
    )
    many.add_argument(
        "--cluster", metavar="ADDRESS", help="use the workers of this Dask scheduler, e.g. tcp://host:8786"
    )
    many.add_argument(
        "--resume",
        metavar="LOG.jsonl",
        help="log results to this file, and do not compute logged results again",
    )


def log_output(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield `--resume` with the log file, in the form of a command's `outputs`."""
    if args.resume is not None:
        yield "--resume", [args.resume]


def _count(text: str) -> int:
    value = whole()(text)
    if value == 0:
        from irexec.core.threads.parallel import num_threads

        return num_threads()
    return value


def shared_path(args: argparse.Namespace, path: str) -> str:
    """Return a path for the workers: absolute if they run on a cluster, otherwise as it was given."""
    return os.path.abspath(path) if args.cluster is not None else path


def shared_input(args: argparse.Namespace, option: str) -> str:
    """Return a value of --input whose path the workers can find."""
    from irexec.tools.run.values import file_of_option

    found = file_of_option(option)
    return option if found is None else found[0] + shared_path(args, found[1]) + found[2]


def given_inputs(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options for the inputs of a model as the fields of a task on inputs, with paths for the workers."""
    return {
        "weights": args.weights and shared_path(args, args.weights),
        "inputs": tuple(shared_input(args, option) for option in args.input),
        "shapes": tuple(args.shape),
        "seed": args.seed,
    }


def gather_all(
    args: argparse.Namespace, task: Task[R], items: Sequence[str], what: str, limit: float | None = None
) -> list[Outcome[R]]:
    """Return the outcome for each item, computed by the processes or the cluster given by the options.
    `limit`: seconds for each item.

    Raises IRError, and OutputIsInput if a file is written for one item and read for another.
    """
    from irexec.tools.status import Status

    _check_files(task, items)
    done = 0

    def count(outcome: Outcome[R]) -> None:
        nonlocal done
        done += 1
        if len(items) > 1:
            status.count(done, len(items), what)

    try:
        with _executor(args) as executor, _log(args, task) as log, Status() as status:
            outcomes = list(gather(_extended(args, _limited(task, limit)), items, executor, log=log, done=count))
    except KeyboardInterrupt:
        if len(items) > 1:
            kept = f"; run the same command again to continue from {args.resume}" if args.resume is not None else ""
            complain(f"interrupted: {done} of {len(items)} {what} completed{kept}")
        raise
    if os.environ.get("IREXEC_TRACEBACK") == "1":
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
    return outcomes


def _check_files(task: Task[Any], items: Sequence[str]) -> None:
    """Raise OutputIsInput if an output is also an input; other processes, which read and write, cannot detect this."""
    for path in dict.fromkeys(path for item in items for path in task.needed(item)):
        reads(path, "an input")
    for item in items:
        for path in task.outputs(item):
            check_output(path)


def show_findings_about(outcomes: Iterable[Outcome[Any]], what: str, page: Printout, *, verbose: bool) -> None:
    """Print the findings about many items, each finding once with the items that have it."""
    from irexec.core.diagnostics.people import MOST, merged, without_notes

    found = merged(((outcome.item, outcome.report) for outcome in outcomes), what)
    page.findings(found if verbose else without_notes(found).capped(MOST), verbose=True, about=f"about {what}")


@contextmanager
def _executor(args: argparse.Namespace) -> Iterator[Executor | None]:
    if args.cluster is not None:
        with _cluster(args.cluster) as executor:
            yield executor
    elif args.jobs > 1:
        from irexec.tools.parallel.processes import Processes

        with Processes(args.jobs) as workers:
            yield workers
    else:
        yield None


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    from irexec.tools.parallel.cluster import Cluster

    def alone() -> None:
        complain(f"the scheduler has no workers; start one with: dask worker {address}")

    try:
        cluster = Cluster(address, alone=alone)
    except ImportError:
        raise _refused("F001", "--cluster requires Dask, which is not installed", hint=installing("cluster")) from None
    except (OSError, ValueError) as error:
        raise _refused("U005", f"--cluster {address}: no scheduler responded: {error}") from None
    with cluster:
        yield cluster


@contextmanager
def _log(args: argparse.Namespace, task: Task[Any]) -> Iterator[Log | None]:
    if args.resume is None:
        yield None
        return
    from irexec.tools.parallel.log import Log

    try:
        log = Log(args.resume, task)
    except (OSError, ValueError) as error:
        message = f"--resume: the log cannot be used: {getattr(error, 'strerror', None) or error}"
        raise _refused("U007", message, place=Place(file=args.resume)) from None
    with log:
        yield log


def _refused(code: str, message: str, **details: Any) -> IRError:
    findings = Findings()
    findings.add(code, message, **details)
    return IRError(findings.report)


def _limited(task: Task[R], seconds: float | None) -> Task[R]:
    """Return the task with a time limit for each item, in any process."""
    return task if seconds is None else Limited(task, seconds)


def _extended(args: argparse.Namespace, task: Task[R]) -> Task[R]:
    """Return the task with the operators of --extension, for workers."""
    elsewhere = args.cluster is not None or args.jobs > 1
    paths = tuple(shared_path(args, path) for path in getattr(args, "extension", ()))
    return Extended(task, paths, elsewhere) if paths else task


class Around(Task[R]):
    """A task that wraps another one, with the same dependencies and findings."""

    task: Task[R]

    def files(self, item: str) -> list[PathLike]:
        return list(self.task.files(item))

    def needed(self, item: str) -> list[PathLike]:
        return list(self.task.needed(item))

    def report(self, result: R) -> Report:
        return self.task.report(result)

    def outputs(self, item: str) -> Iterable[PathLike]:
        return self.task.outputs(item)


@record(frozen=True)
class Limited(Around[R]):
    """A task with a deadline for each item."""

    task: Task[R]
    seconds: float

    def __call__(self, item: str) -> R:
        with time_limit(self.seconds):
            return self.task(item)


@record(frozen=True)
class Extended(Around[R]):
    """A task that depends on extensions. `elsewhere`: it runs in another process, which has to load them first."""

    task: Task[R]
    extensions: tuple[str, ...]
    elsewhere: bool = field(repr=False)

    def __call__(self, item: str) -> R:
        if self.elsewhere and not (report := _loaded(self.extensions)).ok:
            raise IRError(report)
        return self.task(item)

    def files(self, item: str) -> list[PathLike]:
        return [*self.task.files(item), *self.extensions]

    def needed(self, item: str) -> list[PathLike]:
        return [*self.task.needed(item), *self.extensions]


_loaded = cache(load_extensions)
