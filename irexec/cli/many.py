"""What the commands for many files share: processes, a cluster, a log to go on from, and a bar that counts."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from irexec.cli.extension import load_extensions
from irexec.cli.options import whole
from irexec.diagnostics import IRError, Place, Report
from irexec.diagnostics.findings import Findings
from irexec.farm.gathering import Outcome, gather
from irexec.farm.task import PathLike, Task
from irexec.records import field, record

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from irexec.farm.log import Log
    from irexec.show.printing import Printout

R = TypeVar("R")
_PATIENCE = 1.0


def add_many_arguments(parser: argparse.ArgumentParser) -> None:
    many = parser.add_argument_group("many files")
    many.add_argument(
        "-j", "--jobs", type=_count, default=1, metavar="N", help="processes (default: 1, this one; 0: one per core)"
    )
    many.add_argument(
        "--cluster", metavar="ADDRESS", help="a Dask scheduler, such as tcp://host:8786, whose workers do it"
    )
    many.add_argument("--resume", metavar="LOG.jsonl", help="keep results in a log, and do not do again what it has")


def _count(text: str) -> int:
    value = whole()(text)
    if value == 0:
        from irexec.ops.compute.parallel import num_threads

        return num_threads()
    return value


def shared_path(args: argparse.Namespace, path: str) -> str:
    """A path as the workers find it: whole where they are elsewhere, as it was given otherwise."""
    return os.path.abspath(path) if args.cluster is not None else path


def shared_input(args: argparse.Namespace, option: str) -> str:
    """A value of --input as the workers find it."""
    from irexec.arrays.options import file_of_option

    found = file_of_option(option)
    return option if found is None else found[0] + shared_path(args, found[1]) + found[2]


def gather_all(args: argparse.Namespace, task: Task[R], items: Sequence[str], what: str) -> list[Outcome[R]]:
    """The outcome for each item, on the processes or the cluster that the options name. Raises IRError."""
    done = 0

    def count(outcome: Outcome[R]) -> None:
        nonlocal done
        done += 1
        advance(done)

    try:
        with (
            _ended_in_order(),
            _executor(args) as executor,
            _log(args, task) as log,
            _progress(len(items), what) as advance,
        ):
            outcomes = list(gather(_extended(args, task), items, executor, log=log, done=count))
    except KeyboardInterrupt:
        if len(items) > 1:
            kept = f"; the same command goes on from {args.resume}" if args.resume is not None else ""
            print(f"interrupted: {done} of {len(items)} {what} were done{kept}", file=sys.stderr)
        raise
    if os.environ.get("IREXEC_TRACEBACK") == "1":
        for outcome in outcomes:
            if outcome.error is not None:
                raise outcome.error
    return outcomes


def show_findings_about(outcomes: Iterable[Outcome[Any]], what: str, page: Printout, *, verbose: bool) -> None:
    """What was found about many items, each finding once: all may have the same fault."""
    from irexec.cli.shown import MOST, without_notes
    from irexec.diagnostics.folded import merged

    found = merged(((outcome.item, outcome.report) for outcome in outcomes), what)
    page.findings(found if verbose else without_notes(found).capped(MOST), verbose=True, about=f"about {what}")


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """SIGTERM, as a machine that is out of time or shut down sends it, is what Ctrl-C is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _executor(args: argparse.Namespace) -> Iterator[Executor | None]:
    if args.cluster is not None:
        with _cluster(args.cluster) as executor:
            yield executor
    elif args.jobs > 1:
        from irexec.farm.processes import Processes

        with Processes(args.jobs) as workers:
            yield workers
    else:
        yield None


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    from irexec.farm.cluster import Cluster

    def alone() -> None:
        print(f"the scheduler has no workers: dask worker {address}", file=sys.stderr)

    try:
        cluster = Cluster(address, alone=alone)
    except ImportError:
        raise _refused("U006", "--cluster needs Dask", hint="pip install 'irexec[cluster]'") from None
    except (OSError, ValueError) as error:
        raise _refused("U005", f"--cluster {address}: no scheduler answers there: {error}") from None
    with cluster:
        yield cluster


@contextmanager
def _log(args: argparse.Namespace, task: Task[Any]) -> Iterator[Log | None]:
    if args.resume is None:
        yield None
        return
    from irexec.farm.log import Log

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


@contextmanager
def _progress(total: int, what: str) -> Iterator[Callable[[int], None]]:
    """A bar on stderr shows how many are done, if that is a terminal and it takes long."""
    if total < 2 or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import Progress

    begun = time.monotonic()
    with Progress(console=Console(stderr=True), transient=True, redirect_stdout=False) as bar:
        counted = bar.add_task(what, total=total, visible=False)
        yield lambda done: bar.update(counted, completed=done, visible=time.monotonic() - begun > _PATIENCE)


def _extended(args: argparse.Namespace, task: Task[R]) -> Task[R]:
    """The task for workers that know the operators of --extension, too."""
    elsewhere = args.cluster is not None or args.jobs > 1
    paths = tuple(shared_path(args, path) for path in args.extension)
    return Extended(task, paths, elsewhere) if paths else task


@record(frozen=True)
class Extended(Task[R]):
    """A task that depends on extensions. `elsewhere`: a process that does it has to load them first."""

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

    def report(self, result: R) -> Report:
        return self.task.report(result)

    def outputs_exist(self, item: str) -> bool:
        return self.task.outputs_exist(item)


_loaded = cache(load_extensions)
