"""ONNX models run by irexec, by ONNX Runtime and by ONNX's own reference implementation, side by side.

    python benchmarks/onnx_models.py --cache DIR    eight architectures of full size, exported with random weights
    python benchmarks/onnx_models.py MODEL.onnx ... your own (inputs are noise; extents that are open are 1)

Each measurement is a process of its own, the sides take turns, and medians are printed: until the first result (start,
imports, reading, compiling, one inference), and one inference later on. Both sides have `--threads` threads; the
reference runs once. `--cpu` measures processor time with one thread, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Infer = Callable[[], Any]


# The process that is measured


def noise(inputs: list[tuple[str, bool, list[int]]]) -> dict[str, Any]:
    """Arrays for inputs: name, whether it holds integers, shape."""
    import numpy as np

    rng = np.random.default_rng(0)
    whole, real = (lambda shape: np.ones(shape, np.int64)), (lambda shape: rng.standard_normal(shape, np.float32))
    return {name: (whole if integers else real)(shape) for name, integers, shape in inputs}


def with_irexec(path: str, threads: int) -> Infer:
    import irexec

    compiled = irexec.compile_model(path)
    inputs = [
        (port.any_name, port.element_type.dtype.kind in "iu", [d.min if d.is_static else 1 for d in port.partial_shape])
        for port in compiled.inputs
    ]
    given = list(noise(inputs).values())
    request = compiled.create_infer_request()
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


def measured(side: str, path: str, runs: int, threads: int, cpu: bool) -> None:
    """In a process of its own: print a line at the first result, then what followed."""
    clock = time.process_time if cpu else time.perf_counter
    infer = SIDES[side](path, threads)
    infer()
    print(json.dumps(time.process_time()), flush=True)
    times = []
    for _ in range(runs):
        begin = clock()
        infer()
        times.append(clock() - begin)
    print(json.dumps(statistics.median(times) if times else None), flush=True)


# The process that measures


def measure(side: str, path: Path, runs: int, threads: int, cpu: bool) -> tuple[float, float | None]:
    """Seconds until the first result, and of one inference later on. Raises RuntimeError with the side's last words."""
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


def compare(path: Path, rounds: int, runs: int, threads: int, cpu: bool) -> tuple[float, float, float | None]:
    """Print a model's line. Returns irexec's first and later time to ONNX Runtime's, the reference's to irexec's."""
    taken: dict[str, list[tuple[float, Any]]] = {"irexec": [], "ONNX Runtime": []}
    for _ in range(rounds):
        for side, found in taken.items():
            found.append(measure(side, path, runs, threads, cpu))
    (own_first, own), (their_first, theirs) = (
        [statistics.median(values) for values in zip(*found, strict=True)] for found in taken.values()
    )
    try:
        _, reference = measure("onnx.reference", path, 1, threads, cpu)
    except RuntimeError as error:
        reference, why = None, str(error)[:60]
    told = f"{1e3 * reference:8.0f} ({reference / own:.0f} times irexec's)" if reference else f"fails: {why}"
    print(
        f"{path.stem:14} irexec {1e3 * own:8.1f}  ONNX Runtime {1e3 * theirs:8.1f} ({own / theirs:.2f})  "
        f"first {1e3 * own_first:6.0f} and {1e3 * their_first:6.0f} ({own_first / their_first:.2f})  reference {told}",
        flush=True,
    )
    return own_first / their_first, own / theirs, reference / own if reference else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--cache", type=Path, help="a folder where the exported models stay")
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side (3)")
    parser.add_argument("--runs", type=int, default=15, help="inferences in each process after the first (15)")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cpu", action="store_true", help="processor time with one thread")
    parser.add_argument("--measured", choices=SIDES, help=argparse.SUPPRESS)
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
        ratios = [compare(path, options.rounds, options.runs, threads, options.cpu) for path in models]
    first, later, reference = ([value for value in values if value] for values in zip(*ratios, strict=True))
    print(
        f"geometric means: first {statistics.geometric_mean(first):.2f}, later {statistics.geometric_mean(later):.2f}"
    )
    if reference:
        print(f"irexec's time in the reference's: {statistics.geometric_mean(reference):.0f} times")


if __name__ == "__main__":
    main()
