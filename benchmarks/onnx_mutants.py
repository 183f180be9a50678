"""Ten thousand ONNX models with one change each: all are read, refused or run; nothing else comes of any.

    python benchmarks/onnx_mutants.py [--count 10000] [--seed 0]

Prints how often each outcome came, every exception that escaped, and every finding that names no node.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.onnx_mutants import judged, mutants, seeds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="a folder for the mutants that something escaped from")
    options = parser.parse_args()
    faulthandler.enable()
    outcomes: Counter[str] = Counter()
    nameless: Counter[str] = Counter()
    escaped, slowest = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for number, data in enumerate(mutants(seeds(400, options.seed), options.count, options.seed)):
            begin = time.monotonic()
            # One that takes for ever, or that crashes the process, is shown with where it is.
            faulthandler.dump_traceback_later(120, exit=True)
            try:
                outcome = judged(data, path)
                outcomes.update(outcome.codes)
                nameless.update(outcome.nameless)
            except Exception:
                escaped += 1
                print(f"mutant {number}:", traceback.format_exc(limit=-4))
                if options.keep:
                    (options.keep / f"{number}.onnx").write_bytes(data)
            slowest = max(slowest, time.monotonic() - begin)
    faulthandler.cancel_dump_traceback_later()
    print(f"{options.count} mutants, {escaped} escaped, the slowest took {slowest:.1f} s")
    print(", ".join(f"{code} {count}" for code, count in outcomes.most_common()))
    print(f"{sum(nameless.values())} findings name no node:", *nameless.most_common(10), sep="\n  ")
    return 1 if escaped or nameless else 0


if __name__ == "__main__":
    sys.exit(main())
