"""The time of a model by kind of layer in milliseconds, compared with the time of the matrix products of its shapes.

    python benchmarks/where.py FOLDER [FOLDER ...] [--runs 20] [--threads 1]

A FOLDER contains `model.xml` with its inputs, as for models.py. The time of each layer is the least processor time of
all runs, by default on one thread; a layer that is computed together with the previous layer is counted with it. The
matrix products are one call of BLAS's sgemm for each convolution (with its column matrix prepared) and product.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from models import arrays, models

PRODUCTS = {"Convolution", "GroupConvolution", "MatMul", "LSTMSequence"}
# (count, rows, depth, columns): `count` products of matrices of these shapes.
Shape = tuple[int, int, int, int]


def layers(folder: Path, runs: int) -> list[tuple[Any, float]]:
    """Return each step of the plan, with its least seconds."""
    from irexec import read_model
    from irexec.runtime.engine import CompiledModel
    from irexec.runtime.engine.lowered import Program
    from irexec.runtime.lowering.backend import Backend, Mode

    backend = Backend(Mode.AT_ONCE)
    compiled = CompiledModel(read_model(folder / "model.xml"), backend)
    given = arrays(folder, [port.any_name if port.names else "" for port in compiled.inputs])
    request = compiled.create_infer_request()
    for _ in range(3):
        request.reset_state()
        request.infer(given)
    (runner,) = request._runners.values()
    least = [float("inf")] * len(runner.plan.steps)

    def timed(number: int, call: Callable[..., Any]) -> Callable[..., Any]:
        def run(*inputs: Any) -> Any:
            begin = time.process_time()
            result = call(*inputs)
            least[number] = min(least[number], time.process_time() - begin)
            return result

        return run

    # A program combines the calls of many layers; here each layer is called separately.
    calls = runner._bind(runner._buffers(), backend.replacements(runner.plan))
    calls = [(timed(number, call), *rest) for number, (call, *rest) in enumerate(calls)]
    runner._program = Program(runner.plan.template, calls, range(len(calls)))
    for _ in range(runs):
        request.reset_state()
        request.infer(given)
    followers = {step for group in backend.groups(runner.plan).values() for step in group.following}
    return [(step, least[number]) for number, step in enumerate(runner.plan.steps) if number not in followers]


def products(step: Any) -> list[tuple[int, Shape]]:
    """Return the products of a layer: the number of consecutive calls of sgemm, and the shape of each."""
    if step.node.type not in PRODUCTS or not all(type is None or type.shape.is_static for type in step.given):
        return []
    given = [() if type is None else type.shape.to_shape() for type in step.given]
    result = step.types[0].shape.to_shape()
    if step.node.type == "LSTMSequence":
        (batch, steps, inputs), (directions, gates, _), units = given[0], given[4], given[1][-1]
        return [(1, (directions, batch * steps, inputs, gates)), (steps, (directions, batch, units, gates))]
    if step.node.type == "MatMul":
        right = given[1]
        columns, count = result[-1], prod(result[:-2]) if len(right) > 2 and prod(right[:-2]) > 1 else 1
        return [(1, (count, prod(result) // columns // count, prod(right[-2:]) // columns, columns))]
    count = given[1][0] if step.node.type == "GroupConvolution" else 1
    depth = prod(given[1][-len(given[0]) + 1 :])
    return [(1, (count, result[1] // count, depth, result[0] * prod(result[2:])))]


def bare(shape: Shape, clock: Callable[[], float] = time.process_time) -> tuple[int, float]:
    """Return the multiply-adds of products, and the least seconds that NumPy and BLAS take for them."""
    count, rows, depth, columns = shape
    a, b = np.ones((count, rows, depth), np.float32), np.ones((count, depth, columns), np.float32)
    out, seconds = np.empty((count, rows, columns), np.float32), []
    for _ in range(5):
        begin = clock()
        np.matmul(a, b, out=out)
        seconds.append(clock() - begin)
    return prod(shape), min(seconds)


def tell(folder: Path, runs: int) -> None:
    from irexec.core.threads.blas import single_threaded_blas

    kinds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0, 0, 0.0])
    for step, seconds in layers(folder, runs):
        told = kinds[step.node.type]
        told[0] += seconds
        told[1] += 1
        for calls, shape in products(step):
            with single_threaded_blas():
                count, least = bare(shape)
            told[2] += calls * count
            told[3] += calls * least
    total = sum(told[0] for told in kinds.values())
    print(f"{folder.name}: {total * 1e3:.2f} ms in {sum(int(told[1]) for told in kinds.values())} layers")
    for kind, (seconds, count, adds, least) in sorted(kinds.items(), key=lambda item: -item[1][0]):
        if seconds >= total / 200:
            beside = f", bare products {least * 1e3:.2f} ms of {adds / 1e9:.2f} G multiply-adds" if adds else ""
            print(f"    {kind:26} {seconds * 1e3:8.2f} ms  {int(count):4} layers{beside}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=20, help="inferences that are measured (20)")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    os.environ["IREXEC_NUM_THREADS"] = str(options.threads)
    for folder in [model for given in options.folders for model in models(given)]:
        tell(folder, options.runs)


if __name__ == "__main__":
    main()
