"""Random graphs over all operators, run by the engine and node by node: `python benchmarks/random_graphs.py 0 20000`.

Prints each seed whose results differ, with the difference and the layers of the graph, and finally the number of such
seeds. tests/runtime/engine/test_random_graphs.py runs a sample of the same graphs.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

from support.graphs import RandomGraph, candidates, difference
from support.lowering import small_ones_too

from irexec.core.threads.parallel import set_num_threads
from irexec.runtime.engine import memory
from irexec.runtime.lowering.backend import Backend, Mode
from irexec.runtime.lowering.checked import CheckedBackend


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("first", type=int, nargs="?", default=0, help="the first seed (0)")
    parser.add_argument("end", type=int, nargs="?", default=2000, help="the seed after the last one (2000)")
    parser.add_argument("--lowered", action="store_true", help="lower the graphs from the first run on")
    parser.add_argument("--checked", action="store_true", help="lower them, and compare each layer with its kernel")
    parser.add_argument("--threads", type=int, default=1, help="threads (1: for small layers, they mostly wait)")
    options = parser.parse_args()
    set_num_threads(options.threads)
    memory._MIN_BYTES = 1  # small results share buffers, too
    more: dict[str, Any] = {}
    if options.lowered or options.checked:
        small_ones_too(setattr)
        more = {"runs": 5, "tolerance": 1e-4}
    pool, wrong, begin = candidates(), 0, time.perf_counter()
    for seed in range(options.first, options.end):
        graph = RandomGraph(pool, seed, dynamic=seed % 3 == 0)
        try:
            backend = CheckedBackend() if options.checked else Backend(Mode.AT_ONCE) if options.lowered else None
            found = difference(graph.model, graph.inputs, backend=backend, **more)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found is not None:
            wrong += 1
            print(f"{seed}: {found}; layers: {', '.join(node.type for node in graph.model.nodes)}")
    seconds = time.perf_counter() - begin
    print(f"{options.end - options.first} graphs over {len(pool)} operators: {wrong} differ; {seconds:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
