"""Whole models compared with OpenVINO's CPU plugin (f32, the same number of threads), and with onnx.reference.

    python benchmarks/models.py [FOLDER ...] [--rounds 5] [--runs 20] [--threads N]

A FOLDER contains `model.xml` with its inputs (`io.npz`, or `NAME.npy` for each input), or such folders; the default is
the samples. onnx.reference runs `model.onnx` in the same folder. Each measurement has its own process, the runtimes
take turns, and medians are printed: the time until the first result (start, imports, reading, compiling, one
inference), the time of a later inference (with `--threads 1` in processor time), and the largest resident memory. A
ratio below 1 means that irexec needs less.
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
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[1] / "samples"
MEASURES = {"first": ("first result", "ms", 1e3), "steady": ("inference", "ms", 1e3), "memory": ("memory", "MiB", 1)}
SIDES = ("irexec", "openvino", "onnx.reference")
MEASURED = Path(__file__).with_name("measured.py")


def arrays(folder: Path, names: list[str]) -> list[Any]:
    """Return the inputs of a model, in its order. Raises SystemExit if they are not next to the model."""
    import numpy as np

    if (folder / "io.npz").exists():
        stored = np.load(folder / "io.npz")
        return [stored[f"in{number}"] for number in range(len(names))]
    missing = [name for name in names if not (folder / f"{name}.npy").exists()]
    if missing:
        raise SystemExit(f"{folder} holds no io.npz and no {missing[0]}.npy")
    return [np.load(folder / f"{name}.npy") for name in names]


@contextmanager
def inputs_of(folder: Path) -> Iterator[Path]:
    """Yield a folder with the inputs of a model as plain files: its own, or one with the contents of its `io.npz`."""
    if not (folder / "io.npz").exists():
        yield folder
        return
    with tempfile.TemporaryDirectory() as place, zipfile.ZipFile(folder / "io.npz") as packed:
        packed.extractall(place)
        yield Path(place)


# The measuring process imports no large modules: its own memory would count as that of its child processes.


def measure(side: str, folder: Path, inputs: Path, runs: int, threads: int) -> dict[str, float]:
    """Return the measurements of one new process. Raises RuntimeError with the last line of its errors if it fails."""
    environment = os.environ | {"IREXEC_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    for chosen_for_tests in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE", "PYTHONDONTWRITEBYTECODE"):
        environment.pop(chosen_for_tests, None)
    command = [sys.executable, MEASURED, side, folder, inputs, str(runs), str(threads)]
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert process.stdout is not None and process.stderr is not None
    first_line = process.stdout.readline()
    first = time.perf_counter() - begin
    rest, errors = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode or first_line.strip() != "first":
        raise RuntimeError((errors.strip().splitlines() or ["no word"])[-1])
    return {"first": first, **json.loads(rest), "memory": usage.ru_maxrss / 1024}


def compare(folder: Path, rounds: int, runs: int, threads: int) -> dict[str, float]:
    """Measure all sides of one model in turn and print its lines; return irexec's ratios to OpenVINO, by measure."""
    sides = [side for side in SIDES if side != "onnx.reference" or (folder / "model.onnx").exists()]
    results: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    with inputs_of(folder) as inputs:
        for side in sides * rounds:
            if side not in results:
                continue
            try:
                results[side].append(measure(side, folder, inputs, runs, threads))
            except RuntimeError as error:
                print(f"{folder.name:18} {side} failed: {error}")
                del results[side]
    weights = (folder / "model.bin").stat().st_size / 2**20 if (folder / "model.bin").exists() else 0.0
    medians = {
        side: {name: statistics.median(taken[name] for taken in found) for name in MEASURES if name in found[0]}
        for side, found in results.items()
    }
    for side, median in medians.items():
        line = f"{folder.name:18} {side:15}"
        for name, (_, unit, scale) in MEASURES.items():
            if name not in median:
                continue
            line += f" {median[name] * scale:10.1f} {unit}"
            against = medians.get("irexec")
            ratio = f"{against[name] / median[name]:6.2f}x" if against and side != "irexec" else ""
            line += f" {ratio:7}"
        print(f"{line}  {f'weights {weights:.0f} MiB' if side == 'irexec' else ''}".rstrip(), flush=True)
    if not {"irexec", "openvino"} <= medians.keys():
        return {}
    return {name: taken / medians["openvino"][name] for name, taken in medians["irexec"].items()}


def models(folder: Path) -> list[Path]:
    """Return the folder, or the folders in it that contain a model with its inputs."""
    if (folder / "model.xml").exists():
        return [folder]
    found = sorted(path.parent for path in folder.glob("*/model.xml"))
    return [model for model in found if (model / "io.npz").exists() or any(model.glob("*.npy"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="models (default: the samples)")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each side (5)")
    parser.add_argument("--runs", type=int, default=20, help="inferences in each process after the first (20; 0: none)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="threads of both sides")
    options = parser.parse_args()
    print(f"medians of {options.rounds} processes with {options.threads} threads; ratio: irexec's to the other's")
    titles = [title for name, (title, *_) in MEASURES.items() if options.runs or name != "steady"]
    print(f"{'model':18} {'':15}" + "".join(f" {title:>14} {'ratio':7}" for title in titles))
    folders = [model for given in options.folders or [SAMPLES] for model in models(given)]
    ratios = [compare(folder, options.rounds, options.runs, options.threads) for folder in folders]
    for name, (title, *_) in MEASURES.items():
        if of_models := [found[name] for found in ratios if name in found]:
            print(f"{title}: geometric mean of {len(of_models)} {statistics.geometric_mean(of_models):.2f}x OpenVINO's")


if __name__ == "__main__":
    main()
