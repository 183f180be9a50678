"""`irexec run --inputs`: one model on many inputs, each with a file of results."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irexec.cli.inputs import exit_code, refused
from irexec.cli.many import gather_all, given_inputs, shared_path, show_findings_about
from irexec.cli.streams import print_json, printout
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.records import replace
from irexec.model.arrays.brief import plural, shown_seconds, shown_shape

if TYPE_CHECKING:
    from irexec.tools.parallel.gathering import Outcome
    from irexec.tools.parallel.inputs import InputRun

_ONE_RUN_ONLY = (
    "trace",
    "dump",
    "until",
    "explain_value",
    "all_values",
    "precision",
    "duplicates",
    "page",
    "no_repairs",
    "random_weights",
)


def run_inputs(args: argparse.Namespace) -> int:
    """Run the model on each input and write the results; return 0 if all inputs ran, 2 if none did, otherwise 1."""
    from irexec.tools.parallel.inputs import RunInput, inputs_of, reading_of

    findings = Findings()
    for name in _ONE_RUN_ONLY:
        if getattr(args, name):
            findings.add("U003", f"--{name.replace('_', '-')} cannot be combined with --inputs")
    folder, items = inputs_of(shared_path(args, args.inputs), findings)
    if args.output is None:
        findings.add("U003", "--inputs requires -o with the folder for the results")
    elif folder and _is_below(args.output, folder):
        findings.add("U003", "-o: the folder for the results must not be the folder of the inputs", found=args.output)
    if not findings.report.ok:
        return refused(findings.report)
    given = given_inputs(args)
    reading = reading_of(shared_path(args, args.file), given["weights"], args.mode)
    if reading.model is None or not reading.report.ok:
        return refused(reading.report)
    task = RunInput(
        shared_path(args, args.file),
        folder,
        shared_path(args, args.output),
        args.mode,
        **given,
    )
    outcomes = [
        replace(outcome, report=args.choice.beyond_errors(outcome.report))
        for outcome in gather_all(args, task, items, "inputs")
    ]
    read = args.choice.beyond_errors(reading.report)
    if args.format == "json":
        print_json(_as_dict(args, outcomes, read))
    else:
        _show(args, outcomes, read)
    failed = Report([finding for outcome in outcomes for finding in outcome.report])
    return exit_code(failed)


def _is_below(path: str, folder: str) -> bool:
    outer = os.path.realpath(folder)
    return os.path.commonpath([os.path.realpath(path), outer]) == outer


def _as_dict(args: argparse.Namespace, outcomes: Sequence[Outcome[InputRun]], read: Report) -> dict[str, Any]:
    runs = []
    for outcome in outcomes:
        run: dict[str, Any] = {"input": outcome.item, "ok": outcome.report.ok, "logged": outcome.logged}
        if outcome.result is not None:
            names = ("name", "element_type", "shape")
            outputs = [dict(zip(names, output, strict=True)) for output in outcome.result.outputs]
            run |= {"saved": outcome.result.saved, "outputs": outputs, "seconds": outcome.result.seconds}
        runs.append(run | {"diagnostics": [finding.to_dict() for finding in outcome.report]})
    return {
        "file": args.file,
        "kind": "runs",
        "ok": all(outcome.report.ok for outcome in outcomes),
        "runs": runs,
        "diagnostics": [finding.to_dict() for finding in read],
    }


def _show(args: argparse.Namespace, outcomes: Sequence[Outcome[InputRun]], read: Report) -> None:
    with printout() as page:
        page.table([_row(outcome) for outcome in outcomes], ("name", None, None, "dim"))
        done = sum(outcome.report.ok for outcome in outcomes)
        page.line(f"{done} of {plural(len(outcomes), 'input')}; results in {args.output}", "good" if done else "error")
        page.findings(read, verbose=args.verbose)
        show_findings_about(outcomes, "inputs", page, verbose=args.verbose)


def _row(outcome: Outcome[InputRun]) -> tuple[str, ...]:
    result = outcome.result
    if result is None or result.saved is None:
        return outcome.item, "no result"
    outputs = ", ".join(f"{name} {kind}{shown_shape(tuple(shape))}" for name, kind, shape in result.outputs)
    return outcome.item, outputs, shown_seconds(result.seconds), "logged" if outcome.logged else result.saved
