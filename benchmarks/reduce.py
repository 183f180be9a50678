"""Reductions of models with planted faults: `python benchmarks/reduce.py`.

Prints for each fault the number of remaining layers, the smallest number of layers that shows the fault, and the number
of candidates tried; and finally the number of reductions with more than three layers above the minimum.
tests/tools/reduce/test_reduce.py runs some of them.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

from support.failing import reference
from support.faults import Fault, faults

from irexec.tools.reduce.reduce import Reduction, begin, guesses, reduce
from irexec.tools.reduce.verdict import ByRuntime


def reduced(fault: Fault) -> Reduction | None:
    """Return the reduction of a model with the fault; None if the model does not fail."""
    run, judge = reference(fault.model), ByRuntime(fault.planted)
    found = begin(judge, guesses(run, fault.planted))
    return reduce(found, judge) if found is not None else None


def main() -> int:
    far = count = 0
    for fault in faults():
        start = time.perf_counter()
        found = reduced(fault)
        seconds = time.perf_counter() - start
        count += 1
        left = found.case.size if found is not None else -1
        tried = found.tried if found is not None else 0
        is_far = not 0 < left <= fault.minimum + 3
        far += is_far
        mark = "x" if is_far else " "
        print(f"{mark} {left:3} of {fault.minimum}  {tried:4} tried {seconds:6.1f} s  {fault.model}: {fault.name}")
    print(f"{count} faults, {far} reductions more than three layers from the minimum")
    return 1 if far else 0


if __name__ == "__main__":
    raise SystemExit(main())
