"""Verdicts on models with a known difference: `python benchmarks/verdicts.py [FOLDER ...]`.

Each folder contains model.xml, model.bin and io.npz, as for compare.py; without a folder, the samples are used. Every
model is compared with models that irexec also runs: with faults of many kinds (faults.py, subtle_faults.py) and with
harmless changes (harmless.py). `--dump`: through a dump, in which layers are identified by name only. `--precision
bf16`: with OpenVINO computing in bf16 on the model with the fault; with `--dump`, through a dump that OpenVINO wrote.

Prints a table: how many faults with an effect on the results are named exactly, in a group of at most three layers, or
not at all; how many comparisons agree although the results differ; and how many harmless pairs do not agree.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import subtle_faults  # noqa: F401  (registers further kinds)
from compare import runs
from faults import planted
from harmless import harmless
from proofs import unproved

from irexec.core.diagnostics import IRError
from irexec.model.graph.model import Model
from irexec.tools.compare.compare import compare
from irexec.tools.compare.errors import measure
from irexec.tools.compare.result import Comparison
from irexec.tools.compare.runtimes.dumping import dump
from irexec.tools.compare.runtimes.folder import Folder
from irexec.tools.compare.runtimes.openvino_runtime import OpenVINO
from irexec.tools.compare.runtimes.runtime import CannotRun, Loaded, OtherModel, Runtime
from irexec.tools.run.record import Reference

_FEW = 3
_ROUNDED = {"bf16": 2.0**16, "f16": 2.0**13}
"""The units in the last place of f32 in one unit of the other type; a difference of a few of these units is rounding.
"""
OUTCOMES = ("exact", "group", "unnamed", "unproved", "false agreement", "no effect", "refused", "error")


def judged(run: Reference, other: Runtime, names: frozenset[str], effect: bool) -> tuple[str, str]:
    """Return the outcome of a comparison, and its verdict."""
    try:
        found = compare(run, other)
    except (CannotRun, IRError) as error:
        return "refused", str(error)
    except Exception:
        return "error", traceback.format_exc()
    if not effect:
        return ("no effect" if found.agrees else "false alarm"), found.verdict
    if found.agrees:
        return "false agreement", found.verdict
    if effect and (missing := unproved(run, found, other)):
        return "unproved", f"{missing}: {found.verdict}"
    told = named(found)
    if told & names:
        return ("exact" if len(told) == 1 else "group" if len(told) <= _FEW else "unnamed"), found.verdict
    return "unnamed", found.verdict


def named(found: Comparison) -> set[str]:
    culprit = found.culprit
    return set() if culprit is None else {*(node.friendly_name for node in culprit.nodes)}


def effect(run: Reference, other: Reference) -> bool | None:
    """Return whether the results differ; None if the other model cannot be run."""
    try:
        theirs = other.results()
    except IRError:
        return None
    pairs = (pair for x, y in zip(run.results(), theirs, strict=True) for pair in zip(x, y, strict=True))
    return not all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)


class Planted(OpenVINO):
    """OpenVINO in a precision, running a model with a fault in place of the correct model."""

    def __init__(self, fault: Model, precision: str) -> None:
        super().__init__("CPU", {"INFERENCE_PRECISION_HINT": precision})
        self.runs_parts, self.fault = False, fault

    def load(self, model: Model) -> Loaded:
        return super().load(self.fault)


def largest(run: Reference, other: Runtime) -> float:
    """Return the largest difference between the results, in units in the last place."""
    steps = zip(run.results(), other.load(run.model).results(run.steps), strict=True)
    return max(measure(a, b).ulp for x, y in steps for a, b in zip(x, y, strict=True))


def rounding(run: Reference, other: Runtime) -> bool:
    """Return whether the results differ by no more than 32 units in the last place."""
    return largest(run, other) <= 32


def in_precision(
    run: Reference, seed: int, each: int, precision: str, folder: Path | None, pattern: str = "*"
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the same as `faults_of`, with OpenVINO in a precision as the other side. A fault has an effect if it
    changes the results by more than 4 times the error of the precision, and by more than one rounding to it.
    """

    def other(model: Model) -> Runtime:
        runtime = Planted(model, precision)
        return runtime if folder is None else through(runtime, run, folder)

    noise = max(largest(run, Planted(run.model, precision)), _ROUNDED.get(precision, 32.0))
    yield "none", "-", *judged(run, other(run.model), frozenset(), False)
    for fault in planted(run.model, seed, each, pattern):
        try:
            there = largest(run, OtherModel("other.xml", fault.model)) > 4 * noise
            # Planted cannot run bodies alone, so a layer with bodies is named itself.
            outcome, verdict = judged(run, other(fault.model), fault.names | {fault.layer}, there)
        except (CannotRun, IRError, ValueError) as error:
            outcome, verdict = "refused", str(error)
        yield fault.kind, fault.layer, "no effect" if outcome == "false alarm" and not there else outcome, verdict


