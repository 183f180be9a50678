"""ONNX models run by irexec, by ONNX Runtime and by ONNX's own reference implementation, side by side.

    python benchmarks/onnx_models.py --cache DIR    eight architectures of full size, exported with random weights
    python benchmarks/onnx_models.py MODEL.onnx ... other models (with random inputs; dynamic extents are 1)

Each measurement has its own process, the runtimes take turns, and medians are printed: the time until the first result
(start, imports, reading, compiling, one inference), and the time of a later inference. Both runtimes have `--threads`
threads; the reference runs once. `--cpu` measures processor time with one thread, on which other programs have less
influence.

Two bounds are printed next to the speed-up over the reference: the speed-up if each product of the model took as long
as one call of BLAS, or ran at the rate of one large call, and all other work took no time.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

Infer = Callable[[], Any]


# The process that is measured


def noise(inputs: list[tuple[str, bool, list[int]]]) -> dict[str, Any]:
    """Return arrays for inputs, given as name, whether it contains integers, and shape."""
    import numpy as np

    rng = np.random.default_rng(0)
    whole, real = (lambda shape: np.ones(shape, np.int64)), (lambda shape: rng.standard_normal(shape, np.float32))
    return {name: (whole if integers else real)(shape) for name, integers, shape in inputs}


def request_of(path: str) -> tuple[Any, list[Any]]:
    """Return a request of irexec, and inputs for it."""
    from irexec import compile_model

    compiled = compile_model(path)
    inputs = [
        (port.any_name, port.element_type.dtype.kind in "iu", [d.min if d.is_static else 1 for d in port.partial_shape])
        for port in compiled.inputs
    ]
    return compiled.create_infer_request(), list(noise(inputs).values())


def with_irexec(path: str, threads: int) -> Infer:
    request, given = request_of(path)
    return lambda: request.infer(given)


def with_onnxruntime(path: str, threads: int) -> Infer:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = [
        (v.name, "int" in v.type, [extent if isinstance(extent, int) else 1 for extent in v.shape])
        for v in session.get_inputs()
    ]
    given = noise(inputs)
    return lambda: session.run(None, given)


def with_reference(path: str, threads: int) -> Infer:
    import onnx
    from onnx.reference import ReferenceEvaluator

    model = onnx.load(path)
    evaluator = ReferenceEvaluator(model)
    stored = {tensor.name for tensor in model.graph.initializer}
    inputs = [
        (v.name, v.type.tensor_type.elem_type != 1, [max(d.dim_value, 1) for d in v.type.tensor_type.shape.dim])
        for v in model.graph.input
        if v.name not in stored
    ]
    given = noise(inputs)
    return lambda: evaluator.run(None, given)


SIDES = {"irexec": with_irexec, "ONNX Runtime": with_onnxruntime, "onnx.reference": with_reference}
BOUNDS = "bounds"


def measured(side: str, path: str, runs: int, threads: int, cpu: bool) -> None:
    """Print, in this new process, a line at the first result, and then the measurements."""
    clock = time.process_time if cpu else time.perf_counter
    if side == BOUNDS:
        print("null", flush=True)
        print(json.dumps(products_alone(path, clock)))
        return
    infer = SIDES[side](path, threads)
    infer()
    print(json.dumps(time.process_time()), flush=True)
    times = []
    for _ in range(runs):
        begin = clock()
        infer()
        times.append(clock() - begin)
    print(json.dumps(statistics.median(times) if times else None), flush=True)


def products_alone(path: str, clock: Callable[[], float]) -> tuple[float, float]:
    """Return the seconds of a model's products, each one call of BLAS, and of as many multiply-adds in one large
    product.
    """
    from where import bare, products

    request, given = request_of(path)
    request.infer(given)
    (runner,) = request._runners.values()
    taken = functools.cache(lambda shape: bare(shape, clock))
    each = [(calls, *taken(shape)) for step in runner.plan.steps for calls, shape in products(step)]
    many, seconds = taken((1, 2048, 2048, 2048))
    return sum(calls * time for calls, _, time in each), sum(calls * n for calls, n, _ in each) * seconds / many


# The process that measures

WIDTHS = {
    "first": 8, "ORT's": 8, "ratio": 7, "later": 9, "ORT's ": 8, "ratio ": 7,
    "reference": 11, "in it": 8, "products": 10, "peak": 8,
}  # fmt: skip
MEANINGS = {
    "first": "irexec's time to the first result as a part of ONNX Runtime's",
    "later": "irexec's time of a later inference as a part of ONNX Runtime's",
    "reference": "how often irexec's inference fits into onnx.reference's",
    "products": "how often one call of BLAS for each product does",
    "peak": "how often as many multiply-adds do at the rate of one large product",
}


def measure(side: str, path: Path, runs: int, threads: int, cpu: bool) -> tuple[float, Any]:
    """Return the seconds until the first result, and of one later inference. Raises RuntimeError with the side's last
    output.
    """
    environment = os.environ | dict.fromkeys(("IREXEC_NUM_THREADS", "OMP_NUM_THREADS"), str(threads))
    for chosen_for_tests in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        environment.pop(chosen_for_tests, None)
    command = [sys.executable, __file__, str(path), "--measured", side, "--runs", str(runs), "--threads", str(threads)]
    begin = time.perf_counter()
    pipe = subprocess.PIPE
    process = subprocess.Popen([*command, *["--cpu"] * cpu], stdout=pipe, stderr=pipe, text=True, env=environment)
    assert process.stdout is not None
    first_line = process.stdout.readline()
    first = time.perf_counter() - begin
    rest, errors = process.communicate()
    if process.returncode:
        raise RuntimeError((errors.strip().splitlines() or ["no word"])[-1])
    return (json.loads(first_line) if cpu else first), json.loads(rest)


def row(name: str, cells: Iterable[str]) -> str:
    return f"{name:13}" + "".join(f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS.values(), strict=False))


def compare(path: Path, rounds: int, runs: int, threads: int, cpu: bool) -> dict[str, float]:
    """Print the line of a model; return its ratios by column title."""
    taken: dict[str, list[tuple[float, Any]]] = {"irexec": [], "ONNX Runtime": []}
    for _ in range(rounds):
        for side, found in taken.items():
            found.append(measure(side, path, runs, threads, cpu))
    (own_first, own), (their_first, theirs) = (
        [statistics.median(values) for values in zip(*found, strict=True)] for found in taken.values()
    )
    ratios = {"first": own_first / their_first, "later": own / theirs}
    cells = [f"{1e3 * own_first:.0f}", f"{1e3 * their_first:.0f}", f"{ratios['first']:.2f}"]
    cells += [f"{1e3 * own:.1f}", f"{1e3 * theirs:.1f}", f"{ratios['later']:.2f}"]
    _, (bare, least) = measure(BOUNDS, path, 0, threads, cpu)
    try:
        _, reference = measure("onnx.reference", path, 1, threads, cpu)
    except RuntimeError as error:
        cells.append(f"  fails: {str(error)[:60]}")
    else:
        gained = {"reference": reference / own, "products": reference / bare, "peak": reference / least}
        cells += [f"{1e3 * reference:.0f}", *(f"{ratio:.1f}" for ratio in gained.values())]
        ratios |= gained
    print(row(path.stem, cells), flush=True)
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--cache", type=Path, help="a folder where the exported models stay")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side (3)")
    parser.add_argument("--runs", type=int, default=15, help="inferences in each process after the first (15)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cpu", action="store_true", help="processor time with one thread")
    parser.add_argument("--measured", choices=[*SIDES, BOUNDS], help=argparse.SUPPRESS)
    options = parser.parse_args()
    threads = 1 if options.cpu else options.threads
    if options.measured:
        measured(options.measured, str(options.models[0]), options.runs, threads, options.cpu)
        return
    with tempfile.TemporaryDirectory() as folder:
        models = options.models
        if not models:
            from full_size import exported

            models = exported(options.cache or Path(folder))
        print(row("milliseconds", (title.strip() for title in WIDTHS)))
        found = [compare(path, options.rounds, options.runs, threads, options.cpu) for path in models]
    for title in dict.fromkeys(title for ratios in found for title in ratios):
        mean = statistics.geometric_mean([ratios[title] for ratios in found if title in ratios])
        print(f"{title:10} {mean:6.2f}  geometric mean: {MEANINGS[title]}")


if __name__ == "__main__":
    main()
