"""Samples per second with one request per core, compared with OpenVINO's CPU plugin with its THROUGHPUT hint (f32).

    python benchmarks/throughput.py [FOLDER ...] [--rounds 5] [--seconds 3]

A FOLDER contains `model.xml` with its inputs, or such folders, as for `models.py`. irexec runs once in threads (one
compiled model, one request for each core) and once in processes (one for each core, with one thread). The runtimes take
turns. Prints medians, and the ratios of the times per sample: below 1, irexec is faster. If other programs use the
processor, rely on the processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from models import SAMPLES, arrays, models

CORES = len(os.sched_getaffinity(0))
WARM = 6
Result = dict[str, float]
SIDES = ("openvino", "irexec in threads", "irexec in processes")


def started() -> tuple[float, float]:
    """Report that the warm-up is complete, and wait for the signal to begin; return the elapsed and processor time
    then.
    """
    print("ready", flush=True)
    sys.stdin.readline()
    return time.perf_counter(), time.process_time()


def result(done: int, begun: tuple[float, float]) -> Result:
    clock, processor = begun
    return {
        "per second": done / (time.perf_counter() - clock),
        "processor": (time.process_time() - processor) / max(done, 1),
    }


def in_irexec(folder: Path, seconds: float, threads: int) -> Result:
    """Return the number of samples that this number of threads infer, each with its own request."""
    import irexec

    compiled = irexec.compile_model(folder / "model.xml")
    given = arrays(folder, [port.any_name if port.names else "" for port in compiled.inputs])
    requests = [compiled.create_infer_request() for _ in range(threads)]
    done = [0] * threads

    def work(number: int, goes_on: Callable[[], bool]) -> None:
        while goes_on():
            requests[number].reset_state()
            requests[number].infer(given)
            done[number] += 1

    for number in range(threads):
        work(number, lambda number=number: done[number] < WARM)
    done[:] = [0] * threads
    begun = started()
    end = time.perf_counter() + seconds
    # The first request works in the main thread, as a process with one request does.
    others = [threading.Thread(target=work, args=(n, lambda: time.perf_counter() < end)) for n in range(1, threads)]
    for other in others:
        other.start()
    work(0, lambda: time.perf_counter() < end)
    for other in others:
        other.join()
    return result(sum(done), begun)


def in_openvino(folder: Path, seconds: float) -> Result:
    """Return the number of samples with as many requests as OpenVINO recommends."""
    import openvino

    settings = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_NUM_THREADS": CORES}
    compiled = openvino.Core().compile_model(folder / "model.xml", "CPU", settings)
    given = arrays(folder, [port.any_name if port.names else "" for port in compiled.inputs])
    queue = openvino.AsyncInferQueue(compiled)
    for _ in range(WARM):
        queue.start_async(given)
    queue.wait_all()
    begun = started()
    done, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        queue.start_async(given)
        done += 1
    queue.wait_all()
    return result(done, begun)


def measured(side: str, folder: Path, seconds: float) -> None:
    """Print, in this new process, the samples per second and the processor seconds per sample."""
    if side == "openvino":
        found = in_openvino(folder, seconds)
    else:
        found = in_irexec(folder, seconds, CORES if side == "irexec in threads" else 1)
    print(json.dumps(found), flush=True)


def measure(side: str, folder: Path, seconds: float) -> Result:
    """Run all processes of one side, and return their result."""
    count = CORES if side == "irexec in processes" else 1
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    if count > 1:
        environment["IREXEC_NUM_THREADS"] = "1"
    command = [sys.executable, __file__, "--measured", side, str(folder), "--seconds", str(seconds)]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(count)
    ]
    for process in processes:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{side} failed")
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    found = [json.loads(process.communicate()[0]) for process in processes]
    return {
        "per second": sum(one["per second"] for one in found),
        "processor": statistics.mean(one["processor"] for one in found),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="models (default: the samples)")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side (5)")
    parser.add_argument("--seconds", type=float, default=3.0, help="that each is measured for (3)")
    parser.add_argument("--measured", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measured:
        measured(options.measured, options.folders[0], options.seconds)
        return
    print(
        f"samples per second on {CORES} cores, medians of {options.rounds} rounds; ratio: irexec's time to OpenVINO's"
    )
    for folder in [model for given in options.folders or [SAMPLES] for model in models(given)]:
        found: dict[str, list[Result]] = {side: [] for side in SIDES}
        for _ in range(options.rounds):
            for side in SIDES:
                found[side].append(measure(side, folder, options.seconds))
        medians = {
            side: {what: statistics.median(one[what] for one in results) for what in results[0]}
            for side, results in found.items()
        }
        other = medians["openvino"]
        for side, median in medians.items():
            line = f"{folder.name:18} {side:20} {median['per second']:8.2f} /s"
            line += f" {other['per second'] / median['per second']:6.2f}x" if side != "openvino" else " " * 8
            line += f" {median['processor'] * 1e3:8.1f} ms of a core"
            line += f" {median['processor'] / other['processor']:6.2f}x" if side != "openvino" else ""
            print(line, flush=True)


if __name__ == "__main__":
    main()
