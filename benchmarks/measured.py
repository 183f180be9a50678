"""The process that models.py measures: one runtime and one model, until the first result and for some more inferences.

    python benchmarks/measured.py SIDE FOLDER INPUTS RUNS THREADS

Only the measured runtime is imported, and INPUTS contains plain `.npy` files, so that the time to the first result is
the runtime's own: Python's start, imports, reading, compiling and one inference.
"""

from __future__ import annotations

import sys
import time

TYPE_CHECKING = False  # as in `typing`, whose import would be measured
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Infer = Callable[[], Any]

# The number of inferences after the first that are not measured: irexec compiles code during them.
SETTLING = 5


def arrays(inputs: str, names: list[str]) -> list[Any]:
    """Return the inputs of a model, in its order: `in0.npy` and so on, or `NAME.npy`. Raises FileNotFoundError."""
    import numpy as np

    def array(number: int, name: str) -> Any:
        try:
            return np.load(f"{inputs}/in{number}.npy")
        except FileNotFoundError:
            return np.load(f"{inputs}/{name}.npy")

    return [array(number, name) for number, name in enumerate(names)]


def from_the_start(request: Any, given: list[Any]) -> Any:
    """Run one inference from the initial state, so that each inference does the same work."""
    request.reset_state()
    return request.infer(given)


def with_irexec(folder: str, inputs: str, threads: int) -> Infer:
    import irexec

    return request_of(irexec.compile_model(f"{folder}/model.xml"), inputs)


def with_openvino(folder: str, inputs: str, threads: int) -> Infer:
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    return request_of(openvino.Core().compile_model(f"{folder}/model.xml", "CPU", settings), inputs)


def request_of(compiled: Any, inputs: str) -> Infer:
    """Return a function that runs one request of a compiled model of either runtime on its inputs."""
    given = arrays(inputs, [port.any_name if port.names else "" for port in compiled.inputs])
    request = compiled.create_infer_request()
    return lambda: from_the_start(request, given)


def with_onnx(folder: str, inputs: str, threads: int) -> Infer:
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(f"{folder}/model.onnx")
    names = [port.name for port in model.graph.input]
    evaluator = ReferenceEvaluator(model)
    given = dict(zip(names, arrays(inputs, names), strict=True))
    return lambda: evaluator.run(None, given)


SIDES = {"irexec": with_irexec, "openvino": with_openvino, "onnx.reference": with_onnx}


def main(side: str, folder: str, inputs: str, runs: int, threads: int) -> None:
    """Print a line at the first result, then the median of the following inferences."""
    infer = SIDES[side](folder, inputs, threads)
    infer()
    print("first", flush=True)
    times = []
    # Other work on the machine affects processor time less.
    clock = time.process_time if threads == 1 else time.perf_counter
    for _ in range(SETTLING + runs if runs else 0):
        begin = clock()
        infer()
        times.append(clock() - begin)

    import json
    import statistics

    print(json.dumps({"steady": statistics.median(times[SETTLING:])} if times else {}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], *map(int, sys.argv[4:]))
