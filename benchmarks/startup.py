"""Time to start irexec, compared with importing only the packages that it requires: new processes that take turns.

    python benchmarks/startup.py [--runs N]

Prints processor time as well as elapsed time, because only processor time is comparable on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BARE = "numpy + lxml"
CLASSIFIER = Path(__file__).parents[1] / "samples" / "classifier" / "model.xml"
MODEL = """<?xml version="1.0"?>
<net name="small" version="11">
    <layers>
        <layer id="0" name="x" type="Parameter" version="opset1">
            <data shape="2,3" element_type="f32"/>
            <output><port id="0" precision="FP32" names="x"><dim>2</dim><dim>3</dim></port></output>
        </layer>
        <layer id="1" name="relu" type="ReLU" version="opset1">
            <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
            <output><port id="1" precision="FP32" names="y"><dim>2</dim><dim>3</dim></port></output>
        </layer>
        <layer id="2" name="y" type="Result" version="opset1">
            <input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></input>
        </layer>
    </layers>
    <edges>
        <edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
        <edge from-layer="1" from-port="1" to-layer="2" to-port="0"/>
    </edges>
</net>
"""


def commands(model: Path) -> dict[str, list[str]]:
    """Return the commands to start, by the name under which they are printed."""
    return {
        BARE: [sys.executable, "-c", "import numpy, lxml.etree"],
        "import irexec": [sys.executable, "-c", "import irexec"],
        "irexec validate small.xml": [sys.executable, "-m", "irexec", "validate", str(model)],
        "irexec validate, with constants": [sys.executable, "-m", "irexec", "validate", str(CLASSIFIER)],
    }


def seconds(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the elapsed time and the processor time of one new process. Raises CalledProcessError if it fails."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return end - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=21, help="processes of each kind (default: 21)")
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "small.xml")
        model.write_text(MODEL)
        # As after an installation: bytecode is written once, to a folder of this benchmark.
        environment = os.environ | {"PYTHONPYCACHEPREFIX": folder}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        started = commands(model)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in started}
        for run in range(runs + 1):
            for name, command in started.items():
                taken = seconds(command, environment)
                if run:  # The first round fills the caches.
                    times[name].append(taken)
    median = {name: [statistics.median(column) for column in zip(*taken, strict=True)] for name, taken in times.items()}
    print(f"{'median of ' + str(runs) + ' processes':32} {'clock ms':>10} {'ratio':>6} {'cpu ms':>10} {'ratio':>6}")
    for name, (clock, cpu) in median.items():
        bare_clock, bare_cpu = median[BARE]
        print(f"{name:32} {clock * 1e3:10.1f} {clock / bare_clock:6.2f} {cpu * 1e3:10.1f} {cpu / bare_cpu:6.2f}")


if __name__ == "__main__":
    main()
