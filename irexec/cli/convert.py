"""`irexec convert`: writes a model as an IR for OpenVINO, or for an older release of it, or as a Python script."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from irexec.cli.inputs import check_readable, exit_code_of_use, not_written, refuse
from irexec.cli.options import add_limit, add_output, add_repeatable, release
from irexec.cli.streams import print_line
from irexec.core.diagnostics import IRError, Report
from irexec.core.diagnostics.render import write
from irexec.ops.spec.contents import OPSETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="MODEL", help="a model (.onnx, .xml, .irt)")
    # The form of version 0.1 (`convert MODEL OUT`), which version 0.3 removes.
    parser.add_argument("older_output", nargs="?", metavar="OUT", help=argparse.SUPPRESS)
    text = "the file to write, with the .bin file next to it (required); OUT.py: a script that builds the model"
    add_output(parser, "OUT.xml", text)
    parser.add_argument(
        "--any-operator", action="store_true", help="also write operators that only irexec supports, in their own opset"
    )
    _add_changes(parser)
    older = parser.add_argument_group("compatibility with older OpenVINO releases")
    older.add_argument(
        "--opset", type=_opset, metavar="N", help="replace newer operators by equivalent ones of opset N"
    )
    older.add_argument("--ir", type=int, choices=(10, 11), default=11, help="version of the file format (default: 11)")
    older.add_argument(
        "--target",
        type=release,
        metavar="RELEASE",
        help="set --opset and --ir to suit this OpenVINO release, e.g. 2022.1",
    )
    add_limit(parser)


def _add_changes(parser: argparse.ArgumentParser) -> None:
    """Add the options that change a model; the arguments of `irexec.edit` in Python."""
    change = parser.add_argument_group("changes of the model, each validated and compared")
    for option, metavar, about in (
        ("--inputs", "NAME", "begin the model at this layer or tensor"),
        ("--outputs", "NAME", "make this layer or tensor an output, in place of the present ones"),
        ("--replace", "LAYER=TYPE", "give a layer another type with the same inputs, e.g. act=Sigmoid"),
        ("--shape", "INPUT=DIMS", "set the shape of an input, e.g. x=1,3,224,224 or x=?,3,?,?"),
        ("--static", "SYMBOL=SIZE", "fix a dynamic dimension by the symbol that irexec shapes shows, e.g. seq=512"),
        ("--bound", "SYMBOL=SIZE", "bound a dynamic dimension, e.g. seq=512 for 1..512"),
        ("--layout", "INPUT=A->B", "take layout A where the model takes B, e.g. x=NHWC->NCHW; or state the model's"),
        ("--mean", "INPUT=V,V,V", "subtract these means: one number, or one for each channel"),
        ("--scale", "INPUT=V,V,V", "divide by these scales, after the means"),
        ("--reverse-channels", "INPUT", "reverse the order of the channels, before the means"),
        ("--precision", "NAME=TYPE", "set the element type of an input or output, e.g. x=u8"),
        ("--rename", "OLD=NEW", "rename a layer or tensor"),
    ):
        # `outputs` is the name of a command's own function.
        add_repeatable(change, option, metavar, about, dest=f"edit_{option[2:].replace('-', '_')}")
    change.add_argument(
        "--batch", dest="edit_batch", metavar="N", help="set the batch of all inputs, e.g. 4, 1..8 or ?"
    )
    change.add_argument(
        "--fold", action="store_true", help="compute layers of constants, and replace Ifs whose condition is known"
    )
    change.add_argument("--no-compare", action="store_true", help="do not run the models to compare the results")


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if (output := _output(args)) is not None:
        yield "-o", [output, os.path.splitext(output)[0] + ".bin"]


def _output(args: argparse.Namespace) -> str | None:
    output: str | None = args.older_output if args.output is None else args.output
    return output


def run(args: argparse.Namespace) -> int:
    args.output = _output(args)
    if args.output is None:
        write(refuse("U003", "the file to write is not given", hint="add -o OUT.xml"), sys.stderr)
        return 2
    report = check_readable(args.file)
    notes: list[str] = []
    report = _converted(args, notes) if report.ok else report
    if report.ok:
        for note in notes:
            print_line(note)
        print_line(f"{args.output}: written")
    else:
        write(Report(report.errors), sys.stderr)
    from irexec.tools.edit.edit import DIFFER

    return exit_code_of_use(report) or int(any(DIFFER in note for note in notes))


def _converted(args: argparse.Namespace, notes: list[str]) -> Report:
    """Convert the model and write it; return the findings, which contain errors if nothing was written. `notes`: gets
    what was verified.
    """
    from irexec.api.openvino.model import Model as OpenVINOModel
    from irexec.core.diagnostics.findings import Findings
    from irexec.frontends.reading import read
    from irexec.model.graph.portable import check_portable
    from irexec.model.graph.write import write_model
    from irexec.tools.edit.edit import edit
    from irexec.tools.edit.options import wanted_of
    from irexec.tools.fixes.older import forms_of, to_ir_10, to_opset

    findings = Findings(file=args.file)
    wanted = wanted_of(args, findings)
    if not findings.report.ok:
        return findings.report
    reading = read(args.file, model_class=OpenVINOModel) if wanted.any else read(args.file)
    model, report = reading.model, reading.report
    if model is None or not report.ok:
        return report
    if wanted.any:
        try:
            made = edit(model, wanted, compare=not args.no_compare)  # type: ignore[arg-type]
        except IRError as error:
            return error.report
        model, notes[:] = made.model, made.notes
    opset, version = forms_of(args.target) if args.target is not None else (args.opset, args.ir)
    if not args.any_operator and not check_portable(model, findings):
        return findings.report
    if opset is not None:
        to_opset(model, opset, findings)
    if version == 10:
        to_ir_10(model, findings)
    if not findings.report.ok:
        return findings.report
    try:
        if args.output.lower().endswith(".py"):
            from irexec.tools.script.script import save_script

            save_script(model, args.output)
        else:
            write_model(model, args.output, version=version)
    except IRError as error:
        return error.report
    except (OSError, ValueError) as error:
        return not_written(args.output, error)
    return report


def _opset(text: str) -> int:
    number = OPSETS.get(f"opset{text.removeprefix('opset')}")
    if number is None:
        raise argparse.ArgumentTypeError(f"there is no opset {text!r}: they are 1 to {max(OPSETS.values())}")
    return number
