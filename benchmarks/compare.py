"""Comparisons whose answer is known: `python benchmarks/compare.py [FOLDER ...]`.

Each folder holds model.xml, model.bin and io.npz with the inputs `in0`, `in1`, ...; without one, the samples. For each
model: a runtime that is irexec with one layer gone wrong, at every position in turn (`--positions N`: at N of them,
evenly spread), must be told by exactly that layer; OpenVINO in f32 (`--openvino`) must not be told wrong. Prints a line
for each model, and what went wrong. tests/trust/test_compare.py does the same with the samples.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import numpy as np
from support.failing import reference
from support.mocks import Wrong

import irexec
from irexec.graph.cut import constant_nodes
from irexec.trust.compare import Comparison, compare
from irexec.trust.openvino_runtime import OpenVINO
from irexec.trust.record import Reference
from irexec.types import ElementType


def positions(run: Reference) -> list[str]:
    """The layers that can be wrong without anything else failing: their first output holds real numbers, no other layer
    has their name, and they run."""
    counts, constant = run.count(), constant_nodes(run.model)
    skipped = ("Parameter", "Result", "Assign", "ReadValue", "RandomUniform", "Multinomial")
    nodes = [n for n in run.model.nodes if n.type not in skipped and n not in constant and n.outputs and n in counts]
    names = [n.friendly_name for n in run.model.walk()]
    made = run.record({node.outputs[0] for node in nodes})[0]
    found = []
    for node in nodes:
        array = made.get(node.outputs[0])
        real = array is not None and array.size and ElementType.of(array.dtype).is_real
        if real and names.count(node.friendly_name) == 1 and not node.bodies:
            found.append(node.friendly_name)
    return found


def misjudged(run: Reference, count: int | None) -> Iterator[tuple[str, str]]:
    """The planted layers that are not the ones told, with what was told; and at last how many there were."""
    names = positions(run)
    chosen = names if count is None else names[:: max(1, len(names) // count)][:count]
    for name in chosen:
        found = compare(run, Wrong(name))
        told = [node.friendly_name for node in found.culprit.nodes] if found.culprit is not None else []
        if told != [name]:
            yield name, found.verdict
    yield "", str(len(chosen))


def most(found: Comparison) -> list[str]:
    """The largest own error, and of what."""
    errors = [(row.own.ulp, row) for row in found.rows if row.own is not None and row.tolerance != "exact"]
    if not errors:
        return []
    ulp, row = max(errors, key=lambda entry: entry[0])
    return [f"largest own error {ulp:.3g} ulp, {row.node.type}, tolerance {row.tolerance}"]


def runs(folders: list[Path]) -> Iterator[tuple[str, Reference]]:
    for name in ("classifier", "transformer", "loop") if not folders else ():
        yield name, reference(name)
    for folder in folders:
        model: Any = irexec.read_model(folder / "model.xml")
        with np.load(folder / "io.npz") as arrays:
            yield folder.name, Reference(model, [[arrays[f"in{i}"] for i in range(len(model.inputs))]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--positions", type=int, help="of each model (default: every one)")
    parser.add_argument("--openvino", action="store_true", help="compare with OpenVINO in f32 instead")
    args = parser.parse_args()
    wrong = 0
    for name, run in runs(args.folders):
        start = time.perf_counter()
        if args.openvino:
            found = compare(run, OpenVINO("CPU", {"INFERENCE_PRECISION_HINT": "f32"}, run.model))
            wrong += not found.agrees
            text = "; ".join([found.verdict, *most(found)])
        else:
            *bad, (_, count) = misjudged(run, args.positions)
            wrong += len(bad)
            text = "\n".join([f"{count} positions, {len(bad)} misjudged", *(f"  {n}: {said}" for n, said in bad)])
        print(f"{name} ({time.perf_counter() - start:.0f} s): {text}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
