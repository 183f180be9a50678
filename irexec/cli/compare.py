"""`irexec compare`: find the first layer that differs in another runtime, model or recorded run.

Exit code: 0 the results agree, 1 they differ, 2 one side could not be run or nothing was compared.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from irexec.cli.generate import add_prompt
from irexec.cli.given import Loaded, add_input_arguments, add_sample_argument, load_with_inputs
from irexec.cli.inputs import add_format_argument, refused
from irexec.cli.many import add_many_arguments, log_output
from irexec.cli.options import add_bounds, add_config, add_limit, add_repeatable, whole
from irexec.cli.runtimes import add_python, bounds_of, runtime_for
from irexec.cli.streams import print_json, print_line, printout

if TYPE_CHECKING:
    from irexec.tools.compare.result import Comparison
    from irexec.tools.compare.runtimes.runtime import CannotRun, Runtime
    from irexec.tools.run.record import Reference
    from irexec.tools.status import Status


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="MODEL", help="a model (.xml, .onnx, .irt); with --prompt a folder with a language model"
    )
    add_repeatable(
        parser,
        "--with",
        "OTHER",
        "openvino, openvino:DEVICE, openvino:DEVICE,PROPERTY=VALUE, onnxruntime (.onnx only), torch:MODULE:FUNCTION or "
        "torch:FILE.py:FUNCTION (a function that returns a PyTorch network), another model (run by irexec), a folder "
        "written by --dump, or expected results by name (.npz); if given several times, the result names the side that "
        "differs from all others",
        dest="others",
    )
    add_config(parser)
    add_python(parser)
    add_limit(parser, 600, each="response of OTHER")
    add_input_arguments(parser, steps=True)
    about = "a step of preprocessing that only MODEL contains, e.g. image=NHWC->NCHW, image=u8 or image=mean:1,2,3"
    add_repeatable(parser, "--map", "INPUT=STEP", f"{about}: the model of --with gets it as well")
    parser.add_argument(
        "--window",
        type=whole(1),
        metavar="N",
        help="number of layers whose values are kept in memory at once (default: as many as fit in 512 MB)",
    )
    add_sample_argument(parser)
    parser.add_argument(
        "--search",
        type=whole(1),
        metavar="N",
        help="try up to N inputs (NaN, infinities, ties, limits of integers, lengths of 1, ...) until the sides part; "
        "the smallest such input is compared, and saved by --save-inputs (default: search)",
    )
    language = parser.add_argument_group("language models (MODEL is a folder as exporters write it)")
    add_prompt(language)
    language.add_argument(
        "--settings", action="store_true", help="also try the settings of OpenVINO that change results, one at a time"
    )
    add_many_arguments(parser)
    judge = parser.add_argument_group("tolerances (default: the tolerance of each operator)")
    add_bounds(judge)
    show = parser.add_argument_group("output")
    add_format_argument(show, "json prints one object, which irexec report --compare reads")
    show.add_argument(
        "--worst",
        type=whole(),
        default=10,
        metavar="N",
        help="number of layers to show, largest error first (default: 10; 0: all)",
    )
    show.add_argument(
        "--dump",
        metavar="DIR",
        help="write the results of OTHER to this folder instead of comparing, for --with DIR on another machine",
    )
    show.add_argument(
        "--save-inputs",
        metavar="DIR",
        help="write the inputs, including those chosen by irexec, as DIR/0.npz, DIR/1.npz, ... for --input",
    )
    show.add_argument(
        "--save-culprit", metavar="DIR", help="write the first wrong layer as a model, with its inputs and outputs"
    )


def outputs(args: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    if args.dump is not None:
        yield "--dump", [args.dump, os.path.join(args.dump, "0", "index.json")]
    if (folder := _folder_of_inputs(args)) is not None:
        yield "--save-inputs", [folder, os.path.join(folder, "0.npz")]
    if args.save_culprit is not None:
        from irexec.tools.compare.culprit import FILES, OTHER_FILES

        names = (*FILES, *OTHER_FILES)
        yield "--save-culprit", [args.save_culprit, *(os.path.join(args.save_culprit, name) for name in names)]
    yield from log_output(args)


def _folder_of_inputs(args: argparse.Namespace) -> str | None:
    """Return the folder in which the inputs are saved, if they are."""
    searches = getattr(args, "search", None) is not None
    return "search" if searches and args.save_inputs is None else args.save_inputs


def run(args: argparse.Namespace) -> int:
    if not args.others:
        sides = "--with openvino, --with OTHER.xml or --with torch:FILE.py:FUNCTION"
        return _refuse("U003", f"the other side is not given: add {sides}")
    if args.prompt is not None:
        from irexec.cli.compare_prompt import compare_folder

        return compare_folder(args)
    args.other = args.others[0]
    several = len(args.others) > 1
    many = args.jobs > 1 or args.cluster is not None or args.resume is not None
    if many and args.python:
        return _refuse("U003", "--python cannot be combined with -j, --cluster or --resume")
    if args.search is not None and (several or many or args.dump is not None or args.inputs is not None):
        return _refuse("U003", "--search cannot be combined with --inputs, --dump, -j, --cluster or several --with")
    if several and (
        args.dump is not None or args.save_culprit is not None or args.jobs > 1 or args.cluster is not None
    ):
        return _refuse("U003", "--dump, --save-culprit, -j and --cluster require a single --with")
    if many:
        if args.inputs is None:
            return _refuse("U003", "--jobs, --cluster and --resume require --inputs")
        from irexec.cli.compare_inputs import compare_inputs

        return compare_inputs(args)
    from irexec.model.arrays.brief import plural
    from irexec.tools.compare.compare import compare
    from irexec.tools.compare.runtimes.dumping import dump
    from irexec.tools.compare.runtimes.runtime import CannotRun
    from irexec.tools.reduce.case_files import save_steps
    from irexec.tools.status import Status

    _take_recorded_inputs(args)
    loaded = load_with_inputs(args)
    bounds = bounds_of(args)
    found: list[Comparison] = []
    runtime: Runtime | None = None
    name, notes = "", list[str]()
    try:
        with Status() as status:
            for other in args.others:
                args.other, runtime = other, None
                runtime = _mapped(args, other) if args.map else runtime_for(args, other, loaded.reference.model)
                name = runtime.name

                def show(done: int, total: int, name: str = name) -> None:
                    what = f"layers of {name} written" if args.dump else f"layers compared with {name}"
                    status.count(done, total, what)

                if args.search is not None:
                    notes.append(_searched(args, loaded, runtime, status))
                if args.dump is not None:
                    dump(loaded.reference, runtime, args.dump, window=args.window, progress=show)
                else:
                    found.append(compare(loaded.reference, runtime, bounds=bounds, window=args.window, progress=show))
    except CannotRun as error:
        if runtime is not None:
            loaded.reference.results()  # Raises IRError, which is more precise, if irexec refuses the inputs as well.
        return _refuse(error.code, f"--with {args.other}: {error}{_arising(loaded.reference, runtime, error)}")
    except OSError as error:
        # Writing the dump fails at one of its files; any other file is the runtime's.
        is_dump = args.dump is not None and os.path.abspath(args.dump) in os.path.abspath(error.filename or args.dump)
        option, file = ("--dump", error.filename or args.dump) if is_dump else (f"--with {args.other}", error.filename)
        return _refuse("U007", ": ".join(filter(None, (option, file, error.strerror or str(error)))))
    if args.dump is not None:
        steps = plural(len(loaded.reference.steps), "step")
        command = shlex.join(["irexec", "compare", args.file, "--with", args.dump])
        print_line(f"{args.dump}: results of {name} in {steps}; to compare with them: {command}")
        return 0
    saved: list[str] = []
    found[0].notes[:0] = notes
    folder = _folder_of_inputs(args)
    if folder is not None and (args.search is None or not found[0].agrees):
        try:
            saved = [str(path) for path in save_steps(loaded.reference, folder)]
        except OSError as error:
            return _refuse("U007", f"--save-inputs: {error.filename or folder}: {error.strerror or error}")
    culprit = found[0].culprit
    if args.save_culprit is not None and culprit is not None and culprit.outputs:
        try:
            saved += [str(path) for path in culprit.save(args.save_culprit)]
        except OSError as error:
            return _refuse("U007", f"--save-culprit: {error.filename or args.save_culprit}: {error.strerror or error}")
    _print(args, found, saved, loaded.chosen if loaded.steps else "")
    return 2 if any(one.empty for one in found) else 0 if all(one.agrees for one in found) else 1


def _mapped(args: argparse.Namespace, other: str) -> Runtime:
    """Return the other model with the preprocessing of `--map`. Raises CannotRun."""
    from irexec.api.openvino.model import Model
    from irexec.core.diagnostics import IRError
    from irexec.core.diagnostics.findings import Findings
    from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, read_model
    from irexec.tools.edit.edit import edit
    from irexec.tools.edit.options import mapped

    findings = Findings()
    wanted = mapped(args.map, findings)
    if not other.lower().endswith((".xml", ".onnx", ".irt")):
        findings.add("U003", "--map requires another model: --with OTHER.xml")
    for error in findings.report.errors:
        raise CannotRun(f"{error.message}{error.advice}", error.code)
    try:
        return OtherModel(other, edit(read_model(other, Model), wanted, compare=False).model)
    except IRError as error:
        first = error.report.errors[0]
        raise CannotRun(f"--map: {first.message}{first.advice}", "U004") from None


def _searched(args: argparse.Namespace, loaded: Loaded, runtime: Runtime, status: Status) -> str:
    """Search inputs on which the sides part, take the smallest ones as those to compare, and return the outcome."""
    from irexec.model.arrays.given import Origin
    from irexec.tools.conformance.search import Search
    from irexec.tools.run.record import Reference

    model, (base, *_) = loaded.reference.model, loaded.reference.steps
    fixed = [entry.name for entry in loaded.inputs if entry.origin is not Origin.DRAWN]
    search = Search(model, base, runtime, seed=args.seed, fixed=fixed, bounds=bounds_of(args))
    found = search.run(args.search, lambda done, total: status.count(done, total, "inputs tried"))
    if found.inputs is not None:
        loaded.reference, loaded.steps = Reference(model, [found.inputs]), []
    return found.text()


def _arising(reference: Reference, runtime: Runtime | None, error: CannotRun) -> str:
    """Return a sentence that names the layer at which an error of the runtime arises; empty if it cannot be found."""
    from irexec.tools.compare.refusal import refused_at

    node = None if runtime is None else refused_at(reference, runtime, error)
    if node is None:
        return ""
    return f"; it occurs at {node.friendly_name} ({node.type}): the layers before it can be run"


def _take_recorded_inputs(args: argparse.Namespace) -> None:
    """Use the inputs recorded in a folder of `--with` if no inputs are given."""
    from pathlib import Path

    from irexec.tools.compare.runtimes.folder import Folder
    from irexec.tools.compare.runtimes.runtime import CannotRun

    folders = [Path(other) for other in args.others if os.path.isdir(other)]
    while folders and not args.input and args.inputs is None:
        # Errors of the folder are reported later.
        with suppress(CannotRun, OSError):
            args.input = [str(path) for path in Folder(folders.pop(0)).archives]


def _print(args: argparse.Namespace, found: Sequence[Comparison], saved: list[str], chosen: str) -> None:
    from irexec.tools.compare.sides import Sides

    sides = Sides(found) if len(found) > 1 else None
    if args.format == "json":
        made = sides.to_dict() if sides is not None else found[0].to_dict() | {"saved": saved, "chosen inputs": chosen}
        print_json(made)
        return
    from irexec.tools.render.compare import show_comparison, show_sides

    with printout() as page:
        if sides is not None:
            show_sides(sides, page, worst=args.worst)
        else:
            show_comparison(found[0], page, worst=args.worst, saved=saved)
        if chosen:
            page.line()
            page.paragraph(f"inputs chosen with --seed {args.seed}: {chosen}", "dim")


def _refuse(code: str, message: str) -> int:
    from irexec.cli.inputs import refuse

    return refused(refuse(code, message))
