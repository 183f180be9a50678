"""The memory of a comparison: `python benchmarks/compare_memory.py MODEL.xml [--with OTHER] [OPTIONS of compare]`.

Runs `irexec compare` and prints the largest resident memory of its process and of the other runtime's process, next to
the size of the weights, and the memory of its process minus that for the smallest model.
tests/tools/compare/test_memory.py asserts the latter.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import irexec
from irexec import opset15 as ops


def peaks(arguments: list[str]) -> tuple[float, float]:
    """Return the largest resident memory of a command and of its child processes, in MB. Raises CalledProcessError if
    the command fails.
    """
    command = [sys.executable, "-m", "irexec", "compare", *arguments]
    with tempfile.TemporaryFile() as said, subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT) as running:
        found = {"own": 0.0, "others": 0.0}

        def watch() -> None:
            while running.poll() is None:
                found["own"] = max(found["own"], _peak(running.pid))
                found["others"] = max([found["others"], *map(_peak, _children(running.pid))])
                time.sleep(0.02)

        watcher = threading.Thread(target=watch)
        watcher.start()
        code = running.wait()
        watcher.join()
        if code == 2:
            said.seek(0)
            raise subprocess.CalledProcessError(code, command, said.read())
    return found["own"], found["others"]


def _peak(pid: int) -> float:
    """Return the largest resident memory of a process so far, in MB; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), 0.0)


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def smallest(folder: Path) -> Path:
    """Return the path of a model of negligible size."""
    x = ops.parameter([1, 4], "f32", name="x")
    irexec.save_model(irexec.Model([ops.relu(x)], [x], "small"), folder / "small.xml")
    return folder / "small.xml"


def ratio(model: Path, other: str, options: list[str]) -> tuple[float, float, float, float]:
    """Return the size of the weights, irexec's peak memory, its peak for the smallest model, and that of the other
    process, all in MB.
    """
    with tempfile.TemporaryDirectory() as folder:
        least, _ = peaks([str(smallest(Path(folder))), "--with", other])
    own, others = peaks([str(model), "--with", other, *options])
    return model.with_suffix(".bin").stat().st_size / 2**20, own, least, others


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("--with", dest="other", default="openvino")
    args, options = parser.parse_known_args()
    size, own, least, others = ratio(args.model, args.other, options)
    print(f"weights {size:.0f} MB; irexec at most {own:.0f} MB, {own / size:.2f} times that")
    print(f"without the {least:.0f} MB of any comparison {own - least:.0f} MB, {(own - least) / size:.2f} times")
    print(f"the other process at most {others:.0f} MB, {others / size:.2f} times")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