def through(other: Runtime, run: Reference, folder: Path) -> Runtime:
    shutil.rmtree(folder, ignore_errors=True)
    dump(run, other, folder)
    return Folder(folder)


def faults_of(
    run: Reference, seed: int, each: int, folder: Path | None, pattern: str = "*"
) -> Iterator[tuple[str, str, str, str]]:
    """Yield the kind, the layer, the outcome and the verdict for each planted fault."""
    for fault in planted(run.model, seed, each, pattern):
        there = effect(run, Reference(fault.model, run.steps))
        other: Runtime = OtherModel("other.xml", fault.model)
        try:
            other = other if folder is None else through(other, run, folder)
        except (CannotRun, IRError) as error:
            yield fault.kind, fault.layer, "refused", str(error)
            continue
        # A fault with which the model cannot be run has an effect, and must be named as well.
        outcome, verdict = judged(run, other, fault.names, there is not False)
        if outcome == "false agreement" and folder is not None and rounding(run, other):
            # The difference cannot be distinguished from sums in another order.
            outcome = "no effect"
        yield fault.kind, fault.layer, outcome, verdict


def reexports(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the other exports of the network, which reexports.py writes next to model.xml."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.suffix in (".xml", ".onnx") and path.name not in ("model.xml", "model.onnx"):
            yield path.name, path


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=1, help="faults of each kind in each model (default: 1)")
    parser.add_argument("--kinds", default="*", metavar="PATTERN", help="of faults, e.g. '*weights*' (default: all)")
    parser.add_argument("--dump", action="store_true", help="compare through a dump")
    parser.add_argument("--precision", metavar="TYPE", help="compare with OpenVINO that computes in this type")
    parser.add_argument("--pairs", action="store_true", help="compare with other exports of the network only")
    parser.add_argument("--no-pairs", action="store_true", help="do not compare with harmless changes")
    parser.add_argument("--verbose", action="store_true", help="print every verdict, not only the wrong ones")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "dump" if args.dump else None
        for name, run in runs(args.folders):
            start = time.perf_counter()
            here: Counter[str] = Counter()
            faults = faults_of(run, args.seed, args.each, folder, args.kinds)
            if args.pairs:
                faults = iter(())
            elif args.precision:
                faults = in_precision(run, args.seed, args.each, args.precision, folder, args.kinds)
            for kind, layer, outcome, verdict in faults:
                here[outcome] += 1
                if args.verbose or outcome not in ("exact", "group", "no effect"):
                    print(f"  {name}: {kind} at {layer}: {outcome}: {verdict}", flush=True)
            changed = harmless(run.model) if folder is None and not args.precision and not args.pairs else ()
            changed = () if args.no_pairs else changed
            others = [(kind, lambda model=model: OtherModel("other.xml", model)) for kind, model in changed]
            if folder is None and not args.precision and not args.no_pairs:
                found = next((path for path in args.folders if path.name == name), Path(name))
                others += [(kind, lambda path=path: OtherModel(str(path))) for kind, path in reexports(found)]
            for kind, make in others:
                try:
                    outcome, verdict = judged(run, make(), frozenset(), False)
                except CannotRun as error:
                    outcome, verdict = "refused", str(error)
                pairs[outcome] += 1
                if args.verbose or outcome != "no effect":
                    print(f"  {name}: harmless, {kind}: {outcome}: {verdict}", flush=True)
            total += here
            seconds = time.perf_counter() - start
            print(f"{name} ({seconds:.0f} s): " + ", ".join(f"{here[o]} {o}" for o in here), flush=True)
    print()
    for outcome in [*OUTCOMES, *sorted(total.keys() - {*OUTCOMES})]:
        print(f"{outcome:16} {total[outcome]:5}")
    print(f"harmless pairs: {sum(pairs.values())}, false alarms {sum(pairs.values()) - pairs['no effect']}")
    return 1 if total["false agreement"] or total["false alarm"] or total["error"] or total["unnamed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())
