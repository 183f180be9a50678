"""Options for the data that `irexec report` shows in a graph, and reading or recording that data."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from irexec.cli.given import findings_and_inputs
from irexec.cli.inputs import check_readable, refuse
from irexec.cli.options import add_repeatable
from irexec.core.diagnostics import IRError, Place, Report
from irexec.ir.io.files import read_file, unreadable

if TYPE_CHECKING:
    from irexec.frontends.reading import Reading
    from irexec.tools.compare.runtimes.runtime import OtherModel
    from irexec.tools.inspect.observed import Observed


def add_observation_arguments(parser: argparse.ArgumentParser) -> None:
    over = parser.add_argument_group("data to show in the graph")
    over.add_argument(
        "--diff",
        metavar="OTHER",
        help="another model to show next to this one, with the changes marked; or the output of diff --format json",
    )
    over.add_argument(
        "--run",
        dest="executed",
        action="store_true",
        help="run the model and record time, ranges, NaN and histograms; with --diff, run and compare both models",
    )
    over.add_argument(
        "--dump",
        metavar="DIR",
        help="a folder written by run --dump or compare --dump; shows ranges, NaN and histograms",
    )
    add_repeatable(
        over,
        "--counters",
        "FILE",
        "times on a device: the detailed counters of benchmark_app (.csv), or an execution graph (.xml)",
    )
    for option, source in (
        ("trace", "run --trace --format json"),
        ("compare", "compare --format json"),
        ("sensitivity", "sensitivity --format json"),
    ):
        add_repeatable(over, f"--{option}", "FILE.json", f"the output of {source}")


def observations(args: argparse.Namespace, reading: Reading, report: Report) -> tuple[Reading | None, list[Observed]]:
    """Return the model to show next to the first model, and the data to show; problems are findings in `report`."""
    from irexec.frontends.reading import read
    from irexec.tools.inspect.observed import read_observed
    from irexec.tools.inspect.record import read_counters, read_dump

    found: list[Observed] = []
    beside, printed = args.diff, [*args.trace, *args.compare, *args.sensitivity]
    if beside is not None and beside.lower().endswith(".json"):
        beside, printed = None, [*printed, args.diff]
    for path in printed:
        _add(found, path, lambda path: read_observed(read_file(path, "a recording")), report)
    for path in args.counters:
        _add(found, path, read_counters, report)
    if args.dump is not None:
        _add(found, args.dump, lambda path: read_dump(Path(path)), report)
    if beside is not None:
        report.extend(check_readable(beside))
    other = read(beside, mode="strict") if beside is not None and report.ok else None
    if report.ok and (args.executed or other is not None):
        try:
            found += _made(args, reading, other, report)
        except IRError as error:
            report.extend(error.report.errors)
    return other, found


def _add(found: list[Observed], path: str, read: Callable[[str], Observed], report: Report) -> None:
    try:
        found.append(read(path))
    except OSError as error:
        message, hint = unreadable(path, error)
        report.extend(refuse("U001", message, place=Place(file=path), hint=hint))
    except ValueError as error:
        report.extend(refuse("U012", f"the file cannot be used: {error}", place=Place(file=path)))


def _made(args: argparse.Namespace, reading: Reading, beside: Reading | None, report: Report) -> list[Observed]:
    """Return the differences of the models, if there are two, and the recorded runs. Raises IRError."""
    from irexec.frontends.reading import for_running
    from irexec.tools.compare.runtimes.runtime import OtherModel
    from irexec.tools.diff.change import changes_dict
    from irexec.tools.diff.diff import diff
    from irexec.tools.inspect.observed import Changes

    found: list[Observed] = []
    first = for_running(reading)
    second = None if beside is None else for_running(beside)
    for one in (first, second):
        report.extend(one.report.errors if one is not None else ())
    if first.model is None or not report.ok:
        return found
    other = None
    if second is not None and second.model is not None:
        other = OtherModel(args.diff, second.model)
        found.append(Changes.model_validate(changes_dict(args.file, args.diff, diff(first.model, second.model))))
    return [*found, *_runs(args, first, other, report)] if args.executed else found


def _runs(args: argparse.Namespace, reading: Reading, other: OtherModel | None, report: Report) -> list[Observed]:
    from irexec.tools.compare.compare import compare
    from irexec.tools.compare.runtimes.runtime import CannotRun
    from irexec.tools.inspect.observed import Comparison
    from irexec.tools.inspect.record import run_traced

    loaded, read = findings_and_inputs(args, reading)
    if loaded is None:
        report.extend(read.errors)
        return []
    model, steps = loaded.reference.model, loaded.reference.steps
    found: list[Observed] = [run_traced(model, steps[0])]
    if other is not None:
        try:
            reference = other.load(model).reference(steps)
            found.append(run_traced(reference.model, reference.steps[0]))
            found.append(Comparison.model_validate(compare(loaded.reference, other).to_dict()))
        except CannotRun as error:
            report.extend(refuse(error.code, f"--run: {error}"))
    return found
