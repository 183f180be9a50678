"""ScatterNDUpdate compared with OpenVINO's CPU plugin and with the operation page's own loop.

Run it with `python benchmarks/scatter.py [--quick]`. Every line is the median over runs that take turns, so that load
of the machine affects both sides. `copy`: the result is written to the same buffer every time, as OpenVINO's
is. `inplace`: the buffer of the data may be overwritten. `fresh`: the result is a new array each time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from irexec.ops.movement.scatter_nd_update import scatter_nd_update_15 as scatter_nd_update

Array = np.ndarray
PAGE = {"none": lambda x, y: y, "sum": lambda x, y: x + y, "max": np.maximum}


def medians(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median time of each function in milliseconds, over rounds in which each runs once."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for round_number in range(rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if round_number:  # the first round warms up
                times[name].append((time.perf_counter() - start) * 1e3)
    return {name: statistics.median(taken) for name, taken in times.items()}


def openvino_run(data: Array, indices: Array, updates: Array, reduction: str) -> Callable[[], object]:
    """Return a function that runs OpenVINO's compiled layer on these tensors, with its own output buffer."""
    import openvino as ov
    from openvino import opset15

    inputs = [opset15.parameter(list(a.shape), a.dtype) for a in (data, indices, updates)]
    model = ov.Model([opset15.scatter_nd_update(*inputs, reduction)], inputs)
    request = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
    for port, array in enumerate((data, indices, updates)):
        request.set_input_tensor(port, ov.Tensor(array, shared_memory=True))
    return request.infer


def page_loop(data: Array, indices: Array, updates: Array, reduction: str) -> Array:
    """Return the result of the NumPy snippet of the operation page, with its error (`tuple(out[...])`) corrected."""
    combine = PAGE[reduction]
    out = np.copy(data)
    for entry in np.ndindex(indices.shape[:-1]):
        place = tuple(indices[entry])
        out[place] = combine(out[place], updates[entry])
    return out


def compare(title: str, data: Array, indices: Array, updates: Array, rounds: int, loop_rounds: int) -> None:
    """Print the times and ratios of one set of tensors under each reduction."""
    for reduction in ("none", "sum", "max"):
        print(f"{title:<16}{reduction:<5}{measure(data, indices, updates, reduction, rounds, loop_rounds)}")


def measure(data: Array, indices: Array, updates: Array, reduction: str, rounds: int, loop_rounds: int) -> str:
    """Return one line of times and ratios."""
    kept, own = np.empty_like(data), data.copy()
    runs = {
        "openvino": openvino_run(data, indices, updates, reduction),
        "copy": lambda: scatter_nd_update(data, indices, updates, reduction=reduction, out=kept),
        "inplace": lambda: scatter_nd_update(own, indices, updates, reduction=reduction, out=own),
        "fresh": lambda: scatter_nd_update(data, indices, updates, reduction=reduction),
    }
    times = medians(runs, rounds)
    loop = medians({"loop": lambda: page_loop(data, indices, updates, reduction)}, loop_rounds)["loop"]
    theirs = times.pop("openvino")
    ours = "   ".join(f"{name} {time:7.3f} ms {time / theirs:6.3f}x" for name, time in times.items())
    return f"openvino {theirs:7.3f} ms   {ours}   page's loop {loop / times['fresh']:6.1f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--rounds", type=int, default=101, help="runs of the smaller tensors (101)")
    options = parser.parse_args()
    rounds = 11 if options.quick else options.rounds
    loop_rounds = 1 if options.quick else 3
    rng = np.random.default_rng(0)

    print("times against OpenVINO's: below 1.0x is faster; page's loop: its time over that of `fresh`")
    data = rng.normal(size=(1000, 256, 10, 15)).astype(np.float32)
    indices = np.stack([rng.integers(0, s, (25, 125)) for s in data.shape[:3]], -1).astype(np.int32)
    updates = rng.normal(size=(25, 125, 15)).astype(np.float32)
    compare("example 5 f32", data, indices, updates, max(5, rounds // 5), loop_rounds)
    for dtype, name in ((np.float32, "f32"), (np.float16, "f16")):
        data = rng.normal(size=(1000, 1000)).astype(dtype)
        indices = rng.integers(0, 1000, (100_000, 2)).astype(np.int32)
        updates = rng.normal(size=100_000).astype(dtype)
        compare(f"1e5 random {name}", data, indices, updates, rounds, loop_rounds)


if __name__ == "__main__":
    main()
