"""Comparisons with a known result: `python benchmarks/compare.py [FOLDER ...]`.

Each folder contains model.xml, model.bin and io.npz with the inputs `in0`, `in1`, ... and those of further steps,
`s1_in0`, ...; without a folder, the samples are used. For each model, the other side is irexec with one wrong layer, at
every position in turn, including bodies (`--positions N`: at N evenly spread positions), and the comparison must name
exactly this layer. With `--openvino` (in f32, or in bf16 with its known rounding) the comparison must find no wrong
layer. Prints a line for each model and each wrong verdict. tests/benchmarks/test_compare.py does the same for some
positions in the samples.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

import numpy as np
from support.failing import reference
from support.mocks import Wrong

import irexec
from irexec import Model, Node
from irexec.model.arrays.given import convert
from irexec.model.graph.cut import constant_nodes
from irexec.tools.compare.compare import compare
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import CannotRun
from irexec.tools.run.record import Reference

SAMPLES = ("classifier", "transformer", "loop")
NO_KERNEL = ("Parameter", "Result", "Assign", "ReadValue")
"""Types of layers whose result no kernel computes."""
RANDOM = ("RandomUniform", "Multinomial")
LIMIT = 300
"""The time limit of a comparison in seconds."""


class TooLong(BaseException):
    """Raised after LIMIT. Not an Exception, so that no handler takes it for a failure of a layer."""


def positions(run: Reference) -> list[Node]:
    """Return the layers that can be made wrong: layers that run, are not constants, and whose first output has
    elements. Layers with bodies compute nothing themselves. Every layer gets a unique name.
    """
    counts, constant = run.count(), set[Node]()
    for model in models(run.model):
        constant |= constant_nodes(model)
    seen = Counter[str]()
    for node in run.model.walk():
        seen[node.friendly_name] += 1
        if seen[node.friendly_name] > 1:
            node.friendly_name += f"#{seen[node.friendly_name]}"
    skipped = (*NO_KERNEL, *RANDOM)
    nodes = [
        node
        for node in run.model.walk()
        if node.type not in skipped and node not in constant and node.outputs and node in counts and not node.bodies
    ]
    made = run.record({node.outputs[0] for node in nodes})[0]
    return [node for node in nodes if node.outputs[0] in made and made[node.outputs[0]].size]


def models(model: Model) -> Iterator[Model]:
    """Yield a model and the models of its bodies."""
    yield model
    for node in model.nodes:
        for body in node.bodies:
            yield from models(body.model)


@dataclass
class Planted:
    """The outcome of making layers wrong one after the other. `stopped`: layers with which the model cannot be run or
    does not end, because their result is a shape, an index or the condition of a loop.
    """

    named: int = 0
    stopped: list[str] = field(default_factory=list)
    misjudged: list[str] = field(default_factory=list)


def plant(run: Reference, count: int | None = None) -> Planted:
    """Make every layer wrong in turn, or `count` of them, evenly spread."""
    nodes = positions(run)
    found = Planted()
    for node in nodes if count is None else nodes[:: max(1, len(nodes) // count)][:count]:
        name = f"{node.friendly_name} ({node.type})"
        try:
            with _limited():
                told = compare(run, Wrong(node.friendly_name))
        except (CannotRun, TooLong) as error:
            found.stopped.append(f"{name}: {error}")
            continue
        named = [] if told.culprit is None else [n.friendly_name for n in told.culprit.nodes]
        # A layer whose values change no result is not blamed, but listed.
        if (told.others if told.same else named) == [node.friendly_name]:
            found.named += 1
        else:
            found.misjudged.append(f"{name}: {told.verdict}")
    return found


@contextmanager
def _limited() -> Iterator[None]:
    """Raise TooLong if the enclosed work takes longer than LIMIT."""

    def stop(*_: object) -> None:
        raise TooLong(f"no end within {LIMIT} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def most(found: Comparison) -> list[str]:
    """Return a line with the largest own error, and the type and tolerance of its layer; an empty list if there is
    none.
    """
    errors = [(row.own.ulp, row) for row in found.layers if row.own is not None and row.tolerance != "exact"]
    if not errors:
        return []
    ulp, row = max(errors, key=lambda entry: entry[0])
    return [f"largest own error {ulp:.3g} ulp, {row.node.type}, tolerance {row.tolerance}"]


def runs(folders: list[Path]) -> Iterator[tuple[str, Reference]]:
    for name in SAMPLES if not folders else ():
        yield name, reference(name)
    for folder in folders:
        yield folder.name, recorded(folder)


def recorded(folder: Path) -> Reference:
    """Return the model of a folder with the inputs of its steps."""
    model: Any = irexec.read_model(folder / "model.xml")
    with np.load(folder / "io.npz") as arrays:
        names = [f"in{index}" for index in range(len(model.inputs))]
        steps = [names]
        while names and f"s{len(steps)}_{names[0]}" in arrays:
            steps.append([f"s{len(steps)}_{name}" for name in names])
        kinds = [port.element_type for port in model.inputs]
        return Reference(
            model, [[convert(arrays[n], kind) for n, kind in zip(step, kinds, strict=True)] for step in steps]
        )


def with_openvino(run: Reference, precision: str) -> Comparison:
    # Otherwise OpenVINO quantizes inputs that are multiplied with weights of 8 or 4 bits, and keeps caches of attention
    # in u8 or f16: both are different computations.
    settings = {"INFERENCE_PRECISION_HINT": precision, "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
    settings |= {"KV_CACHE_PRECISION": precision}
    return compare(run, OpenVINO("CPU", settings, run.model))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--positions", type=int, help="of each model (default: every one)")
    parser.add_argument(
        "--openvino", nargs="?", const="f32", metavar="TYPE", help="compare with OpenVINO instead, in f32 or bf16"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object per model")
    args = parser.parse_args()
    wrong = total = 0
    for name, run in runs(args.folders):
        start = time.perf_counter()
        if args.openvino:
            try:
                told = with_openvino(run, args.openvino)
            except CannotRun as error:
                print(f"{name}: not run: {error}", flush=True)
                continue
            total += 1
            wrong += not told.agrees
            text = "; ".join([told.verdict, f"computes in {told.precision}", *most(told)])
            known: dict[str, Any] = {"verdict": told.verdict}
        else:
            found = plant(run, args.positions)
            total += found.named + len(found.stopped) + len(found.misjudged)
            wrong += len(found.misjudged)
            stops = f", {len(found.stopped)} where the model cannot be run any more" if found.stopped else ""
            text = f"{found.named} named{stops}, {len(found.misjudged)} misjudged"
            text = "\n".join([text, *(f"  {said}" for said in found.misjudged)])
            known = {"named": found.named, "stopped": found.stopped, "misjudged": found.misjudged}
        seconds = time.perf_counter() - start
        print(json.dumps({"model": name} | known) if args.json else f"{name} ({seconds:.0f} s): {text}", flush=True)
    print(f"{wrong} of {total} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
