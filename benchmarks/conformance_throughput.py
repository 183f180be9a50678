"""Cases a minute that `irexec conformance` judges in one process: `conformance_throughput.py [SECONDS [SEED [NAME]]]`.

The time begins after the first part of a run, for which processes start and modules are imported. NAME: a
pattern of operators or graph patterns, by default all operators.
"""

from __future__ import annotations

import json
import sys
import time

from irexec.tools.conformance.block import JudgeBlock
from irexec.tools.conformance.campaign import Extent, families, rounds
from irexec.tools.conformance.results import Tally

_EXACT = {"device": "CPU", "INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}


def main() -> int:
    arguments = dict(enumerate(sys.argv))
    seconds, seed = float(arguments.get(1, "30")), int(arguments.get(2, "0"))
    names = families([arguments[3]]) if 3 in arguments else [n for n in families() if not n.startswith("graph.")]
    config = {
        "f32": _EXACT,
        "default": {"device": "CPU"},
        "one-thread": _EXACT | {"INFERENCE_NUM_THREADS": "1"},
        "requests": _EXACT | {"NUM_STREAMS": "2"},
    }
    task, total = JudgeBlock("openvino", json.dumps(config), seed=seed), Tally()
    begun = own = 0.0
    for items in rounds(names, Extent(), seed):
        part = Tally()
        for item in items:
            part.add(task(item))
        if not begun:
            begun, own = time.perf_counter(), time.process_time()
            continue
        total.add(part)
        if time.perf_counter() - begun >= seconds:
            break
    passed, count = time.perf_counter() - begun, sum(total.totals.values())
    processor = 1000 * (time.process_time() - own) / max(1, count)
    print(f"{total.runtime}: {count} cases in {passed:.1f} s, {60 * count / passed:,.0f} a minute")
    print(f"processor time of irexec: {processor:.1f} ms a case; {total.totals}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
