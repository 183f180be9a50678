"""Random graphs over all operators, run by the engine and node by node: `python benchmarks/random_graphs.py 0 20000`.

With `--compiled` whatever can be compiled code is, from the first run on, and the second run is recorded.
Prints each seed whose graph differs, with what differs and its layers, and at the end how many there were. A sample of
the same graphs is run by tests/engine/test_random_graphs.py.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

from support.graphs import RandomGraph, candidates, compiled_at_once, difference

from irexec.engine import memory


def main() -> int:
    given = [text for text in sys.argv[1:] if text != "--compiled"]
    first, end = (int(text) for text in (given or ["0", "2000"]))
    memory._MIN_BYTES = 1  # small results share buffers, too
    is_compiled = len(given) < len(sys.argv[1:])
    if is_compiled:
        compiled_at_once(setattr)
    more = {"runs": 5, "tolerance": 1e-4} if is_compiled else {}
    pool, wrong, begin = candidates(), 0, time.perf_counter()
    for seed in range(first, end):
        graph = RandomGraph(pool, seed, dynamic=seed % 3 == 0)
        try:
            found = difference(graph.model, graph.inputs, **more)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found is not None:
            wrong += 1
            print(f"{seed}: {found}; layers: {', '.join(node.type for node in graph.model.nodes)}")
    print(f"{end - first} graphs over {len(pool)} operators: {wrong} differ; {time.perf_counter() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
