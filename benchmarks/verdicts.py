"""Verdicts whose answer is known: `python benchmarks/verdicts.py [FOLDER ...]`.

Each folder holds model.xml, model.bin and io.npz, as for compare.py; without one, the samples. Every model is compared
with models that irexec runs as well: with faults of many kinds (faults.py), and with harmless changes (harmless.py).
`--dump`: through a dump, in which layers are known by name only. Prints a table: how many faults with an effect on the
results are named exactly, in a group of at most three layers or not, how many comparisons agree although the results
differ, and how many harmless pairs do not agree.
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
from compare import runs
from faults import planted
from harmless import harmless

from irexec.debug.compare import compare
from irexec.debug.comparison import Comparison
from irexec.debug.dumping import dump
from irexec.debug.folder import Folder
from irexec.debug.record import Reference
from irexec.debug.runtimes import CannotRun, OtherModel, Runtime
from irexec.diagnostics import IRError

_FEW = 3
OUTCOMES = ("exact", "group", "unnamed", "false agreement", "no effect", "refused", "error")


def judged(run: Reference, other: Runtime, names: frozenset[str], effect: bool) -> tuple[str, str]:
    """The outcome of one comparison, and its verdict."""
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
    told = named(found)
    if told & names:
        return ("exact" if len(told) == 1 else "group" if len(told) <= _FEW else "unnamed"), found.verdict
    return "unnamed", found.verdict


def named(found: Comparison) -> set[str]:
    culprit = found.culprit
    return set() if culprit is None else {*(node.friendly_name for node in culprit.nodes)}


def effect(run: Reference, other: Reference) -> bool | None:
    """Whether the results differ; None where the other model cannot be run."""
    try:
        theirs = other.results()
    except IRError:
        return None
    pairs = (pair for x, y in zip(run.results(), theirs, strict=True) for pair in zip(x, y, strict=True))
    return not all(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc") for a, b in pairs)


def through(other: Runtime, run: Reference, folder: Path) -> Runtime:
    shutil.rmtree(folder, ignore_errors=True)
    dump(run, other, folder)
    return Folder(folder)


def faults_of(run: Reference, seed: int, each: int, folder: Path | None) -> Iterator[tuple[str, str, str, str]]:
    """The kind, the layer, the outcome and the verdict of each planted fault."""
    for fault in planted(run.model, seed, each):
        there = effect(run, Reference(fault.model, run.steps))
        other: Runtime = OtherModel("other.xml", fault.model)
        try:
            other = other if folder is None else through(other, run, folder)
        except (CannotRun, IRError) as error:
            yield fault.kind, fault.layer, "refused", str(error)
            continue
        # A model that cannot be run has an effect, which is to be named, too.
        outcome, verdict = judged(run, other, fault.names, there is not False)
        yield fault.kind, fault.layer, outcome, verdict


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--each", type=int, default=1, help="faults of each kind in each model (default: 1)")
    parser.add_argument("--dump", action="store_true", help="compare through a dump")
    parser.add_argument("--verbose", action="store_true", help="print every verdict, not only the wrong ones")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    pairs: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "dump" if args.dump else None
        for name, run in runs(args.folders):
            start = time.perf_counter()
            here: Counter[str] = Counter()
            for kind, layer, outcome, verdict in faults_of(run, args.seed, args.each, folder):
                here[outcome] += 1
                if args.verbose or outcome not in ("exact", "group", "no effect"):
                    print(f"  {name}: {kind} at {layer}: {outcome}: {verdict}", flush=True)
            for kind, model in harmless(run.model) if folder is None else ():
                outcome, verdict = judged(run, OtherModel("other.xml", model), frozenset(), False)
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
