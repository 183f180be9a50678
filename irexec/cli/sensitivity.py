"""`irexec sensitivity`: find the quantizers or layers that lose accuracy, and those to leave out.

Exit code: 0 if leaving out some of them meets the target, 1 if no choice meets it, 2 if a model could not be run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.given import add_input_arguments
from irexec.cli.inputs import add_format_argument, check_readable, refuse, refused, refusing
from irexec.cli.many import add_many_arguments, gather_all, given_inputs, log_output, shared_path
from irexec.cli.options import add_limit, whole
from irexec.cli.streams import print_json, put
from irexec.core.diagnostics import Report
from irexec.core.diagnostics.render.characters import visible_text

if TYPE_CHECKING:
    from irexec.tools.parallel.sensitivities import MeasureUnits
    from irexec.tools.sensitivity.measure import Effect
    from irexec.tools.sensitivity.result import Sensitivity
    from irexec.tools.sensitivity.switches import Unit


_PRECISIONS = ("f16", "bf16", "int8-weights", "int4-weights")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FLOAT", help="the float model (.xml, .onnx, .irt)")
    parser.add_argument("other", metavar="QUANTIZED", nargs="?", help="the quantized model made from it")
    parser.add_argument(
        "--as",
        choices=_PRECISIONS,
        help="simulate this precision instead of reading a quantized model",
    )
    judge = parser.add_argument_group("what to measure")
    judge.add_argument(
        "--metric",
        default="snr",
        metavar="METRIC",
        help="snr, top1, cosine, or FILE.py:function, a function of the expected and the found results (default: snr)",
    )
    judge.add_argument(
        "--target",
        default="90%",
        metavar="T",
        help="a share of the loss to recover, such as 90%%, or a value of the metric (default: 90%%)",
    )
    parser.add_argument(
        "--inputs",
        metavar="FOLDER|BATCH.npz",
        help="the samples to measure on; the state of the model is reset before each one",
    )
    add_input_arguments(parser, random_weights=False)
    add_limit(parser)
    add_many_arguments(parser)
    show = parser.add_argument_group("output")
    add_format_argument(show, "json prints one object")
    show.add_argument(
        "--worst", type=whole(), default=10, metavar="N", help="number of rows to show (default: 10; 0: all)"
    )
    show.add_argument(
        "--apply",
        "--output",
        "-o",
        metavar="OUT.xml",
        help="write the model in which the suggested layers are excluded from quantization, or marked to stay in f32",
    )
    show.add_argument(
        "--rescale",
        metavar="OUT.xml",
        help="with --as f16 or bf16: write a model whose values are divided by powers of two to avoid overflow",
    )


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    for option, path in (("--apply", args.apply), ("--rescale", args.rescale)):
        if path is not None:
            yield option, [path, f"{os.path.splitext(path)[0]}.bin"]
    yield from log_output(args)


def run(args: argparse.Namespace) -> int:

    simulated = getattr(args, "as")
    if args.other in _PRECISIONS and not os.path.exists(args.other):
        return refused(refuse("U003", f"{args.other} is a precision, not a model", hint=f"write --as {args.other}"))
    if (args.other is None) == (simulated is None):
        return refused(refuse("U003", "give a quantized model or --as, but not both"))
    for option, path in (("--apply", args.apply), ("--rescale", args.rescale)):
        if path is not None and not path.lower().endswith(".xml"):
            return refused(refuse("U003", f"{option}: the file name of an IR ends with .xml, but is {path}"))
    if args.rescale is not None and simulated not in ("f16", "bf16"):
        return refused(refuse("U003", "--rescale requires --as f16 or --as bf16"))
    report = Report([*check_readable(args.file), *load_extensions(args.extension)])
    metric = args.metric.rpartition(":")[0] or None
    named = ((args.other, "the quantized model"), (args.weights, "the weights file"), (metric, "the metric"))
    for path, role in named:
        if path is not None:
            report.extend(check_readable(path, role))
    if not report.ok:
        return refused(report)
    with refusing(args):
        found = _measured(args, simulated)
        saved = [*_saved(args, found)]
    if args.format == "json":
        print_json(found.to_dict())
    else:
        put(f"{found.text(args.worst)}\n")
        put("".join(f"{visible_text(line)}\n" for line in saved))
    return 0 if found.chosen is not None else 1


def _saved(args: argparse.Namespace, found: Sensitivity) -> Iterator[str]:
    """Write the requested files, and yield a line about each. Raises IRError and OSError."""
    if args.apply is not None:
        if found.mixed is None:
            yield f"{args.apply} is not written: no set of layers meets the target"
        else:
            found.save(args.apply)
            yield f"saved {args.apply}"
    if args.rescale is not None:
        if found.rescaling is None:
            yield f"{args.rescale} is not written: nothing overflows, or rescaling cannot prevent it"
        else:
            found.save_rescaled(args.rescale)
            yield f"saved {args.rescale}"


def _measured(args: argparse.Namespace, simulated: str | None) -> Sensitivity:
    """Return the analysis. Raises IRError and ValueError."""
    from irexec.core.diagnostics import IRError
    from irexec.tools.sensitivity.analysis import analysed, part, parts
    from irexec.tools.sensitivity.search import Target
    from irexec.tools.status import Status

    Target.read(args.target)
    task = _task(args, simulated)
    trials = task.trials()
    count = parts(trials, 4 * (args.jobs or 1))
    items = [f"{number}/{count}" for number in range(count)]
    outcomes = gather_all(args, task, items, "groups of quantizers")
    failed = [finding for outcome in outcomes for finding in outcome.report.errors]
    effects: dict[Unit, Effect] = {}
    for number, outcome in enumerate(outcomes):
        if outcome.result is None or failed:
            raise IRError(Report(failed))
        effects |= zip(part(trials, number, count), outcome.result.effects, strict=True)
    with Status() as status:

        def tell(done: int, total: int) -> None:
            status.show(f"{done} sets of layers measured, {total} planned")

        return analysed(trials, effects, args.target, args.file, args.other or str(simulated), tell)


def _task(args: argparse.Namespace, simulated: str | None) -> MeasureUnits:
    from irexec.tools.parallel.sensitivities import MeasureUnits

    name, colon, function = args.metric.rpartition(":")
    return MeasureUnits(
        shared_path(args, args.file),
        simulated or shared_path(args, args.other),
        shared_path(args, name) + colon + function if name else args.metric,
        args.inputs and shared_path(args, args.inputs),
        **given_inputs(args),
    )
