"""`irexec reduce`: the smallest model that still fails in the same way.

Exit code: 0 reduced, 2 there is no failure or the model cannot be run, 130 interrupted (the same command continues the
reduction).
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from irexec.cli.given import add_input_arguments, load_with_inputs
from irexec.cli.inputs import refuse, refused, refusing
from irexec.cli.options import add_bounds, add_config, add_limit, add_output, whole
from irexec.cli.runtimes import add_python, bounds_of, config_of, runtime_for
from irexec.cli.streams import complain, printout

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from irexec.tools.compare.runtimes.runtime import Runtime
    from irexec.tools.reduce.case import Case
    from irexec.tools.reduce.reduce import Reduction
    from irexec.tools.reduce.repro import Repro
    from irexec.tools.reduce.stages import Stage
    from irexec.tools.reduce.verdict import Judge
    from irexec.tools.run.record import Reference

_PASSES = "passes"
# Further files of the smallest model: its inputs, script, report and state.
_BESIDE = (".bin", ".npz", ".json", ".py", ".md", ".expected.npz")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.xml, .onnx, .irt)")
    fails = parser.add_argument_group("the failure to reproduce").add_mutually_exclusive_group(required=True)
    fails.add_argument(
        "--with",
        dest="other",
        metavar="RUNTIME",
        help="openvino, openvino:DEVICE or onnxruntime (.onnx only): a result that differs from irexec's, a "
        "rejected model, a crash or a timeout; or passes: a wrong pass of OpenVINO's compiler",
    )
    fails.add_argument(
        "--check",
        metavar="'COMMAND {}'",
        help="a program and its arguments, run on each candidate without a shell ({} is the file); the failure is its "
        "non-zero exit code",
    )
    add_config(parser)
    add_python(parser)
    add_limit(parser, 120, each="candidate")
    parser.add_argument(
        "--same",
        default="",
        metavar="REGEX",
        help="count only failures with a match in the output of the --check command, or in the runtime's error "
        "message and the layer types, e.g. Gelu",
    )
    parser.add_argument(
        "--tries",
        type=whole(1),
        default=1,
        metavar="N",
        help="run each candidate up to N times, until it fails (default: 1)",
    )
    parser.add_argument(
        "-j", "--jobs", type=whole(1), default=1, metavar="N", help="number of candidates tried at a time (default: 1)"
    )
    add_bounds(parser)
    add_input_arguments(parser, steps=True)
    add_output(
        parser,
        "OUT.xml",
        "the file to write, with .bin, .npz, .py, .md and .json files next to it (default: repro.xml; repro.onnx for "
        "an .onnx model, except with passes)",
        default="repro",
    )
    parser.add_argument(
        "--restart", action="store_true", help="start again instead of resuming an interrupted reduction"
    )


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    file = os.path.splitext(args.output)[0]
    yield "-o", [f"{file}{suffix}" for suffix in (_suffix(args), *_BESIDE)]


def run(args: argparse.Namespace) -> int:
    from pathlib import Path

    from irexec.tools.reduce.repro import Repro, identity

    reference = load_with_inputs(args).reference
    repro = Repro(Path(args.output).with_suffix(_suffix(args)), identity(reference, " ".join(_asked(args))))
    with refusing(args):
        judge, cases, stages = _judge(args, reference)
        helpers = [_judge(args, reference)[0] for _ in range(args.jobs - 1)]
        reduction = None if args.restart else repro.resumed()
        return _reduce(args, [judge, *helpers], cases, stages, reduction, repro, reference)


def _suffix(args: argparse.Namespace) -> str:
    """Return the suffix of the smallest model's file: runtimes and commands are given the format of the whole model, so
    that a fault in reading it counts."""
    from irexec.tools.compare.runtimes.choose import ONNX_RUNTIME

    is_onnx = args.file.lower().endswith(".onnx") and not _is_passes(args)
    return ".onnx" if args.other == ONNX_RUNTIME or is_onnx else ".xml"


def _is_passes(args: argparse.Namespace) -> bool:
    return args.other is not None and args.other.partition(":")[0] == _PASSES


def _device(args: argparse.Namespace) -> str:
    """Return the device of OpenVINO in the value of `--with`."""
    return args.other.partition(":")[2] or "CPU"


def _asked(args: argparse.Namespace) -> list[str]:
    """Return the part of the command line that defines the failure."""
    words = ["--check", shlex.quote(args.check)] if args.check is not None else ["--with", shlex.quote(args.other)]
    words += [word for entry in args.config for word in ("--config", shlex.quote(entry))]
    words += ["--python", shlex.quote(args.python)] if args.python else []
    words += ["--same", shlex.quote(args.same)] if args.same else []
    words += ["--tries", str(args.tries)] if args.tries > 1 else []
    for name in ("atol", "rtol"):
        words += [f"--{name}", str(getattr(args, name))] if getattr(args, name) is not None else []
    return words


def _judge(args: argparse.Namespace, reference: Reference) -> tuple[Judge, Iterable[Case], Sequence[Stage]]:
    """Return the judge of failures, the initial cases, and the stages that make them smaller. Raises CannotRun."""
    from irexec.tools.compare.runtimes.choose import ONNX_RUNTIME
    from irexec.tools.compare.runtimes.runtime import CannotRun
    from irexec.tools.reduce.reduce import guesses, whole
    from irexec.tools.reduce.stages import STAGES
    from irexec.tools.reduce.verdict import ByCommand, ByRuntime, Sameness

    same = Sameness(args.same, args.tries)
    if args.check is not None:
        suffix = _suffix(args)
        judge = ByCommand(args.check, args.timeout, same, suffix)
        if suffix == ".xml":
            return judge, [whole(reference)], STAGES
        from irexec.tools.reduce.onnx_case import ONNX_STAGES, onnx_whole

        return judge, [onnx_whole(reference)], ONNX_STAGES
    if _is_passes(args):
        from irexec.tools.passes.reducing import ByPasses

        if args.python:
            raise CannotRun("it requires OpenVINO in this environment, not --python", "U003")
        return ByPasses(_device(args), config_of(args), args.timeout, same), [whole(reference)], STAGES
    bounds, runtime = bounds_of(args), runtime_for(args, args.other, reference.model)
    if args.other == ONNX_RUNTIME and not args.file.lower().endswith(".onnx"):
        raise CannotRun("ONNX Runtime cannot read an IR; reduce the original .onnx file instead", "U012")
    if _suffix(args) == ".onnx" and (runtime.runs_parts or args.other == ONNX_RUNTIME):
        from irexec.tools.reduce.onnx_case import ONNX_STAGES, onnx_guesses

        return ByRuntime(runtime, bounds, same), onnx_guesses(reference, runtime, bounds), ONNX_STAGES
    if not runtime.runs_parts:
        raise CannotRun(
            f"it runs the whole model only; irexec compare --with {args.other} --save-culprit DIR "
            "saves the first wrong layer, and irexec cut --around LAYER saves a layer with its neighbours; or give a "
            "command with --check",
            "U003",
        )
    return ByRuntime(runtime, bounds, same), guesses(reference, runtime, bounds), STAGES


def _reduce(
    args: argparse.Namespace,
    judges: Sequence[Judge],
    cases: Iterable[Case],
    stages: Sequence[Stage],
    reduction: Reduction | None,
    repro: Repro,
    reference: Reference,
) -> int:
    from irexec.cli.interrupts import INTERRUPTED
    from irexec.tools.reduce.reduce import begin, reduce
    from irexec.tools.render.reduce import ReductionStatus
    from irexec.tools.status import Status

    judge = judges[0]
    if reduction is None:
        reduction = begin(judge, cases)
    if reduction is None:
        name = judge.name if args.check is None else f"--check {shlex.quote(args.check)}"
        message = f"nothing to reduce: {name} does not fail on {args.file} with these inputs"
        return refused(refuse("U011", message, hint=judge.hint))
    try:
        with Status() as status:
            reduce(reduction, judge, [repro, ReductionStatus(status)], stages, judges[1:])
    except KeyboardInterrupt:
        repro.write(reduction)
        complain(
            f"irexec reduce: interrupted; {repro.file} is the smallest model so far; run the same command again "
            "to continue"
        )
        return INTERRUPTED
    _finish(args, reduction, repro, reference, judge)
    return 0


def _finish(args: argparse.Namespace, reduction: Reduction, repro: Repro, reference: Reference, judge: Judge) -> None:
    from pathlib import Path

    from irexec.tools.compare.runtimes.choose import ONNX_RUNTIME
    from irexec.tools.reduce.case import size_of
    from irexec.tools.render.reduce import show_reduction

    files: list[Path] = repro.write(reduction)
    runtime: Runtime | None = getattr(judge, "runtime", None)
    if args.check is not None:
        files.append(repro.write_command_script(reduction, shlex.split(args.check), args.same, args.timeout))
    elif args.other == ONNX_RUNTIME:
        files += repro.write_onnx_runtime_script(reduction, runtime, args.timeout)
    else:
        config, limit = config_of(args), args.timeout
        files += repro.write_openvino_script(reduction, _device(args), config, runtime, limit)
    asked = f"irexec reduce {shlex.quote(Path(args.file).name)} {' '.join(_asked(args))}"
    files.append(repro.write_report(reduction, size_of(reference.model), asked, runtime))
    with printout() as page:
        show_reduction(reduction, size_of(reference.model), [str(file) for file in files], page)
