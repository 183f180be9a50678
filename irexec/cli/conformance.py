"""`irexec conformance`: test another runtime with generated cases, and report wrong results.

Exit code: 0 no unexpected failure, 1 unexpected failures, 2 the runtime or a file cannot be used.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irexec.cli.carrying import made
from irexec.cli.inputs import check_readable, refuse, refused, refusing
from irexec.cli.many import add_many_arguments, gather_all, log_output
from irexec.cli.options import add_config, add_limit, add_repeatable, amount_above_0, whole
from irexec.cli.streams import complain, print_json, print_line, put, put_exactly
from irexec.core.diagnostics import Place, Report
from irexec.ir.beside import Unreadable, json_of, text_of

if TYPE_CHECKING:
    from irexec.tools.conformance.block import JudgeBlock
    from irexec.tools.conformance.campaign import Extent
    from irexec.tools.conformance.clusters import Cluster
    from irexec.tools.conformance.results import Finding, Tally

_PATIENCE = 5.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action",
        nargs="*",
        metavar="merge|compare FILE.json",
        help="merge results into one table, or compare the results A.json and B.json (default: run cases)",
    )
    judged = parser.add_argument_group("the runtime")
    judged.add_argument(
        "--with",
        dest="runtime",
        default="openvino",
        metavar="RUNTIME",
        help="openvino, onnxruntime, irexec, reference (onnx.reference), or FILE.py:Class (default: openvino)",
    )
    judged.add_argument(
        "--frontend",
        choices=("ir", "onnx"),
        default="ir",
        help="ir: cases of IR; onnx: models of one ONNX node, which the runtime reads itself (default: ir)",
    )
    judged.add_argument("--device", default="CPU", help="the device of OpenVINO (default: CPU)")
    judged.add_argument(
        "--mode",
        choices=("lowered", "kernels"),
        default="lowered",
        help="with --with irexec: test its compiled code (lowered) or its kernels (default: lowered)",
    )
    add_config(judged)
    judged.add_argument(
        "--python", default="", metavar="PATH", help="the Python interpreter in which the runtime is installed"
    )
    judged.add_argument(
        "--passes",
        action="store_true",
        help="judge the passes of OpenVINO's compiler instead of its results",
    )
    add_limit(judged, 60, each="case")
    cases = parser.add_argument_group("cases")
    amount = cases.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true", help="run 16 cases of each operator and pattern (default)")
    amount.add_argument("--full", action="store_true", help="run 400 cases of each operator and pattern")
    amount.add_argument("--minutes", type=amount_above_0, metavar="N", help="run as many cases as this time allows")
    amount.add_argument("--cases", type=whole(), metavar="N", help="run N cases of each operator and pattern")
    add_repeatable(cases, "--only", "PATTERN", "run only these operators or patterns, e.g. 'Conv*'")
    add_repeatable(cases, "--case", "NAME", "run the case with this name")
    cases.add_argument("--seed", type=whole(), default=0, metavar="S", help="seed of the generated cases (default: 0)")
    add_many_arguments(parser)
    show = parser.add_argument_group("output")
    show.add_argument(
        "--format", choices=("text", "json", "junit"), default="text", help="output format (default: text)"
    )
    show.add_argument("--baseline", metavar="FILE.toml", help="a list of known failures, which are not counted")
    show.add_argument("--output", "-o", metavar="FILE.json", help="write the results")
    show.add_argument(
        "--html",
        metavar="FILE.html",
        help="write an HTML page with the table of operators and all clusters of failures",
    )
    show.add_argument(
        "--causes",
        action="store_true",
        help="state for each cluster of wrong results which pass of OpenVINO's compiler is wrong, or that kernels are",
    )
    show.add_argument("--reproducers", metavar="FOLDER", help="write a reduced reproducer for each cluster of failures")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    for option, path in (("-o", args.output), ("--html", args.html), ("--reproducers", args.reproducers)):
        if path is not None:
            yield option, [path]
    yield from log_output(args)


def run(args: argparse.Namespace) -> int:
    from irexec.tools.conformance.baseline import read_baseline
    from irexec.tools.functions.judging import JudgeCases

    if args.action:
        return _on_results(args)
    report = Report()
    if args.baseline is not None:
        report.extend(check_readable(args.baseline, "the baseline"))
    known = []
    if report.ok and args.baseline is not None:
        try:
            known = read_baseline(text_of(args.baseline))
        except Unreadable as error:
            report.extend(refuse("U012", str(error), place=Place(file=args.baseline)))
    if not report.ok:
        return refused(report)
    with refusing(args):
        task = made(args, JudgeCases).task()
        if (args.passes or args.causes) and (args.runtime != "openvino" or args.python or args.frontend != "ir"):
            return refused(
                refuse("U003", "--passes and --causes require OpenVINO in this environment, and cases of IR")
            )
        if args.passes:
            return _on_passes(args, task)
        tally = _judged(args, task)
        return _shown(args, task, tally, known)


def _extent(args: argparse.Namespace) -> Extent:
    from irexec.tools.conformance.campaign import FULL, QUICK, Extent

    if args.minutes is not None:
        return Extent(seconds=args.minutes * 60)
    return Extent(cases=args.cases if args.cases is not None else FULL if args.full else QUICK)


def _on_passes(args: argparse.Namespace, task: JudgeBlock) -> int:
    """Judge the passes of the compiler. Raises Unusable, UnreadableName and OSError."""
    from irexec.model.arrays.saving import save_text
    from irexec.tools.conformance.by_pass import PassTally, judge_passes
    from irexec.tools.status import Status

    tally = PassTally()
    with Status() as status:
        for items in _rounds(args):
            judge_passes(task, items, tally, lambda done: status.show(f"{done} cases"))
    if args.output is not None:
        save_text(args.output, json.dumps(tally.to_dict(), indent=1) + "\n")
    if args.format == "json":
        print_json(tally.to_dict(), indent=1)
    else:
        put(tally.text())
    _list_files(args, args.output)
    return 1 if tally.wrong else 0


def _judged(args: argparse.Namespace, task: JudgeBlock) -> Tally:
    """Judge the cases. Raises Unusable and UnreadableName."""
    from irexec.tools.conformance.results import Tally

    total, begun = Tally(), time.monotonic()
    for items in _rounds(args):
        for outcome in gather_all(args, task, items, "blocks"):
            if outcome.error is not None:
                raise outcome.error
            if outcome.result is not None:
                total.add(outcome.result)
        _show_state(total, time.monotonic() - begun)
    return total


def _rounds(args: argparse.Namespace) -> Iterable[list[str]]:
    """Return the items of the cases, in parts. Raises UnreadableName."""
    from irexec.tools.conformance.campaign import PART, PART_OF_MANY, items_of

    part = PART if args.jobs == 1 and args.cluster is None else PART_OF_MANY
    return items_of(args.case, args.only, _extent(args), args.frontend, args.seed, part=part)


def _show_state(tally: Tally, seconds: float) -> None:
    """Show the counts so far on stderr, if that is a terminal."""
    if not sys.stderr.isatty() or seconds < _PATIENCE:
        return
    totals = tally.totals
    count = sum(totals.values())
    words = ", ".join(f"{number:,} {word}" for word, number in sorted(totals.items(), key=lambda pair: -pair[1]))
    complain(f"{count:,} cases, {60 * count / seconds:,.0f} a minute: {words}")


def _shown(args: argparse.Namespace, task: JudgeBlock, tally: Tally, known: list[Any]) -> int:
    from irexec.model.arrays.saving import save_text
    from irexec.tools.conformance.baseline import unexpected, unmet
    from irexec.tools.conformance.clusters import clusters_of
    from irexec.tools.conformance.report import by_operator, failures, junit, to_json

    failed = failures(tally)
    new = unexpected(failed, known, datetime.date.today())
    clusters = clusters_of(failed, tally)
    reproducers = _reproduced(args, task, clusters) if args.reproducers is not None else {}
    causes = _causes(task, clusters) if args.causes else {}
    found = to_json(tally, clusters, new, args.seed)
    for cluster, value in zip(clusters, found["clusters"], strict=True):
        if cluster.simplest.name in reproducers:
            value["reproducer"], value["script"] = reproducers[cluster.simplest.name]
    for cluster, value in zip(clusters, found["clusters"], strict=True):
        if (cause := causes.get(cluster.simplest.name)) is not None:
            value["cause"] = cause
    found["unmet"] = unmet(known, by_operator(tally))
    if args.output is not None:
        save_text(args.output, json.dumps(found, indent=1) + "\n")
    if args.html is not None:
        from irexec.tools.render.conformance import conformance_page

        save_text(args.html, conformance_page(found))
    if args.format == "json":
        print_json(found, indent=1)
    elif args.format == "junit":
        names = {f.name for f in new}
        reasons = {f.name: k.reason for f in failed if f.name not in names for k in known if k.covers(f)}
        put_exactly(junit(tally, clusters, reasons))
    else:
        from irexec.tools.render.conformance import conformance_text

        put(conformance_text(found, has_baseline=args.baseline is not None))
    _list_files(args, args.output, args.html, args.reproducers if reproducers else None)
    return 1 if new else 0


def _causes(task: JudgeBlock, clusters: list[Cluster]) -> Mapping[str, str]:
    from irexec.tools.conformance.by_pass import causes_of
    from irexec.tools.status import Status

    with Status() as status:
        return causes_of(task, clusters, status.show)


def _reproduced(args: argparse.Namespace, task: JudgeBlock, clusters: list[Cluster]) -> dict[str, tuple[str, str]]:
    """Write a reproducer of each cluster: its simplest case, reduced, and a script that runs it. Return the name of
    the simplest case → the name of the reduced case, and the path of the script.
    """
    from irexec.tools.conformance.reduced import reproduce

    made = {}
    for cluster in clusters:
        finding: Finding = cluster.simplest
        name, path = reproduce(task, finding, Path(args.reproducers))
        made[finding.name] = name, path.as_posix()
    return made


def _on_results(args: argparse.Namespace) -> int:
    """Run `merge` or `compare`."""
    from irexec.model.arrays.saving import save_text
    from irexec.tools.conformance.report import compared, from_json, merged, scoreboard
    from irexec.tools.render.conformance import comparison_text, scoreboard_page, scoreboard_text

    action, *paths = args.action
    count = len(paths)
    if action not in ("merge", "compare") or count < 1 or (action == "compare" and count != 2):
        return refused(refuse("U003", "give merge FILE..., compare A.json B.json, or no argument"))
    for option, given in _of_runs(args, action).items():
        if given:
            return refused(refuse("U003", f"{option} cannot be used with {action}"))
    report = Report([f for path in paths for f in check_readable(path, "the results")])
    if not report.ok:
        return refused(report)
    tallies = []
    for path in paths:
        try:
            tallies.append(from_json(json_of(path)))
        except Unreadable as error:
            return refused(refuse("U012", str(error), place=Place(file=path)))
    if action == "compare":
        found = compared(*tallies)
        if args.output is not None:
            save_text(args.output, json.dumps(found, indent=1) + "\n")
        if args.format == "json":
            print_json(found, indent=1)
        else:
            put(comparison_text(found, tallies))
        _list_files(args, args.output)
        return 1 if found["broke"] else 0
    table = scoreboard(merged(tallies))
    if args.output is not None:
        save_text(args.output, json.dumps(table, indent=1) + "\n")
    if args.html is not None:
        save_text(args.html, scoreboard_page(table))
    if args.format == "json":
        print_json(table, indent=1)
    else:
        put(scoreboard_text(table))
    _list_files(args, args.output, args.html)
    return 0


def _of_runs(args: argparse.Namespace, action: str) -> dict[str, Any]:
    """Return the options that `merge` or `compare` cannot use, and whether they are given."""
    return {
        "--format junit": args.format == "junit",
        "--baseline": args.baseline,
        "--reproducers": args.reproducers,
        "--only": args.only,
        "--case": args.case,
        "--minutes": args.minutes,
        "--cases": args.cases,
        "--full": args.full,
        "--quick": args.quick,
    } | ({"--html": args.html} if action == "compare" else {})


def _list_files(args: argparse.Namespace, *paths: str | None) -> None:
    """Print the files that were written, on stderr if the output is for machines."""
    for path in paths:
        if path is not None:
            (print_line if args.format == "text" else complain)(path)
