"""Ten thousand ONNX models with one change each: every one is read and run, or refused with a finding.

    python benchmarks/onnx_mutants.py [--count 10000] [--seed 0] [-j 2]

Prints the number of each outcome, every exception that escaped, every kernel that failed, every finding that names no
node, and the mutants that took the most processor time and memory (the peak of the process; the memory before the first
mutant is printed as well).
Exits with 1 if an exception escaped, a finding names no node, or a mutant takes more than 2 s or 500 MB.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

from support.onnx_mutants import judged, mutants, seeds

MOST_SECONDS, MOST_MEGABYTES = 2.0, 500.0


@dataclass
class Tally:
    """The outcomes of some mutants. `slowest`, `largest`: seconds and megabytes, each with the mutant."""

    outcomes: Counter[str] = field(default_factory=Counter)
    nameless: Counter[str] = field(default_factory=Counter)
    escaped: int = 0
    slowest: tuple[float, str] = (0.0, "")
    largest: tuple[float, str] = (0.0, "")
    before: float = 0.0

    def __iadd__(self, other: Tally) -> Tally:
        self.outcomes += other.outcomes
        self.nameless += other.nameless
        self.escaped += other.escaped
        self.slowest, self.largest = max(self.slowest, other.slowest), max(self.largest, other.largest)
        self.before = max(self.before, other.before)
        return self


def peak() -> float:
    """Return the peak memory of the process in MB since the last call; 0 on systems other than Linux."""
    if not Path("/proc/self/clear_refs").exists():
        return 0.0
    status = Path("/proc/self/status").read_text()
    found = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    Path("/proc/self/clear_refs").write_text("5")
    return int(found.split()[1]) / 1024


def tally(count: int, seed: int, keep: Path | None) -> Tally:
    """Return the outcomes of `count` mutants."""
    found = Tally()
    faulthandler.enable()
    models = seeds(400, seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        judged(models[0], path)
        found.before = peak()
        for number, data in enumerate(mutants(models, count, seed)):
            begin = time.process_time()
            # If a mutant does not end or crashes the process, print the traceback.
            faulthandler.dump_traceback_later(300, exit=True)
            name = f"mutant {number} of seed {seed}"
            try:
                outcome = judged(data, path)
                found.outcomes.update(outcome.codes)
                found.nameless.update(outcome.nameless)
                for failure in outcome.failed:
                    print(f"{name}: {failure}", flush=True)
            except Exception:
                found.escaped += 1
                print(f"{name}:", traceback.format_exc(limit=-4))
                if keep:
                    (keep / f"{seed}-{number}.onnx").write_bytes(data)
            found.slowest = max(found.slowest, (time.process_time() - begin, name))
            found.largest = max(found.largest, (peak(), name))
    faulthandler.cancel_dump_traceback_later()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-j", "--jobs", type=int, default=1, help="processes, each with mutants of a seed of its own")
    parser.add_argument("--keep", type=Path, help="a folder for the mutants that something escaped from")
    options = parser.parse_args()
    begin, jobs, total = time.monotonic(), max(1, options.jobs), Tally()
    shares = [options.count * (job + 1) // jobs - options.count * job // jobs for job in range(jobs)]
    with ProcessPoolExecutor(jobs) as pool:
        for found in pool.map(tally, shares, range(options.seed, options.seed + jobs), [options.keep] * jobs):
            total += found
    taken = time.monotonic() - begin
    print(f"{options.count} mutants in {taken:.0f} s, {total.escaped} escaped")
    print("the slowest took {:.2f} s: {}".format(*total.slowest))
    print(f"the largest took {total.largest[0]:.0f} MB, of which {total.before:.0f} before: {total.largest[1]}")
    print(", ".join(f"{code} {count}" for code, count in total.outcomes.most_common()))
    print(f"{sum(total.nameless.values())} findings name no node:", *total.nameless.most_common(10), sep="\n  ")
    within = total.slowest[0] <= MOST_SECONDS and total.largest[0] <= MOST_MEGABYTES
    return 1 if total.escaped or total.nameless or not within else 0


if __name__ == "__main__":
    sys.exit(main())
