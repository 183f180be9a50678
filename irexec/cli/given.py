"""What the commands that run a model share: options for its inputs, and the model read with an array for each."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable
from irexec.cli.options import add_extensions, add_shapes, add_weights
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Findings

if TYPE_CHECKING:
    from irexec.trust.record import Reference
    from irexec.watch.run import ModelInput


@dataclass(slots=True)
class Loaded:
    """A model that can be run: the inputs of its first step with their sources, and the reference for all steps."""

    reference: Reference
    inputs: list[ModelInput]


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    give = parser.add_argument_group("inputs (what is not given is drawn at random)")
    give.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="x=file.npy, x=@file.npz:key, 'x=[1, 2, 3]', or a whole file.npz; each further file.npz is a further step",
    )
    add_shapes(give)
    give.add_argument("--seed", type=int, default=0, metavar="N", help="of random values (default: 0)")
    add_weights(give, "MODEL")
    add_extensions(give)


def load_with_inputs(args: argparse.Namespace) -> tuple[Loaded | None, Report]:
    """The model with its inputs, and all findings; None where there is nothing to run."""
    from irexec.api import load
    from irexec.arrays.given import Given
    from irexec.arrays.options import read_inputs, read_shapes
    from irexec.trust.record import Reference
    from irexec.watch.run import complete

    findings = Findings(file=args.file)
    report = findings.report
    report.extend([*check_readable(args.file), *load_extensions(args.extension)])
    if not report.ok:
        return None, report
    model, read = load(args.file, args.weights)
    report.extend(read)
    if model is None or not report.ok:
        return None, report
    archives = [option for option in args.input if option.endswith(".npz") and "=" not in option]
    others = [option for option in args.input if option not in archives]
    shapes = read_shapes(args.shape, findings)
    steps = []
    for step in archives or [None]:
        inputs = read_inputs([*others, *([step] if step else [])], findings)
        entries = complete(model, Given(inputs=inputs, shapes=shapes, seed=args.seed), findings)
        steps.append(entries)
    if not report.ok:
        return None, report
    reference = Reference(model, [[e.array for e in entries if e.array is not None] for entries in steps])
    return Loaded(reference, steps[0]), report
