"""`irexec reduce`: the smallest model that still fails in the same way.

Exit code: 0 reduced, 2 nothing fails or could not be run, 130 interrupted: the same command goes on from there.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import refuse
from irexec.cli.options import number
from irexec.diagnostics import Report
from irexec.diagnostics.render import wants_color, write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from irexec.trust.case import Case
    from irexec.trust.record import Reference
    from irexec.trust.reduce import Reduction
    from irexec.trust.repro import Repro
    from irexec.trust.stages import Stage
    from irexec.trust.verdict import Judge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx)")
    fails = parser.add_argument_group("what fails").add_mutually_exclusive_group(required=True)
    fails.add_argument(
        "--with",
        dest="other",
        metavar="RUNTIME",
        help="openvino, openvino:DEVICE or onnxruntime (of .onnx) computes something else than irexec, refuses the "
        "model, crashes or hangs",
    )
    fails.add_argument(
        "--check", metavar="'COMMAND {}'", help="this command, given the model's file, has the same exit code, not 0"
    )
    parser.add_argument(
        "--config", action="append", default=[], metavar="KEY=VALUE", help="a setting: INFERENCE_PRECISION_HINT=f32"
    )
    parser.add_argument(
        "--limit", type=number, default=120, metavar="S", help="seconds that a candidate may take (default: 120)"
    )
    parser.add_argument("--atol", type=number, metavar="X", help="absolute error that is allowed")
    parser.add_argument("--rtol", type=number, metavar="X", help="relative error that is allowed")
    add_input_arguments(parser)
    parser.add_argument(
        "--output",
        "-o",
        default="repro",
        metavar="FILE",
        help="default: repro.xml and .bin, or with onnxruntime repro.onnx; beside it .npz, .py, .md, .json",
    )
    parser.add_argument("--restart", action="store_true", help="begin anew where a reduction was interrupted")


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from irexec.diagnostics import IRError
    from irexec.trust.choose import ONNX_RUNTIME
    from irexec.trust.repro import Repro, identity
    from irexec.trust.runtimes import CannotRun

    loaded, report = load_with_inputs(args)
    if loaded is None:
        return _refused(report)
    reference = loaded.reference
    asked = " ".join(_asked(args))
    suffix = ".onnx" if args.other == ONNX_RUNTIME else ".xml"
    repro = Repro(Path(args.output).with_suffix(suffix), identity(reference, asked))
    try:
        judge, cases, stages = _judge(args, reference)
        reduction = None if args.restart else repro.resumed()
        return _reduce(args, judge, cases, stages, reduction, repro, reference)
    except (CannotRun, ValueError) as error:
        return _refused(refuse("U006", str(error)))
    except OSError as error:
        return _refused(refuse("U007", f"{error.filename or args.output}: {error.strerror or error}"))
    except IRError as error:
        return _refused(error.report)


def _asked(args: argparse.Namespace) -> list[str]:
    """The part of the command line that says what fails."""
    words = ["--check", shlex.quote(args.check)] if args.check is not None else ["--with", shlex.quote(args.other)]
    words += [word for entry in args.config for word in ("--config", shlex.quote(entry))]
    for name in ("atol", "rtol"):
        words += [f"--{name}", str(getattr(args, name))] if getattr(args, name) is not None else []
    return words


def _judge(args: argparse.Namespace, reference: Reference) -> tuple[Judge, Iterable[Case], Sequence[Stage]]:
    """Who says what fails, with which cases to begin, and what is tried to make them smaller. Raises CannotRun."""
    from irexec.trust.choose import ONNX_RUNTIME, runtime_of
    from irexec.trust.errors import Bounds
    from irexec.trust.reduce import guesses, whole
    from irexec.trust.runtimes import CannotRun
    from irexec.trust.stages import STAGES
    from irexec.trust.verdict import ByCommand, ByRuntime

    if args.check is not None:
        return ByCommand(args.check, args.limit), [whole(reference)], STAGES
    bounds = None if args.atol is None and args.rtol is None else Bounds(args.atol or 0.0, args.rtol or 0.0)
    runtime = runtime_of(args.other, _config(args), reference.model, args.limit)
    if args.other == ONNX_RUNTIME:
        if not args.file.lower().endswith(".onnx"):
            raise CannotRun(f"--with {args.other}: ONNX Runtime reads no IR: reduce the .onnx file that it was made of")
        from irexec.trust.onnx_case import ONNX_STAGES, onnx_guesses

        return ByRuntime(runtime, bounds), onnx_guesses(reference, runtime, bounds), ONNX_STAGES
    if not runtime.runs_parts:
        raise CannotRun(
            f"--with {args.other}: what is recorded or computed there is of the whole model; irexec compare --with "
            f"{args.other} names the layer, irexec cut --around LAYER makes a model of it, --check takes any command"
        )
    return ByRuntime(runtime, bounds), guesses(reference, runtime, bounds), STAGES


def _config(args: argparse.Namespace) -> dict[str, str]:
    return dict(entry.partition("=")[::2] for entry in args.config)


def _reduce(
    args: argparse.Namespace,
    judge: Judge,
    cases: Iterable[Case],
    stages: Sequence[Stage],
    reduction: Reduction | None,
    repro: Repro,
    reference: Reference,
) -> int:
    from irexec.cli.main import INTERRUPTED
    from irexec.show.reduce import Telling
    from irexec.show.status import Status
    from irexec.trust.reduce import begin, reduce

    if reduction is None:
        reduction = begin(judge, cases)
    if reduction is None:
        return _refused(refuse("U006", f"nothing fails: {judge.name} is right about {args.file} with these inputs"))
    try:
        with Status() as status:
            reduce(reduction, judge, [repro, Telling(status)], stages)
    except KeyboardInterrupt:
        repro.write(reduction)
        print(
            f"irexec reduce: interrupted; {repro.file} is the smallest so far, the same command goes on",
            file=sys.stderr,
        )
        return INTERRUPTED
    _finish(args, reduction, repro, reference, judge)
    return 0


def _finish(args: argparse.Namespace, reduction: Reduction, repro: Repro, reference: Reference, judge: Judge) -> None:
    from pathlib import Path

    from irexec.show.printing import Printout
    from irexec.show.reduce import show_reduction
    from irexec.trust.case import size_of
    from irexec.trust.choose import ONNX_RUNTIME
    from irexec.trust.verdict import ByRuntime

    files: list[Path] = repro.write(reduction)
    if args.check is not None:
        files.append(repro.write_command_script(shlex.split(args.check), args.limit))
    elif args.other == ONNX_RUNTIME:
        files.append(repro.write_onnx_runtime_script(reduction.case))
    else:
        device = args.other.partition(":")[2] or "CPU"
        files.append(repro.write_openvino_script(reduction.case, device, _config(args)))
    asked = f"irexec reduce {shlex.quote(Path(args.file).name)} {' '.join(_asked(args))}"
    runtime = judge.runtime if isinstance(judge, ByRuntime) else None
    files.append(repro.write_report(reduction, size_of(reference.model), asked, runtime))
    page = Printout(color=wants_color(sys.stdout))
    show_reduction(reduction, size_of(reference.model), [str(file) for file in files], page)
    sys.stdout.write(page.text)


def _refused(report: Report) -> int:
    write(Report(report.errors), sys.stderr)
    return 2
