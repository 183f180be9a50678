"""Comparisons whose answer is known: `python benchmarks/compare.py [FOLDER ...]`.

Each folder holds model.xml, model.bin and io.npz with the inputs `in0`, `in1`, ... and those of further steps,
`s1_in0`, ...; without one, the samples. For each model: a runtime that is irexec with one layer gone wrong, at every
position in turn, also in bodies (`--positions N`: at N of them, evenly spread), must be told by exactly that layer;
OpenVINO (`--openvino`, in f32, or in bf16, whose rounding is known) must not be told wrong. Prints a line for each
model and what went wrong. tests/benchmarks/test_compare.py does the same with some positions of the samples.
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
from irexec.arrays.given import convert
from irexec.debug.comparison.compare import compare
from irexec.debug.comparison.result import Comparison
from irexec.debug.record import Reference
from irexec.debug.runtimes.openvino_runtime import OpenVINO
from irexec.debug.runtimes.runtime import CannotRun
from irexec.graph.cut import constant_nodes

SAMPLES = ("classifier", "transformer", "loop")
NO_KERNEL = ("Parameter", "Result", "Assign", "ReadValue")
"""Nothing of these could be wrong but what the engine itself does."""
RANDOM = ("RandomUniform", "Multinomial")
LIMIT = 300
"""Seconds that a comparison may take."""


class TooLong(BaseException):
    """Nothing on the way takes it for a failure of its own."""


def positions(run: Reference) -> list[Node]:
    """The layers that can go wrong: they run, they are no constants, and their first output has elements. Layers with
    bodies compute nothing beside these. Every layer gets a name that no other one has."""
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
    """A model and those of its bodies."""
    yield model
    for node in model.nodes:
        for body in node.bodies:
            yield from models(body.model)


@dataclass
class Planted:
    """What was told of layers that went wrong one after the other. `stopped`: the model cannot be run any more then, or
    does not end, because what the layer makes is a shape, an index or the condition of a loop."""

    named: int = 0
    stopped: list[str] = field(default_factory=list)
    misjudged: list[str] = field(default_factory=list)


def plant(run: Reference, count: int | None = None) -> Planted:
    """Let every layer go wrong in turn, or `count` of them, evenly spread."""
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
        if told.culprit is not None and [n.friendly_name for n in told.culprit.nodes] == [node.friendly_name]:
            found.named += 1
        else:
            found.misjudged.append(f"{name}: {told.verdict}")
    return found


@contextmanager
def _limited() -> Iterator[None]:
    """Raises TooLong when something takes longer than LIMIT."""

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
    """The largest own error, and of what."""
    errors = [(row.own.ulp, row) for row in found.rows if row.own is not None and row.tolerance != "exact"]
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
    """The model of a folder with the inputs of its steps."""
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
    # Weights of 8 or 4 bits would be multiplied with quantized inputs, and caches of attention be kept in u8 or f16:
    # both are other computations.
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
