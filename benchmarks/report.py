"""Drawing and reports: time of the layout, time and size of `irexec report`, their growth, and the browser's time.

    python benchmarks/report.py [--layers 50,500,5000,20000] [--rounds 3] [--browser] [MODEL ...]

There are three kinds of graph: `blocks` repeats a residual block, with names as frameworks write them; in `woven`, each
layer reads any of the last twelve, and names have no path; `network` consists of boxes and wires only, laid out in one
piece (models are never drawn this way). Prints the least processor time of the rounds. The size is that of a report
after a run and a comparison, with a histogram of every output. `--browser` opens each report in a headless Chromium,
and measures the time until the page is ready, until all blocks are open, and until the whole graph is visible.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import irexec
from irexec import opset15
from irexec.frontends.reading import read
from irexec.tools.inspect.facts import Summary
from irexec.tools.inspect.observed import Comparison, Observed, Trace
from irexec.tools.inspect.read import summary_of
from irexec.tools.inspect.summary import summarize
from irexec.tools.inspect.together import together
from irexec.tools.render.drawing.layered import layered
from irexec.tools.render.drawing.svg import Drawing
from irexec.tools.render.report.page import report_page

LIMIT_MB, AT = 3.0, 5000
"""The limit for the size of a report in MB, and the number of layers to which it applies."""
_BLOCK = 10


def blocks(layers: int) -> irexec.Model:
    """Return a model of blocks of seven layers and three constants."""
    x = opset15.parameter([1, 8], np.float32, name="x")
    value = x
    for number in range(max(1, layers // _BLOCK)):
        own = f"model/decoder/layers.{number}/mlp/"
        a = opset15.matmul(value, np.ones((8, 8), np.float32), name=own + "in")
        b = opset15.relu(opset15.add(a, np.ones(8, np.float32), name=own + "bias"), name=own + "relu")
        c = opset15.tanh(opset15.matmul(b, np.ones((8, 8), np.float32), name=own + "out"), name=own + "tanh")
        value = opset15.add(value, opset15.softmax(c, axis=1, name=own + "max"), name=own + "sum")
    return irexec.Model([value], [x], "blocks")


def woven(layers: int) -> irexec.Model:
    """Return a model of layers that read one or two of the preceding dozen layers, without a repeating pattern."""
    rng = random.Random(layers)
    x = opset15.parameter([1, 8], np.float32, name="x")
    values = [x]
    unread = {0}
    for number in range(layers - 2):
        reads = {len(values) - 1} if rng.random() < 0.7 else {rng.randrange(max(0, len(values) - 12), len(values))}
        if rng.random() < 0.4:
            reads.add(rng.randrange(max(0, len(values) - 12), len(values)))
        read = [values[n] for n in sorted(reads)]
        make = [opset15.add, opset15.multiply] if len(read) == 2 else [opset15.relu, opset15.tanh, opset15.sigmoid]
        unread = (unread - reads) | {len(values)}
        values.append(rng.choice(make)(*read, name=f"n{number}"))
    return irexec.Model([values[n] for n in sorted(unread)], [x], "woven")


def network(count: int) -> tuple[list[tuple[float, float]], list[tuple[int, list[int]]]]:
    """Return boxes, and wires from each box to up to three of the dozen boxes after it."""
    rng = random.Random(count)
    wires = []
    for box in range(count - 1):
        targets = {box + 1} if rng.random() < 0.7 else set()
        targets |= {rng.randrange(box + 1, min(count, box + 12)) for _ in range(rng.randrange(3))}
        wires.append((box, sorted(targets)))
    return [(rng.choice([80.0, 120.0, 200.0]), 40.0) for _ in range(count)], wires


def observed(found: Summary) -> list[Observed]:
    """Return a run and a comparison of every layer, with numbers that do not compress well."""
    rng = random.Random(1)
    rows, errors = [], []
    for layer in found.layers:
        counts = [rng.randrange(4000) for _ in range(32)]
        histogram = {"edges": [n / 32 for n in range(33)], "counts": counts}
        numbers = {"min": rng.random(), "max": 1 + rng.random(), "histogram": histogram}
        output = {"element_type": "f32", "shape": [1, 8], **numbers}
        rows.append({"name": layer.name, "type": "", "seconds": rng.random() * 1e-3, "outputs": [output]})
        errors.append({"name": layer.name, "type": "", "agrees": rng.random() < 0.7, "own": {"ulp": rng.random()}})
    data = ({"kind": "model", "trace": rows}, {"kind": "compare", "layers": errors})
    return [Trace.model_validate(data[0]), Comparison.model_validate(data[1])]


def best(rounds: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def measured(found: Summary, rounds: int) -> tuple[list[float], str]:
    """Return the seconds of the drawing and of the page, its size in MB without and with recorded data, and
    the page.
    """
    shown, seen = together([found]), observed(found)
    page = report_page([found], seen)
    drawing = best(rounds, lambda: Drawing(shown, insides=True))
    plain = best(rounds, lambda: report_page([found]))
    return [drawing, plain, len(report_page([found]).encode()) / 1e6, len(page.encode()) / 1e6], page


def in_browser(page: str) -> list[float]:
    """Return the seconds until the page is ready, until all blocks are open, and until the whole graph is visible."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "lib"))
    from support.browser import PROGRAM, Browser

    if PROGRAM is None:
        raise SystemExit("--browser: no Chromium is installed")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "report.html").write_text(page, "utf-8")
        browser = Browser(PROGRAM, Path(folder) / "profile")
        try:
            start = time.perf_counter()
            browser.open(Path(folder) / "report.html")
            times = [time.perf_counter() - start]
            for work in ("openAll(true)", "fit()"):
                start = time.perf_counter()
                browser.run(f"{work}, graph.getBoundingClientRect().width")
                times.append(time.perf_counter() - start)
            return times
        finally:
            browser.close()


