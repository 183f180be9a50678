"""`irexec run`: run a model or a snippet and print its inputs, outputs and checks."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from irexec.cli.given import weights_of
from irexec.cli.inputs import STDIN, add_format_argument, check_readable, exit_code_of_use, read_stdin, refuse
from irexec.cli.many import add_many_arguments, log_output
from irexec.cli.options import (
    add_extensions,
    add_limit,
    add_no_repairs,
    add_older,
    add_output,
    add_random_weights,
    add_repeatable,
    add_shapes,
    add_weights,
    whole,
)
from irexec.cli.shown import add_choice_arguments, begin
from irexec.cli.streams import print_json, print_line, printout
from irexec.core.diagnostics import Place, Report, WrongArgument
from irexec.core.diagnostics.findings import Findings

if TYPE_CHECKING:
    from irexec.frontends.pages.reader import Snippet
    from irexec.frontends.pages.run import ExampleRun
    from irexec.frontends.reading import Reading
    from irexec.model.arrays.given import Given
    from irexec.runtime.lowering.explain import Explanation
    from irexec.tools.compare.origins import Origins
    from irexec.tools.run.run import ModelRun
    from irexec.tools.sensitivity.precision import Forecast

_MODEL_ONLY = ("trace", "sort", "worst", "dump", "until", "weights", "as", "sanitize", "repeat", "explain")
_SNIPPET_ONLY = ("precision", "duplicates", "page")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a model (.xml, .onnx, .irt) or a snippet (<layer> elements without <net>); - for stdin",
    )
    give = parser.add_argument_group("inputs (random values are used for inputs that are not given)")
    add_repeatable(
        give,
        "--input",
        "NAME=VALUE",
        "set an input, e.g. x=file.npy, x=@file.npz:key or 'x=[1, 2, 3]'; NAME is a tensor, a layer, a "
        "port or a position; or set all inputs from file.npz",
    )
    add_shapes(give)
    add_repeatable(
        give,
        "--precision",
        "[NAME=]TYPE",
        "set the element type of a snippet's port, e.g. data=f16; without NAME, of the first input and the "
        "ports that share its type",
    )
    give.add_argument("--seed", type=whole(), default=0, metavar="N", help="seed of random values (default: 0)")
    give.add_argument("--duplicates", action="store_true", help="let random indices of a snippet occur more than once")
    add_weights(give)
    add_random_weights(give)
    add_extensions(give)
    give.add_argument(
        "--page", help="the page that contains the snippet; a name such as ScatterUpdate-3 selects the version"
    )
    give.add_argument(
        "--inputs", metavar="FOLDER|BATCH.npz", help="run once for each file or sample; -o is then a folder"
    )
    add_many_arguments(parser)
    add_limit(parser)
    check = parser.add_argument_group("checks")
    add_no_repairs(check)
    add_choice_arguments(check)
    check.add_argument(
        "--mode",
        choices=("openvino", "strict"),
        help="openvino: run any file that OpenVINO accepts unambiguously, with warnings; strict: run only valid "
        "files (default: openvino)",
    )
    show = parser.add_argument_group("output")
    add_format_argument(show, "json prints one object")
    add_output(show, "OUT.npz", "write the results to this file, by name", older="--save")
    show.add_argument("-v", "--verbose", action="store_true", help="show the source line of every finding")
    show.add_argument("--all-values", action="store_true", help="print every value of the inputs and results")
    show.add_argument(
        "--explain-value",
        metavar="NAME[0,3]",
        help="show how one value of a result or a layer came about: what was moved or overwritten, the largest terms",
    )
    watch = parser.add_argument_group("layers of a model")
    watch.add_argument(
        "--trace",
        action="store_true",
        help="print type, shape, time, min, max, mean and NaN count of every layer, and the time per layer type",
    )
    watch.add_argument("--sort", choices=("time",), help="print the trace sorted by time, longest first")
    watch.add_argument(
        "--dump",
        metavar="DIR",
        help="write every output of every layer to this folder as .npy, index.json, and the inputs",
    )
    watch.add_argument("--until", metavar="LAYER", help="stop after this layer and print its outputs")
    watch.add_argument("--worst", type=whole(1), metavar="N", help="show only the N layers that take the most time")
    watch.add_argument("--repeat", type=whole(1), metavar="N", help="run N times and print the minimum and median time")
    about = "report the layers where NaN, overflow, undefined ordering or loss of precision first occurs"
    add_older(watch, watch.add_argument("--sanitize", action="store_true", help=about), "--sanitise")
    watch.add_argument(
        "--explain",
        action="store_true",
        help="list the layers that compiled code (extra `fast`) would compute, and why the others use NumPy kernels",
    )
    watch.add_argument(
        "--as",
        choices=("f16", "bf16"),
        help="simulate running f32 values in this type: report overflow, accuracy loss and layers to keep in f32",
    )


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.output is not None:
        yield "-o", [args.output]
    if args.dump is not None:
        yield "--dump", [args.dump, *(os.path.join(args.dump, name) for name in ("index.json", "inputs.npz"))]
    yield from log_output(args)


def run(args: argparse.Namespace) -> int:
    settings, args.choice, report = begin(args)
    args.mode = args.mode or settings.mode or "openvino"
    given, found = _given(args)
    report.extend(found)
    if not report.ok:
        return _refused(args, report)
    if args.inputs is not None:
        from irexec.cli.run_inputs import run_inputs

        return run_inputs(args)
    if args.jobs > 1 or args.cluster or args.resume:
        return _refused(args, refuse("U003", "--jobs, --cluster and --resume require --inputs"))
    from irexec.frontends.reading import read

    source = read_stdin() if args.file == STDIN else args.file
    reading = read(source, args.weights, mode=args.mode, strict=args.no_repairs, page=args.page)
    if reading.snippet is None:
        return _run_model(args, given, reading)
    return _run_snippet(args, given, reading.snippet)


def _given(args: argparse.Namespace) -> tuple[Given, Report]:
    """Return the values given by options, and findings about invalid values."""
    from irexec.model.arrays.given import Given
    from irexec.tools.run.values import read_inputs, read_precisions, read_shapes

    findings = Findings()
    archives: dict[str, str] = {}
    given = Given(
        inputs=read_inputs(args.input, findings, archives),
        precisions=read_precisions(args.precision, findings),
        shapes=read_shapes(args.shape, findings),
        seed=args.seed,
        duplicates=args.duplicates,
        archives=archives,
    )
    weights = weights_of(args, findings)
    report = Report([*check_readable(args.file, stdin=True), *findings.report])
    if args.weights is not None:
        report.extend(check_readable(args.weights, "the weights file"))
    args.weights = weights
    return given, report


def _run_snippet(args: argparse.Namespace, given: Given, snippet: Snippet) -> int:
    from irexec.frontends.pages.run import run_examples
    from irexec.tools.render.as_json import examples_dict
    from irexec.tools.render.example import show_examples

    _refuse_options(args, _MODEL_ONLY, "a model", snippet.findings)
    result = run_examples(snippet, given)
    result = replace(result, report=args.choice.beyond_errors(result.report))
    _save(args, result)
    origins = _origins(args, result)
    _print(
        args,
        lambda: examples_dict(result) | ({} if origins is None else {"explain_value": origins.to_dict()}),
        lambda page: show_examples(result, page, verbose=args.verbose),
        result,
        origins,
    )
    return exit_code_of_use(result.report)


def _run_model(args: argparse.Namespace, given: Given, reading: Reading) -> int:
    from irexec.tools.render.as_json import model_dict
    from irexec.tools.render.model import show_model
    from irexec.tools.run.dump import INPUTS, save_inputs
    from irexec.tools.run.listeners import watchers
    from irexec.tools.run.run import run_model
    from irexec.tools.run.sanitize import Sanitizer
    from irexec.tools.run.until import reduce

    findings = Findings(file=args.file)
    _refuse_options(args, _SNIPPET_ONLY, "a snippet", findings)
    model = reading.model
    findings.report.extend(reading.report)
    if model is not None and args.until is not None:
        model = reduce(model, args.until, findings)
    if model is None or not findings.report.ok:
        return _refused(args, findings.report, stopped=not reading.report.ok)
    result, sanitizer = None, Sanitizer(model) if args.sanitize else None
    by_time = args.sort is not None or args.worst is not None
    tracing, histograms = args.trace or by_time, args.format == "json"
    with watchers(trace=tracing, dump=args.dump, findings=findings, histograms=histograms) as (listeners, trace):
        if sanitizer is not None:
            listeners.append(sanitizer)
        if findings.report.ok:
            result = run_model(model, given, listeners, repeat=args.repeat or 1)
            if args.dump is not None and all(entry.array is not None for entry in result.inputs):
                arrays = [entry.array for entry in result.inputs if entry.array is not None]
                save_inputs(result.model, arrays, Path(args.dump) / INPUTS)
    if result is None:
        return _refused(args, findings.report)
    result.seconds = reading.seconds | result.seconds
    found_in_all = Report([*findings.report, *result.report, *(sanitizer.report if sanitizer is not None else ())])
    result.report = args.choice.beyond_errors(found_in_all)
    if trace is not None and result.executed:
        trace.divide(args.repeat or 1)
    if trace is not None and by_time:
        trace.sort_by_time()
    _save(args, result)
    found, explained = _forecast(args, result), _explained(args, result)
    more: dict[str, Any] = {} if found is None else {"forecast": found.to_dict()}
    if explained is not None:
        more["explain"] = [row.to_dict() for row in explained]
    if (origins := _origins(args, result)) is not None:
        more["explain_value"] = origins.to_dict()
    _print(
        args,
        lambda: model_dict(result, trace) | more,
        lambda page: show_model(result, page, trace, found, explained, worst=args.worst, verbose=args.verbose),
        result,
        origins,
    )
    return exit_code_of_use(result.report)


def _origins(args: argparse.Namespace, result: ExampleRun | ModelRun) -> Origins | None:
    """Return the origins of the value of --explain-value, if there are results; report a wrong one as a finding."""
    if args.explain_value is None or not result.arrays():
        return None
    from irexec.tools.compare.origins import origins_of

    try:
        return origins_of(result, args.explain_value)
    except WrongArgument as error:
        result.report.add(Findings(file=args.file).add("U004", f"--explain-value: {error}"))
        return None


def _explained(args: argparse.Namespace, result: ModelRun) -> list[Explanation] | None:
    """Explain which layers a lowered model would compile, if --explain is given and the model runs."""
    if not args.explain or not result.executed:
        return None
    from irexec.runtime.lowering.explain import explain

    try:
        return explain(result.model, [entry.array.shape for entry in result.inputs if entry.array is not None])
    except ImportError as error:
        result.report.add(Findings(file=args.file).add("U005", f"--explain: {error}"))
        return None


def _forecast(args: argparse.Namespace, result: ModelRun) -> Forecast | None:
    """Return the simulation in another precision, if --as is given and the model runs."""
    kind = getattr(args, "as")
    if kind is None or not result.executed:
        return None
    from irexec.tools.run.record import Reference
    from irexec.tools.sensitivity.precision import KINDS, forecast

    return forecast(Reference(result.model, [[e.array for e in result.inputs if e.array is not None]]), KINDS[kind])


def _refuse_options(args: argparse.Namespace, names: tuple[str, ...], what: str, findings: Findings) -> None:
    for name in names:
        if getattr(args, name):
            findings.add(
                "U003", f"--{name} is not supported for this file; it requires {what}", place=Place(file=args.file)
            )


def _save(args: argparse.Namespace, result: ExampleRun | ModelRun) -> None:
    """Write the results to the file of -o; report a failure as a finding.

    If nothing is written, `args.output` becomes None.
    """
    if args.output is None or not (arrays := result.arrays()):
        args.output = None
        return
    from irexec.model.arrays.saving import save_arrays

    try:
        save_arrays(args.output, arrays)
    except OSError as error:
        findings = Findings()
        message = f"-o: the file cannot be written: {error.strerror or error}"
        result.report.add(findings.add("U007", message, place=Place(file=args.output)))
        args.output = None


def _print(
    args: argparse.Namespace, to_dict: Any, show: Any, result: ExampleRun | ModelRun, origins: Origins | None
) -> None:
    if args.format == "json":
        print_json(to_dict())
        return

    with printout() as page:
        show(page)
        if args.all_values:
            from irexec.model.arrays.brief import whole as all_of

            page.heading("values")
            inputs = {entry.name: entry.array for entry in result.inputs if entry.array is not None}
            for name, array in (inputs | result.arrays()).items():
                page.line(f"  {name} = {all_of(array)}")
        if origins is not None:
            from irexec.tools.render.origins import show_origins

            show_origins(origins, page)
        if args.output is not None:
            page.line()
            page.line(f"saved {args.output}", "dim")


def _refused(args: argparse.Namespace, report: Report, *, stopped: bool = False) -> int:
    """Print the findings that prevented the run. `stopped`: checking ended early, so the model may have more errors."""
    from irexec.core.diagnostics.render import write

    if args.format == "json":
        findings = [finding.to_dict() for finding in report]
        print_json({"file": args.file, "kind": None, "ok": False, "diagnostics": findings})
    else:
        write(report if args.verbose else Report(report.errors), sys.stdout)
        if stopped:
            print_line(f"for all errors of the model: irexec validate {args.file}")
    return exit_code_of_use(report)
