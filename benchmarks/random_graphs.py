"""Random graphs over all operators, run by the engine and node by node: `python benchmarks/random_graphs.py 0 20000`.

With `--lowered` the graphs are lowered from the first run on. With `--checked` each lowered layer is compared with its
kernel as well.
Prints each seed whose graph differs, with what differs and its layers, and at the end how many there were. A sample of
the same graphs is run by tests/engine/test_random_graphs.py.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))

from support.graphs import RandomGraph, candidates, difference
from support.lowering import small_ones_too

from irexec.engine import memory
from irexec.lowering.backend import Backend, Mode
from irexec.lowering.checked import CheckedBackend


def main() -> int:
    options = {"--lowered", "--checked"}.intersection(sys.argv)
    first, end = (int(text) for text in ([text for text in sys.argv[1:] if text not in options] or ["0", "2000"]))
    memory._MIN_BYTES = 1  # small results share buffers, too
    more: dict[str, Any] = {}
    if options:
        small_ones_too(setattr)
        more = {"runs": 5, "tolerance": 1e-4}
    pool, wrong, begin = candidates(), 0, time.perf_counter()
    for seed in range(first, end):
        graph = RandomGraph(pool, seed, dynamic=seed % 3 == 0)
        try:
            backend = CheckedBackend() if "--checked" in options else Backend(Mode.AT_ONCE) if options else None
            found = difference(graph.model, graph.inputs, backend=backend, **more)
        except Exception as error:
            found = f"{type(error).__name__}: {error}"
        if found is not None:
            wrong += 1
            print(f"{seed}: {found}; layers: {', '.join(node.type for node in graph.model.nodes)}")
    print(f"{end - first} graphs over {len(pool)} operators: {wrong} differ; {time.perf_counter() - begin:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
