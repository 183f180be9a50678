"""ONNX models run by irexec, by ONNX Runtime and by ONNX's own reference implementation, side by side.

    python benchmarks/onnx_models.py                three models that PyTorch exports with random weights
    python benchmarks/onnx_models.py MODEL.onnx ... your own (inputs are noise; extents that are open are 1)

Prints medians of one inference in milliseconds, the ratios, the time from the file to the first result, and the
largest difference from ONNX Runtime's results. Both have `--threads` threads; the reference runs once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

import irexec

Run = Callable[[], list[Any]]


def exported(folder: Path) -> list[Path]:
    """A convolutional network, a transformer and an LSTM."""
    import torch
    from torch import nn

    def block(i: int, o: int, stride: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(i, o, 3, stride, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU())

    stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    widths = [(64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)]
    layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True, activation="gelu")
    models: dict[str, tuple[nn.Module, Any]] = {
        "convolutions": (nn.Sequential(stem, *(block(*w) for w in widths), *head), torch.randn(1, 3, 224, 224)),
        "transformer": (nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.randn(1, 128, 256)),
        "lstm": (nn.LSTM(128, 256, 2, batch_first=True), torch.randn(1, 64, 128)),
    }
    paths = []
    for name, (module, example) in models.items():
        paths.append(folder / f"{name}.onnx")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(module.eval(), (example,), str(paths[-1]), dynamo=False)
    return paths


def noise(session: Any) -> dict[str, Any]:
    rng, fed = np.random.default_rng(0), {}
    for value in session.get_inputs():
        shape = [extent if isinstance(extent, int) else 1 for extent in value.shape]
        whole = "int" in value.type
        fed[value.name] = np.ones(shape, np.int64) if whole else rng.standard_normal(shape).astype(np.float32)
    return fed


def median(run: Run, rounds: int) -> float:
    """The median time of a run, in milliseconds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        run()
        times.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(times)


def first(make: Callable[[], Run]) -> tuple[Run, float]:
    """What runs a model, and the time from the file to its first result, in milliseconds."""
    begin = time.perf_counter()
    run = make()
    run()
    return run, 1e3 * (time.perf_counter() - begin)


def compare(path: Path, rounds: int, threads: int) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    fed = noise(onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]))

    def theirs() -> Run:
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        return lambda: list(session.run(None, fed))

    def ours() -> Run:
        compiled = irexec.compile_model(path)
        return lambda: list(compiled(fed).to_tuple())

    (run, own_first), (other, other_first) = first(ours), first(theirs)
    away = max(float(np.abs(a - b).max()) for a, b in zip(run(), other(), strict=True))
    # In turns: what else the machine does falls on both.
    pairs = [(median(run, 1), median(other, 1)) for _ in range(rounds)]
    own, runtime = (statistics.median(times) for times in zip(*pairs, strict=True))
    reference = reference_time(path, fed)
    print(
        f"{path.stem:14} irexec {own:8.1f}  ONNX Runtime {runtime:8.1f} ({own / runtime:.2f})  "
        f"reference {reference:9.1f} ({reference / own:.0f} times irexec's)  "
        f"first {own_first:.0f} and {other_first:.0f}  apart {away:.1e}"
    )


def reference_time(path: Path, fed: dict[str, Any]) -> float:
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(str(path))
    return median(lambda: list(evaluator.run(None, fed)), 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    os.environ.setdefault("IREXEC_NUM_THREADS", str(arguments.threads))
    with tempfile.TemporaryDirectory() as folder:
        for path in arguments.models or exported(Path(folder)):
            compare(path, arguments.rounds, arguments.threads)


if __name__ == "__main__":
    main()
