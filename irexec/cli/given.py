"""Options for the inputs of a model, and reading the model with an array for each input."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irexec.cli.extension import load_extensions
from irexec.cli.inputs import check_readable
from irexec.cli.options import (
    add_extensions,
    add_random_weights,
    add_repeatable,
    add_shapes,
    add_weights,
    whole,
)
from irexec.core.diagnostics import IRError, Report
from irexec.core.diagnostics.findings import Findings

if TYPE_CHECKING:
    from irexec.core.types import Array
    from irexec.frontends.reading import GivenWeights, Reading
    from irexec.model.graph.model import Model
    from irexec.tools.run.record import Reference
    from irexec.tools.run.run import ModelInput


@dataclass(slots=True)
class Loaded:
    """A model that can be run: the inputs of each step with their sources, and the reference for all steps."""

    reference: Reference
    steps: list[list[ModelInput]]

    @property
    def inputs(self) -> list[ModelInput]:
        """The inputs of the first step."""
        return self.steps[0]

    @property
    def chosen(self) -> str:
        """The inputs that were not given, with their shapes in each step; empty if there are none."""
        from irexec.model.arrays.brief import shown_shape
        from irexec.model.arrays.given import Origin

        texts = []
        for number, entry in enumerate(self.inputs):
            if entry.origin is Origin.DRAWN:
                arrays = [step[number].array for step in self.steps]
                shapes = dict.fromkeys(shown_shape(array.shape) for array in arrays if array is not None)
                texts.append(f"{entry.name} {', then '.join(shapes)}")
        return "; ".join(texts)


def add_input_arguments(parser: argparse.ArgumentParser, *, steps: bool = False, random_weights: bool = True) -> None:
    """Add the options for inputs. `steps`: the command uses the inputs of several steps. `random_weights`: it also
    takes a model without its weights.
    """
    more = "; several .npz files are the steps of a model with state" if steps else ""
    give = parser.add_argument_group("inputs (values are chosen for inputs that are not given)")
    add_repeatable(
        give,
        "--input",
        "NAME=VALUE",
        "set an input, e.g. x=file.npy, x=@file.npz:key or 'x=[1, 2, 3]'; or set all inputs from file.npz" + more,
    )
    add_shapes(give)
    give.add_argument("--seed", type=whole(), default=0, metavar="N", help="seed of chosen values (default: 0)")
    add_weights(give)
    if random_weights:
        add_random_weights(give)
    add_extensions(give)


def weights_of(args: argparse.Namespace, findings: Findings) -> GivenWeights:
    """Return the weights that the options give: a file, or the request to draw those that are missing."""
    from irexec.ir.weights.file import RandomWeights
    from irexec.tools.run.values import read_inputs

    if not getattr(args, "random_weights", False):
        if getattr(args, "constant", None):
            findings.add("U003", "--constant requires --random-weights")
        weights: str | None = args.weights
        return weights
    if args.weights is not None:
        findings.add("U003", "--random-weights cannot be combined with --weights")
    return RandomWeights(args.seed, read_inputs(args.constant, findings, flag="--constant"))


def add_sample_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--inputs`, for commands that use many samples at once."""
    parser.add_argument(
        "--inputs",
        metavar="FOLDER|BATCH.npz",
        help="use all samples of a folder or batch; with -j, --cluster or --resume each sample is processed separately",
    )


def load_with_inputs(args: argparse.Namespace, reading: Reading | None = None) -> Loaded:
    """Return the model with its inputs. `reading`: its file. Raises IRError if there is nothing to run."""
    loaded, report = findings_and_inputs(args, reading)
    if loaded is None:
        raise IRError(report)
    return loaded


def findings_and_inputs(args: argparse.Namespace, reading: Reading | None = None) -> tuple[Loaded | None, Report]:
    """Return the model with its inputs, and all findings; None if there is nothing to run. `reading`: its file."""
    from irexec.frontends.reading import read
    from irexec.model.arrays.given import Given
    from irexec.tools.run.record import run_with
    from irexec.tools.run.run import complete
    from irexec.tools.run.values import read_shapes

    findings = Findings(file=args.file)
    report = findings.report
    if reading is None:
        report.extend([*check_readable(args.file), *load_extensions(args.extension)])
        if not report.ok:
            return None, report
        args.weights = weights_of(args, findings)
        if not report.ok:
            return None, report
        reading = read(args.file, args.weights)
    model = reading.model
    report.extend(reading.report)
    if model is None or not report.ok:
        return None, report
    shapes = read_shapes(args.shape, findings)
    steps = []
    archives: dict[str, str] = {}
    for arrays in _steps(args, model, findings, archives):
        given = Given(inputs=arrays, shapes=shapes, seed=args.seed, typical=True, archives=archives)
        steps.append(complete(model, given, findings))
    if not report.ok or not steps:
        return None, report
    if not args.input and not shapes and any(node.has_state for node in model.nodes):
        steps += _further_steps(model, steps[0], args.seed)
    return Loaded(run_with(model, steps), steps), report


def _further_steps(model: Model, first: list[ModelInput], seed: int) -> list[list[ModelInput]]:
    """Return chosen inputs for further steps of a model with variables: one token each. The list is empty if the model
    does not run with them.
    """
    from irexec.model.arrays.given import Given
    from irexec.tools.run.record import run_with
    from irexec.tools.run.run import complete
    from irexec.tools.run.typical import STEPS, grows

    texts = [e.array for e in first if e.assumed and e.array is not None and e.array.ndim > 1 and not grows(e.port)]
    begin = max((array.shape[1] for array in texts), default=1)
    findings, found = Findings(file=model.file), list[list["ModelInput"]]()
    for step in range(1, STEPS):
        given = Given(seed=seed + step, typical=True, past=begin + step - 1)
        found.append(complete(model, given, findings))
    try:
        run_with(model, [first, *found]).results()
    except IRError:
        return []
    return found if findings.report.ok else []


def _steps(
    args: argparse.Namespace, model: Model, findings: Findings, archives: dict[str, str]
) -> list[dict[str, Array]]:
    """Return the arrays of each step, or of each sample. `archives`: see `irexec.tools.run.values.read_inputs`."""
    from irexec.tools.run.values import read_inputs

    samples = getattr(args, "inputs", None)
    packed = [option for option in args.input if option.endswith(".npz") and "=" not in option]
    others = [option for option in args.input if option not in packed]
    if samples is None:
        return [read_inputs([*others, *([step] if step else [])], findings, archives) for step in packed or [None]]
    from irexec.tools.parallel.inputs import arrays_of, inputs_of

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
