"""`irexec run`: runs a model or a snippet; prints inputs, outputs and what was checked."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import STDIN, add_format_argument, check_readable, read_stdin, refuse
from irexec.cli.many import add_many_arguments
from irexec.cli.options import add_extensions, add_shapes, add_weights, whole
from irexec.diagnostics import Place, Report
from irexec.diagnostics.codes import CODES
from irexec.diagnostics.findings import Findings
from irexec.diagnostics.render import wants_color

if TYPE_CHECKING:
    from irexec.arrays.given import Given
    from irexec.ir.xml.source import Source
    from irexec.snippets.run import ExampleRun
    from irexec.trust.precision import Forecast
    from irexec.watch.run import ModelRun

_MODEL_ONLY = ("trace", "sort", "dump", "until", "weights", "as", "sanitise", "repeat")
_SNIPPET_ONLY = ("precision", "duplicates", "page")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="a model (.xml, .onnx) or a snippet: loose <layer> elements; - for stdin"
    )
    give = parser.add_argument_group("inputs (what is not given is drawn at random)")
    give.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="x=file.npy, x=@file.npz:key or 'x=[1, 2, 3]'; NAME is a tensor, a layer, a port or a position",
    )
    add_shapes(give)
    give.add_argument(
        "--precision",
        action="append",
        default=[],
        metavar="[NAME=]TYPE",
        help="of a snippet's port: data=f16; without NAME: of the ports that share the first one's type",
    )
    give.add_argument("--seed", type=whole(), default=0, metavar="N", help="of random values (default: 0)")
    give.add_argument("--duplicates", action="store_true", help="random indices of a snippet may repeat")
    add_weights(give, "FILE")
    add_extensions(give)
    give.add_argument("--page", help="the page that a snippet stands on, which may tell its version: ScatterUpdate-3")
    give.add_argument(
        "--inputs", metavar="FOLDER|BATCH.npz", help="run once for each file or sample; --save names a folder"
    )
    add_many_arguments(parser)
    check = parser.add_argument_group("checks")
    check.add_argument("--strict", action="store_true", help="a repair that a snippet needs is an error")
    check.add_argument(
        "--mode",
        choices=("openvino", "strict"),
        default="openvino",
        help="what to run: all that OpenVINO reads and runs, with warnings, or only what is right (default: openvino)",
    )
    show = parser.add_argument_group("output")
    add_format_argument(show, "json: one object")
    show.add_argument("--save", metavar="OUT.npz", help="write the results, by name")
    show.add_argument("--verbose", action="store_true", help="show every finding with its source line")
    watch = parser.add_argument_group("layers of a model")
    watch.add_argument("--trace", action="store_true", help="show every layer: type, shape, time, min, max, mean, NaN")
    watch.add_argument("--sort", choices=("time",), help="the trace by time, longest first, and the totals per type")
    watch.add_argument("--dump", metavar="DIR", help="write every output of every layer as .npy, and index.json")
    watch.add_argument("--until", metavar="LAYER", help="stop after this layer and show its outputs")
    watch.add_argument("--repeat", type=whole(1), metavar="N", help="run N times; show the least and the median time")
    watch.add_argument(
        "--sanitise", action="store_true", help="tell where NaN, overflows, open orders and lost values begin"
    )
    watch.add_argument(
        "--as",
        choices=("f16", "bf16"),
        help="what if f32 were this: what overflows, what is lost, which layers to keep in f32",
    )


def run(args: argparse.Namespace) -> int:
    given, report = _given(args)
    if not report.ok:
        return _refused(args, report)
    if args.inputs is not None:
        from irexec.cli.run_inputs import run_inputs

        return run_inputs(args)
    if args.jobs > 1 or args.cluster or args.resume:
        return _refused(args, refuse("U003", "--jobs, --cluster and --resume are for many runs, with --inputs"))
    if args.file.lower().endswith(".onnx"):
        return _run_model(args, given, None)
    from irexec.api import is_snippet
    from irexec.ir.xml.source import Source

    given_text = read_stdin() if args.file == STDIN else None
    source = Source.from_path(args.file) if given_text is None else Source.from_bytes(given_text, STDIN)
    return _run_snippet(args, given, source) if is_snippet(source) else _run_model(args, given, source)


def _given(args: argparse.Namespace) -> tuple[Given, Report]:
    """What the options supply, and what is wrong with them."""
    from irexec.arrays.given import Given
    from irexec.arrays.options import read_inputs, read_precisions, read_shapes

    findings = Findings()
    given = Given(
        inputs=read_inputs(args.input, findings),
        precisions=read_precisions(args.precision, findings),
        shapes=read_shapes(args.shape, findings),
        seed=args.seed,
        duplicates=args.duplicates,
    )
    report = Report([*check_readable(args.file, stdin=True), *load_extensions(args.extension), *findings.report])
    if args.weights is not None:
        report.extend(check_readable(args.weights))
    return given, report


def _run_snippet(args: argparse.Namespace, given: Given, source: Source) -> int:
    from irexec.show.as_json import examples_dict
    from irexec.show.example import show_examples
    from irexec.snippets.evaluate import read_examples
    from irexec.snippets.run import run_examples

    snippet = read_examples(source.text, file=args.file, page=args.page, strict=args.strict, mode=args.mode)
    _refuse_options(args, _MODEL_ONLY, "a model", snippet.findings)
    result = run_examples(snippet, given)
    _save(args, result)
    _print(args, lambda: examples_dict(result), lambda page: show_examples(result, page, verbose=args.verbose))
    return _exit_code(result.report)


def _run_model(args: argparse.Namespace, given: Given, source: Source | None) -> int:
    from irexec.api import load
    from irexec.show.as_json import model_dict
    from irexec.show.model import show_model
    from irexec.trust.sanitise import Sanitiser
    from irexec.watch.listeners import watchers
    from irexec.watch.run import run_model
    from irexec.watch.until import reduce

    findings = Findings(file=args.file)
    _refuse_options(args, _SNIPPET_ONLY, "a snippet", findings)
    seconds: dict[str, float] = {}
    given_bytes = source.text.encode() if args.file == STDIN and source is not None else None
    model, read = load(given_bytes or args.file, args.weights, mode=args.mode, source=source, seconds=seconds)
    findings.report.extend(read)
    if model is not None and args.until is not None:
        model = reduce(model, args.until, findings)
    if model is None or not findings.report.ok:
        return _refused(args, findings.report)
    result, sanitiser = None, Sanitiser(model) if args.sanitise else None
    tracing, histograms = args.trace or args.sort is not None, args.format == "json"
    with watchers(trace=tracing, dump=args.dump, findings=findings, histograms=histograms) as (listeners, trace):
        if sanitiser is not None:
            listeners.append(sanitiser)
        if findings.report.ok:
            result = run_model(model, given, listeners, repeat=args.repeat or 1)
    if result is None:
        return _refused(args, findings.report)
    result.seconds = seconds | result.seconds
    result.report = Report([*findings.report, *result.report, *(sanitiser.report if sanitiser is not None else ())])
    if trace is not None and args.sort is not None:
        trace.sort_by_time()
    _save(args, result)
    found = _forecast(args, result)
    _print(
        args,
        lambda: model_dict(result, trace) | ({} if found is None else {"forecast": found.to_dict()}),
        lambda page: show_model(result, page, trace, found, verbose=args.verbose),
    )
    return _exit_code(result.report)


def _forecast(args: argparse.Namespace, result: ModelRun) -> Forecast | None:
    """What becomes of the model in another precision, where --as asks for it and the model runs."""
    kind = getattr(args, "as")
    if kind is None or not result.executed:
        return None
    from irexec.trust.precision import KINDS, forecast
    from irexec.trust.record import Reference

    return forecast(Reference(result.model, [[e.array for e in result.inputs if e.array is not None]]), KINDS[kind])


def _refuse_options(args: argparse.Namespace, names: tuple[str, ...], what: str, findings: Findings) -> None:
    for name in names:
        if getattr(args, name):
            findings.add("U003", f"--{name} is for {what}; this file is none", place=Place(file=args.file))


def _save(args: argparse.Namespace, result: ExampleRun | ModelRun) -> None:
    """Write the results with --save; a finding if that fails. Where nothing was written, `args.save` becomes None."""
    if args.save is None or not (arrays := result.arrays()):
        args.save = None
        return
    from irexec.arrays.saving import save_arrays

    try:
        save_arrays(args.save, arrays)
    except OSError as error:
        findings = Findings()
        message = f"--save: the file cannot be written: {error.strerror or error}"
        result.report.add(findings.add("U007", message, place=Place(file=args.save)))
        args.save = None


def _print(args: argparse.Namespace, to_dict: Any, show: Any) -> None:
    if args.format == "json":
        print(json.dumps(to_dict(), indent=2, allow_nan=False))
        return
    from irexec.show.printing import Printout

    page = Printout(color=wants_color(sys.stdout))
    show(page)
    if args.save is not None:
        page.line()
        page.line(f"saved {args.save}", "dim")
    sys.stdout.write(page.text)


def _refused(args: argparse.Namespace, report: Report) -> int:
    """Nothing was run: the findings say why."""
    from irexec.diagnostics.render import write

    if args.format == "json":
        findings = [finding.to_dict() for finding in report]
        print(json.dumps({"file": args.file, "kind": None, "ok": False, "diagnostics": findings}, indent=2))
    else:
        write(report if args.verbose else Report(report.errors), sys.stdout)
    return _exit_code(report)


def _exit_code(report: Report) -> int:
    """0 without an error, 2 when there was nothing to run, else 1."""
    if any(CODES[finding.code].stops_all for finding in report.errors):
        return 2
    return 0 if report.ok else 1
