"""Options for the inputs of a model, shared by the commands that run one, and reading the model with an array per
input.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable
from irexec.cli.options import add_extensions, add_shapes, add_weights, whole
from irexec.diagnostics import Report
from irexec.diagnostics.findings import Findings

if TYPE_CHECKING:
    from irexec.debug.record import Reference
    from irexec.graph.model import Model
    from irexec.reading import Reading
    from irexec.runs.run import ModelInput
    from irexec.types import Array


@dataclass(slots=True)
class Loaded:
    """A model that can be run: the inputs of its first step with their sources, and the reference for all steps."""

    reference: Reference
    inputs: list[ModelInput]


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    give = parser.add_argument_group("inputs (random values are used for inputs that are not given)")
    give.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an input, e.g. x=file.npy, x=@file.npz:key or 'x=[1, 2, 3]'; or set all inputs from file.npz, "
        "where each additional file.npz is another step",
    )
    add_shapes(give)
    give.add_argument("--seed", type=whole(), default=0, metavar="N", help="seed of random values (default: 0)")
    add_weights(give, "MODEL")
    add_extensions(give)


def add_sample_argument(parser: argparse.ArgumentParser) -> None:
    """`--inputs`, for commands that look at many samples at once."""
    parser.add_argument(
        "--inputs",
        metavar="FOLDER|BATCH.npz",
        help="use all samples of a folder or batch; with -j, --cluster or --resume each sample is processed separately",
    )


def load_with_inputs(args: argparse.Namespace, reading: Reading | None = None) -> tuple[Loaded | None, Report]:
    """The model with its inputs, and all findings; None where there is nothing to run. `reading`: of its file."""
    from irexec.arrays.given import Given
    from irexec.debug.record import Reference
    from irexec.reading import read
    from irexec.runs.run import complete
    from irexec.runs.values import read_shapes

    findings = Findings(file=args.file)
    report = findings.report
    if reading is None:
        report.extend([*check_readable(args.file), *load_extensions(args.extension)])
        if not report.ok:
            return None, report
        reading = read(args.file, args.weights)
    model = reading.model
    report.extend(reading.report)
    if model is None or not report.ok:
        return None, report
    shapes = read_shapes(args.shape, findings)
    steps = []
    for arrays in _steps(args, model, findings):
        steps.append(complete(model, Given(inputs=arrays, shapes=shapes, seed=args.seed), findings))
    if not report.ok or not steps:
        return None, report
    reference = Reference(model, [[e.array for e in entries if e.array is not None] for entries in steps])
    return Loaded(reference, steps[0]), report


def _steps(args: argparse.Namespace, model: Model, findings: Findings) -> list[dict[str, Array]]:
    """The arrays of each step, or of each sample."""
    from irexec.runs.values import read_inputs

    samples = getattr(args, "inputs", None)
    archives = [option for option in args.input if option.endswith(".npz") and "=" not in option]
    others = [option for option in args.input if option not in archives]
    if samples is None:
        return [read_inputs([*others, *([step] if step else [])], findings) for step in archives or [None]]
    from irexec.parallel.inputs import arrays_of, inputs_of

    if any(node.has_state for node in model.walk()):
        findings.add(
            "U003",
            "--inputs: samples are independent, but this model has state; give consecutive steps with --input "
            "a.npz --input b.npz",
        )
    _, items = inputs_of(samples, findings)
    if not findings.report.ok:
        return []
    return [read_inputs(args.input, findings) | arrays_of(item, model, findings) for item in items]
