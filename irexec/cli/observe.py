"""What `irexec report` lays over a graph: options, and the observations that they name or have made."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from irexec.cli.given import load_with_inputs
from irexec.cli.inputs import check_readable, refuse
from irexec.diagnostics import IRError, Place, Report

if TYPE_CHECKING:
    from irexec.survey.observed import Observed


def add_observation_arguments(parser: argparse.ArgumentParser) -> None:
    over = parser.add_argument_group("what is laid over the graph")
    over.add_argument(
        "--diff",
        metavar="OTHER",
        help="a model to show beside this one, with the changes; or what diff --format json printed",
    )
    over.add_argument(
        "--run",
        dest="executed",
        action="store_true",
        help="run the model: time, ranges, NaN, histograms; with --diff both, compared",
    )
    over.add_argument("--dump", metavar="DIR", help="what run --dump or compare --dump wrote: ranges, NaN, histograms")
    for option, source in (("trace", "run --trace --format json"), ("compare", "compare --format json")):
        over.add_argument(
            f"--{option}", action="append", default=[], metavar="FILE.json", help=f"what {source} printed"
        )


def observations(args: argparse.Namespace, report: Report) -> tuple[str | None, list[Observed]]:
    """The model to show beside the first one, and what is to be laid over; what cannot be used is in `report`."""
    from irexec.survey.observed import read_observed
    from irexec.survey.record import read_dump

    found: list[Observed] = []
    beside, printed = args.diff, [*args.trace, *args.compare]
    if beside is not None and beside.lower().endswith(".json"):
        beside, printed = None, [*printed, args.diff]
    for path in printed:
        _add(found, path, lambda path: read_observed(Path(path).read_bytes()), report)
    if args.dump is not None:
        _add(found, args.dump, lambda path: read_dump(Path(path)), report)
    if beside is not None:
        report.extend(check_readable(beside))
    if report.ok and (args.executed or beside is not None):
        try:
            found += _made(args, beside, report)
        except IRError as error:
            report.extend(error.report.errors)
    return beside, found


def _add(found: list[Observed], path: str, read: Callable[[str], Observed], report: Report) -> None:
    try:
        found.append(read(path))
    except OSError as error:
        report.extend(refuse("U001", f"cannot read the file: {error.strerror or error}", place=Place(file=path)))
    except ValueError as error:
        report.extend(refuse("U004", f"the file cannot be used: {error}", place=Place(file=path)))


def _made(args: argparse.Namespace, beside: str | None, report: Report) -> list[Observed]:
    """The changes, and what a run of the model, or of both, shows: as the commands print it. Raises IRError."""
    from irexec.api import load
    from irexec.survey.observed import Changes
    from irexec.trust.diff import changes_dict, diff

    found: list[Observed] = []
    models = []
    for path, weights in ((args.file, args.weights), (beside, None)):
        model, read = load(path, weights) if path is not None else (None, Report())
        report.extend(read.errors)
        if model is not None:
            models.append(model)
    if not report.ok:
        return found
    if beside is not None:
        found.append(Changes.model_validate(changes_dict(args.file, beside, diff(*models))))
    return [*found, *_runs(args, beside, report)] if args.executed else found


def _runs(args: argparse.Namespace, beside: str | None, report: Report) -> list[Observed]:
    from irexec.survey.observed import Comparison
    from irexec.survey.record import run_traced
    from irexec.trust.compare import compare
    from irexec.trust.runtimes import CannotRun, OtherModel

    loaded, read = load_with_inputs(args)
    if loaded is None:
        report.extend(read.errors)
        return []
    model, steps = loaded.reference.model, loaded.reference.steps
    found: list[Observed] = [run_traced(model, steps[0])]
    if beside is not None:
        try:
            runtime = OtherModel(beside)
            other = runtime.load(model).reference(steps)
            found.append(run_traced(other.model, other.steps[0]))
            found.append(Comparison.model_validate(compare(loaded.reference, runtime).to_dict()))
        except CannotRun as error:
            report.extend(refuse("U006", f"--run: {error}"))
    return found
