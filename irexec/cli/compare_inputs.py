"""`irexec compare --inputs` with `-j`, `--cluster` or `--resume`: one comparison for each input, in any process."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable, exit_code
from irexec.cli.many import gather_all, given_inputs, shared_path, show_findings_about
from irexec.cli.runtimes import bounds_of, config_of
from irexec.cli.streams import print_json, printout
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.findings import Findings
from irexec.core.diagnostics.render import write
from irexec.model.arrays.brief import plural

if TYPE_CHECKING:
    from irexec.tools.parallel.comparisons import InputComparison
    from irexec.tools.parallel.gathering import Outcome


def compare_inputs(args: argparse.Namespace) -> int:
    """Return 0 if both sides agree on every input, 1 if they differ on any, 2 if nothing could be compared."""
    from irexec.tools.parallel.comparisons import CompareInput
    from irexec.tools.parallel.inputs import inputs_of

    findings = Findings()
    refused = {"--save-culprit": args.save_culprit, "--dump": args.dump, "--map": args.map or None}
    for option, given in (refused | {"--random-weights": args.random_weights or None}).items():
        if given is not None:
            findings.add(
                "U003",
                f"{option} cannot be combined with -j, --cluster or --resume, which compare each input separately",
            )
    findings.report.extend([*check_readable(args.file), *load_extensions(args.extension)])
    _, items = inputs_of(shared_path(args, args.inputs), findings)
    if not findings.report.ok:
        write(Report(findings.report.errors), sys.stderr)
        return 2
    task = CompareInput(
        shared_path(args, args.file),
        _other(args),
        _version(args.other),
        tuple(config_of(args).items()),
        bounds_of(args),
        args.window,
        args.timeout,
        **given_inputs(args),
    )
    outcomes = gather_all(args, task, items, "inputs")
    if args.format == "json":
        print_json(_as_dict(args, outcomes))
    else:
        _show(args, outcomes)
    failed = exit_code(Report([finding for outcome in outcomes for finding in outcome.report]))
    return failed or int(not all(_agrees(outcome) for outcome in outcomes))


def _other(args: argparse.Namespace) -> str:
    """Return the runtime, model or folder to compare with, with a path that the workers can access."""
    other: str = args.other
    kind, _, rest = other.partition(":")
    file, _, function = rest.rpartition(":")
    if kind == "torch" and os.path.isfile(file):
        return f"{kind}:{shared_path(args, file)}:{function}"
    return shared_path(args, other) if os.path.exists(other) else other


def _version(other: str) -> str:
    """Return the version of the package that `--with` names: logged results are valid for this version only."""
    from importlib import metadata

    try:
        return metadata.version(other.partition(":")[0])
    except (metadata.PackageNotFoundError, ValueError):
        return ""


def _agrees(outcome: Outcome[InputComparison]) -> bool:
    return outcome.result is not None and outcome.result.agrees


def _as_dict(args: argparse.Namespace, outcomes: Sequence[Outcome[InputComparison]]) -> dict[str, Any]:
    runs = []
    for outcome in outcomes:
        run: dict[str, Any] = {"input": outcome.item, "agrees": None, "logged": outcome.logged}
        if (result := outcome.result) is not None:
            run |= {"agrees": result.agrees, "verdict": result.verdict, "culprit": result.culprit}
        runs.append(run | {"diagnostics": [finding.to_dict() for finding in outcome.report]})
    agree = all(_agrees(outcome) for outcome in outcomes)
    return {"kind": "comparisons", "file": args.file, "other": args.other, "agrees": agree, "runs": runs}


def _show(args: argparse.Namespace, outcomes: Sequence[Outcome[InputComparison]]) -> None:
    with printout() as page:
        page.table([_row(outcome) for outcome in outcomes], ("name", None, "dim"))
        agreeing = sum(map(_agrees, outcomes))
        text = f"{args.other} agrees on {agreeing} of {plural(len(outcomes), 'input')}"
        page.line(text, "good" if agreeing == len(outcomes) else "error")
        show_findings_about(outcomes, "inputs", page, verbose=False)


def _row(outcome: Outcome[InputComparison]) -> tuple[str, ...]:
    verdict = outcome.result.verdict if outcome.result is not None else ""
    return outcome.item, verdict or "not compared", "logged" if outcome.logged else ""
