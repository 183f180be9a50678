"""Verdicts on faults of families that no rule was made for: `python benchmarks/unseen_faults.py [FAMILY ...]`.

Integer results, ties, quantization, scales that are not undone, two faults that partly cancel, and faults in loops and
states. Each family is one small network with random sizes and weights, built once right and once with each fault, about
200 pairs in all. Prints the wrong verdicts (`--verbose`: all) and a table for each family.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from proofs import unproved  # noqa: F401  (for the test of this bench)
from verdicts import effect, judged, through

import irexec
from irexec import Model
from irexec import opset15 as ops
from irexec.core.diagnostics import IRError
from irexec.tools.compare.runtimes.runtime import CannotRun, OtherModel, Runtime
from irexec.tools.run.record import Reference

F, L = np.float32, np.int64
Rng = np.random.Generator
Steps = list[list[np.ndarray]]


class Family(NamedTuple):
    """`build` makes the network, with a fault if its name is given, and the inputs of its steps. `faults`: for each
    fault, the layers that a verdict may name, separated by spaces; none for a change without an effect.
    """

    build: Callable[[Rng, str], tuple[Model, Steps]]
    faults: dict[str, str]


FAMILIES: dict[str, Family] = {}


def family(**faults: str) -> Callable[[Any], Any]:
    def add(build: Any) -> Any:
        FAMILIES[build.__name__.replace("_", " ")] = Family(build, faults)
        return build

    return add


def _model(outputs: list[Any], inputs: list[Any], sinks: list[Any] | None = None) -> Model:
    return irexec.Model([ops.result(made, name=f"r{k}") for k, made in enumerate(outputs)], sinks or [], inputs)


def _weights(rng: Rng, *shape: int) -> np.ndarray:
    return rng.normal(0, 0.5, shape).astype(F)


@family(
    one_less="bound", other_axis="count", strict="many", divisor="part", narrow="wide", other_index="best", shift="sum"
)
def integers(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """Counts, indices and 64-bit sums of integers."""
    rows, columns = (int(n) for n in rng.integers(4, 9, 2))
    columns = rows
    x, ids = ops.parameter([rows, columns], "f32", name="x"), ops.parameter([rows], "i64", name="ids")
    scores = ops.matmul(x, _weights(rng, columns, columns), False, False, name="scores")
    best = ops.topk(scores, L(2), 1, "min" if fault == "other_index" else "max", "value", name="best")
    total = ops.add(ids, L(2**40 + (fault == "shift")), name="sum")
    wide = ops.multiply(total, L(3), name="wide")
    wide = ops.multiply(ops.convert(total, "i32", name="thin"), np.int32(3), name="wide") if fault == "narrow" else wide
    wide = ops.convert(wide, "i64", name="long")
    part = ops.divide(wide, L(6 if fault == "divisor" else 7), name="part")
    many = (ops.greater_equal if fault == "strict" else ops.greater)(ops.relu(x, name="positive"), F(0), name="many")
    count = ops.reduce_sum(ops.convert(many, "i64", name="one"), L(0 if fault == "other_axis" else 1), name="count")
    bound = ops.minimum(count, L(1 if fault == "one_less" else 2), name="bound")
    last = ops.add(
        ops.squeeze(ops.reduce_max(best.output(1), L(1), True, name="top"), L([1]), name="flat"), np.int32(1)
    )
    inputs = [rng.normal(0, 1, (rows, columns)).astype(F), rng.integers(-(2**33), 2**33, rows)]
    return _model([last, part, bound], [x, ids]), [inputs]


@family(order="best", rounding="rounded", equal="above", stable="sorted", low="cut", mode="rounded")
def ties(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """Values on halves and equal scores, which every layer must treat by its rule."""
    columns = int(rng.integers(5, 12))
    x = ops.parameter([3, columns], "f32", name="x")
    grid = ops.multiply(x, F(0.5), name="grid")
    mode = "half_away_from_zero" if fault in ("rounding", "mode") else "half_to_even"
    rounded = ops.round(grid, mode, name="rounded")
    above = (ops.greater if fault == "equal" else ops.greater_equal)(grid, F(1.5), name="above")
    best = ops.topk(grid, L(3), 1, "min" if fault == "order" else "max", "value", name="best")
    ranked = ops.topk(x, L(3), 1, "max", "index" if fault == "stable" else "value", name="sorted")
    cut = ops.floor(grid, name="cut") if fault == "low" else ops.ceiling(grid, name="cut")
    chosen = ops.select(above, rounded, cut, name="chosen")
    inputs = [rng.integers(-6, 7, (3, columns)).astype(F)]
    return _model([chosen, best.output(1), ranked.output(1)], [x]), [inputs]


@family(
    levels="steps",
    low="steps",
    high="steps",
    zero_point="product centred",
    scale="product scaled",
    narrow="product centred taken",
    channel="product scaled",
    again="again",
)
def quantization(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """Activations in levels of 8 bits, and weights of 8 bits with a scale and a zero point for each channel."""
    inner, out = int(rng.integers(6, 12)), int(rng.integers(4, 9))
    x = ops.parameter([5, inner], "f32", name="x")
    low, high = F(-2.0 - (fault == "low") * 0.02), F(1.984375 + (fault == "high") * 0.02)
    steps = ops.fake_quantize(x, low, high, low, high, 128 if fault == "levels" else 256, name="steps")
    held = rng.integers(-128, 128, (inner, out)).astype(np.int8)
    zero, scale = rng.integers(-8, 8, out).astype(F), rng.uniform(0.002, 0.01, out).astype(F)
    zero[0] += fault == "zero_point"
    scale = scale[::-1].copy() if fault == "channel" else scale * F(1.01 if fault == "scale" else 1)
    held = np.clip(held, -64, 63) if fault == "narrow" else held
    taken = ops.convert(ops.constant(held), "f32", name="taken")
    weights = ops.multiply(ops.subtract(taken, zero, name="centred"), scale, name="scaled")
    product = ops.matmul(steps, weights, False, False, name="product")
    most = F(4 if fault != "again" else 4.05)
    again = ops.fake_quantize(product, -most, most, -most, most, 256, name="again")
    return _model([again], [x]), [[rng.normal(0, 1, (5, inner)).astype(F)]]


@family(
    one="down", both="", larger="up", forgotten="down", late="back", normed="", bias="shift", square="root",
)  # fmt: skip
def scales(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """Values that are made smaller and larger again, with and without a normalization that removes a scale."""
    size = int(rng.integers(8, 17))
    x = ops.parameter([4, size], "f32", name="x")
    down = F({"one": 0.125, "both": 0.125, "nearly": 0.075}.get(fault, 0.25))
    weights = _weights(rng, size, size) * F({"both": 2, "nearly": 1 / 0.3}.get(fault, 1))
    down, up = F(1) if fault == "forgotten" else down, F(4.2 if fault == "larger" else 4)
    small = ops.multiply(x, down, name="down")
    mixed = ops.matmul(small, weights, False, False, name="mixed")
    shift = ops.add(mixed, F(0.11 if fault == "bias" else 0.1), name="shift")
    large = ops.multiply(shift, up, name="up")
    scaled = ops.multiply(large, F(2 if fault == "normed" else 1), name="before")
    normal = ops.mvn(scaled, L([1]), True, 1e-12, "inside_sqrt", name="norm")
    back = ops.multiply(normal, F(1.02 if fault == "late" else 1), name="back")
    root = ops.power(
        ops.add(ops.abs(large, name="size"), F(1), name="one"), F(0.52 if fault == "square" else 0.5), name="root"
    )
    return _model([back, root], [x]), [[rng.normal(0, 1, (4, size)).astype(F)]]


@family(
    gain_and_bias="gain bias", two_gains="gain after", signs="gain after", weights="first second", axes="gain bias",
    first="first", second="second",
)  # fmt: skip
def cancelling(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """Two faults, of which the second undoes a part of the first; and each fault alone."""
    size = int(rng.integers(6, 13))
    x = ops.parameter([4, size], "f32", name="x")
    one, two = _weights(rng, size, size), _weights(rng, size, size)
    if fault in ("weights", "first"):
        one = one * F(1.1)
    if fault in ("weights", "second"):
        two = two * F(0.95)
    gains = {"gain_and_bias": 1.1, "two_gains": 1.2, "signs": -1.0, "axes": 1.3}
    first = ops.matmul(x, one, False, False, name="first")
    gain = ops.multiply(first, F(gains.get(fault, 1.0)), name="gain")
    bias = ops.add(gain, F({"gain_and_bias": 0.4, "axes": 0.45}.get(fault, 0.5)), name="bias")
    after = ops.multiply(
        ops.tanh(bias, name="tanh"), F({"two_gains": 0.9, "signs": -0.9}.get(fault, 1.0)), name="after"
    )
    second = ops.matmul(after, two, False, False, name="second")
    return _model([ops.softmax(second, 1, name="end")], [x]), [[rng.normal(0, 1, (4, size)).astype(F)]]


@family(gain="gain", sum="sum", initial="loop", reverse="loop", curve="tanh", other="sum", late="after")
def loops(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """A TensorIterator whose state is decayed and added to, over the rows of the input."""
    rows, columns = int(rng.integers(4, 9)), int(rng.integers(3, 7))
    x = ops.parameter([rows, columns], "f32", name="x")
    row, state = ops.parameter([1, columns], "f32", name="row"), ops.parameter([1, columns], "f32", name="state")
    gain = ops.multiply(state, F(0.52 if fault == "gain" else 0.5), name="gain")
    product = ops.matmul(row, _weights(rng, columns, columns), False, False, name="product")
    mixed = (ops.sigmoid if fault == "curve" else ops.tanh)(product, name="tanh")
    combine = ops.subtract if fault == "other" else ops.add
    made = combine(gain, ops.multiply(mixed, F(1.01), name="more") if fault == "sum" else mixed, name="sum")
    body = irexec.Model([ops.result(made, name="made")], [], [row, state])
    loop = ops.tensor_iterator()
    loop.set_body(body)
    begin, end, stride = (rows - 1, 0, -1) if fault == "reverse" else (0, -1, 1)
    loop.set_sliced_input(row, x.output(0), begin, stride, 1, end, 0)
    start = np.full((1, columns), 0.1 if fault == "initial" else 0.0, F)
    loop.set_merged_input(state, ops.constant(start).output(0), made.output(0))
    every = loop.get_concatenated_slices(made.output(0), 0, 1, 1, -1, 0)
    last = loop.get_iter_value(made.output(0), -1)
    loop.friendly_name = "loop"
    after = ops.multiply(last, F(1.02 if fault == "late" else 1), name="after")
    return _model([ops.relu(every, name="all"), after], [x]), [[rng.normal(0, 1, (rows, columns)).astype(F)]]


@family(
    decay="decay",
    initial="state",
    unwritten="store state",
    exchanged="store state other",
    late="out",
    wrong="store state",
    count="next",
)
def states(rng: Rng, fault: str) -> tuple[Model, Steps]:
    """Two variables, a decaying mean and a count, over three steps.

    A dump contains what is read from a variable, not what is assigned to it, so either may be named.
    """
    size = int(rng.integers(3, 8))
    x = ops.parameter([1, size], "f32", name="x")
    start = ops.constant(np.full((1, size), 0.2 if fault == "initial" else 0.0, F))
    state = ops.read_value(start, "mean", "f32", [1, size], name="state")
    other = ops.read_value(ops.constant(np.zeros((1, size), L)), "count", "i64", [1, size], name="number")
    decay = ops.multiply(state, F(0.9 if fault == "decay" else 0.8), name="decay")
    mean = ops.add(decay, ops.tanh(x, name="tanh"), name="mean")
    positive = ops.convert(ops.greater(x, F(0), name="positive"), "i64", name="one")
    number = ops.add(other, positive, name="next")
    number = ops.maximum(other, positive, name="next") if fault == "count" else number
    kept = {"unwritten": state, "wrong": decay, "exchanged": ops.convert(number, "f32", name="same")}.get(fault, mean)
    sinks = [ops.assign(kept, "mean", name="store"), ops.assign(number, "count", name="other")]
    out = ops.multiply(mean, F(1.01 if fault == "late" else 1), name="out")
    return _model([out, number], [x], sinks), [[rng.normal(0, 1, (1, size)).astype(F)] for _ in range(3)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", default=[*FAMILIES], metavar="FAMILY")
    parser.add_argument("--count", type=int, default=4, help="networks of each family (default: 4)")
    parser.add_argument("--dump", action="store_true", help="compare through a dump")
    parser.add_argument("--verbose", action="store_true", help="print every verdict")
    args = parser.parse_args()
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as temporary:
        for name in args.families:
            known, here = FAMILIES[name], Counter[str]()
            for seed, (fault, layers) in ((s, f) for s in range(args.count) for f in [("", ""), *known.faults.items()]):
                model, steps = known.build(np.random.default_rng(seed), "")
                other = known.build(np.random.default_rng(seed), fault)[0]
                run = Reference(model, steps)
                there = bool(layers) and effect(run, Reference(other, steps)) is not False
                try:
                    runtime: Runtime = OtherModel("other.xml", other)
                    runtime = through(runtime, run, Path(temporary) / "dump") if args.dump else runtime
                    outcome, verdict = judged(run, runtime, frozenset(layers.split()), there)
                except (CannotRun, IRError) as error:
                    outcome, verdict = "refused", str(error)
                here[outcome] += 1
                if args.verbose or outcome not in ("exact", "no effect"):
                    print(f"  {name} {seed}: {fault or 'none'}: {outcome}: {verdict}", flush=True)
            total += here
            print(f"{name}: " + ", ".join(f"{count} {outcome}" for outcome, count in here.items()), flush=True)
    print(f"{total.total()} pairs: " + ", ".join(f"{count} {outcome}" for outcome, count in total.most_common()))
    return 1 if {"false agreement", "false alarm", "error", "unnamed", "unproved"} & {*total} else 0


if __name__ == "__main__":
    raise SystemExit(main())