def growth(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the exponent of the growth from the second size to the last."""
    return math.log(times[-1] / times[1]) / math.log(sizes[-1] / sizes[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="models of your own")
    parser.add_argument("--layers", default="50,500,5000,20000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--browser", action="store_true")
    args = parser.parse_args()
    sizes = [int(size) for size in args.layers.split(",")]
    browser = ["ready s", "open s", "fit s"] if args.browser else []
    print("  ".join([f"{'graph':14}", f"{'layers':>8}", *(f"{h:>9}" for h in HEADS + browser)]))
    large = 0
    for name, make in (("blocks", blocks), ("woven", woven)):
        table = []
        for size in sizes:
            found = summarize(make(size))
            figures, page = measured(found, args.rounds)
            large += len(found.layers) <= AT * 1.02 and figures[3] >= LIMIT_MB
            table.append((len(found.layers), figures[0], figures[1]))
            tell(name, len(found.layers), figures + (in_browser(page) if args.browser else []))
        if len(sizes) > 2:
            counts, drawn, pages = zip(*table, strict=True)
            print(f"{name:14}  growth: drawing {growth(counts, drawn):.2f}, page {growth(counts, pages):.2f}")
    for size in (506, 5060, 50600):
        sized = network(size)
        tell("network", size, [best(args.rounds, lambda sized=sized: layered(*sized))])
    for path in args.models:
        found, _ = summary_of(read(Path(path), mode="strict"))
        if found is not None:
            figures, page = measured(found, args.rounds)
            tell(found.name[:14], len(found.layers), figures + (in_browser(page) if args.browser else []))
    if large:
        print(f"a report of {AT} layers has {LIMIT_MB} MB or more")
    return int(bool(large))


HEADS = ["drawing s", "page s", "MB", "with data"]


def tell(name: str, layers: int, figures: Sequence[float]) -> None:
    print("  ".join([f"{name:14}", f"{layers:8}", *(f"{figure:9.3f}" for figure in figures)]), flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
