"""Language models with compressed weights: `python benchmarks/llm.py [--size 60|278] [--formats f16 int8 int4]`.

Builds a decoder with random weights in each format, as NNCF writes them (f16; u8 with a scale and a zero point for each
row; u4 in groups of 128 with zero points, first and last layer in int8; scales in f16, converted to f32), and runs it
in a new process for each side: time to the first result (the minimum over rounds), one call for 1, 16 and 128 tokens
(processor time of one thread, the minimum of many calls; `--threads` above 1: median by the clock), and the largest
resident memory. Ratios are those to the first of `--sides`; below 1, the other needs less. OpenVINO computes in f32
and does not quantize activations; with `--sides quantized fast` it quantizes them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TYPE_CHECKING = False  # as in `typing`, whose import would be measured
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NamedTuple

    class Size(NamedTuple):
        hidden: int
        layers: int
        inner: int
        words: int


# By millions of parameters: hidden size, layers, inner size, vocabulary.
SIZES = {60: (512, 10, 1536, 24576), 278: (1024, 16, 2816, 33792)}
HEAD = 64
FORMATS = ("f16", "int8", "int4", "int4sym", "bf16")
TOKENS = (1, 16, 128)
# The environment of each side. "quantized": OpenVINO that quantizes activations dynamically, as it does by default.
SIDES = {"openvino": {}, "quantized": {}, "fast": {}, "numpy": {"IREXEC_FAST": "0"}}


class Decoder:
    """Builds the model by irexec's own opset functions."""

    def __init__(self, format: str, size: tuple[int, int, int, int], group: int) -> None:
        import numpy as np

        import irexec

        self.ops, self.np, self.irexec = irexec.opset15, np, irexec
        self.format, self.group = format, group
        self.hidden, self.layers, self.inner, self.words = size
        self.random = np.random.default_rng(0)

    def model(self) -> Any:
        ops, np = self.ops, self.np
        ids = ops.parameter([-1, -1], np.int64, name="input_ids")
        table = self.weights(self.words, self.hidden, is_outer=True)
        x = ops.gather(table, ids, np.array(0, np.int64))
        for _ in range(self.layers):
            x = ops.add(x, self.attention(self.normalized(x)))
            x = ops.add(x, self.feed_forward(self.normalized(x)))
        logits = self.product(self.normalized(x), self.words, self.hidden, is_outer=True)
        return self.irexec.Model([logits], [ids], f"decoder_{self.format}")

    def product(self, x: Any, rows: int, columns: int, *, is_outer: bool = False) -> Any:
        return self.ops.matmul(x, self.weights(rows, columns, is_outer=is_outer), False, True)

    def weights(self, rows: int, columns: int, *, is_outer: bool = False) -> Any:
        """Return a matrix in the format. `is_outer`: a matrix of the first or last layer, which int4 models store in
        int8.
        """
        ops, np = self.ops, self.np
        if self.format in ("f16", "bf16"):
            values = self.random.standard_normal((rows, columns), np.float32) * 0.02
            type = self.irexec.Type.f16 if self.format == "f16" else self.irexec.Type.bf16
            return ops.convert(ops.constant(values.astype(type.dtype)), "f32")
        is_int8 = self.format == "int8" or is_outer
        is_signed = self.format == "int4sym" and not is_int8
        bits, group = (8, columns) if is_int8 else (4, self.group)
        shape = (rows, columns) if group == columns else (rows, columns // group, group)
        low = -(1 << (bits - 1)) if is_signed else 0
        type = self.irexec.Type.by_name[f"{'i' if is_signed else 'u'}{bits}"]
        codes = self.random.integers(low, low + (1 << bits), shape, np.int8 if is_signed else np.uint8)
        x = ops.convert(ops.constant(codes.astype(type.dtype)), "f16")
        if not is_signed:
            middle = 1 << (bits - 1)
            zeros = self.random.integers(middle - 2, middle + 2, (*shape[:-1], 1), np.uint8).astype(type.dtype)
            x = ops.subtract(x, ops.convert(ops.constant(zeros), "f16"))
        scales = (self.random.random((*shape[:-1], 1)) * 0.5 + 0.75) * (0.07 / (1 << bits))
        x = ops.multiply(x, ops.constant(scales.astype(np.float16)))
        if group != columns:
            x = ops.reshape(x, np.array([rows, columns], np.int64), special_zero=False)
        return ops.convert(x, "f32")

    def normalized(self, x: Any) -> Any:
        ops, np = self.ops, self.np
        last, two, small = np.array([-1], np.int64), np.float32(2), np.float32(1e-5)
        square = ops.reduce_mean(ops.power(x, ops.constant(two)), ops.constant(last), keep_dims=True)
        root = ops.sqrt(ops.add(square, ops.constant(small)))
        return ops.multiply(ops.divide(x, root), ops.constant(np.ones(self.hidden, np.float32)))

    def attention(self, x: Any) -> Any:
        ops, np = self.ops, self.np
        order = np.array([0, 2, 1, 3], np.int64)
        heads = np.array([0, 0, self.hidden // HEAD, HEAD], np.int64)
        parts = [
            ops.transpose(ops.reshape(self.product(x, self.hidden, self.hidden), heads, special_zero=True), order)
            for _ in range(3)
        ]
        mixed = ops.transpose(ops.scaled_dot_product_attention(*parts, causal=True), order)
        joined = ops.reshape(mixed, np.array([0, 0, self.hidden], np.int64), special_zero=True)
        return self.product(joined, self.hidden, self.hidden)

    def feed_forward(self, x: Any) -> Any:
        gate = self.ops.swish(self.product(x, self.inner, self.hidden))
        return self.product(self.ops.multiply(gate, self.product(x, self.inner, self.hidden)), self.hidden, self.inner)


def measured(side: str, path: str, threads: int, calls: int) -> None:
    """Print, in this new process, the time for each number of tokens and the largest resident memory."""
    import numpy as np

    infer: Callable[[Any], Any]
    if side in ("openvino", "quantized"):
        import openvino

        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
        if side == "openvino":
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
        infer = openvino.Core().compile_model(path, "CPU", settings).create_infer_request().infer
    else:
        import irexec

        hint = {"EXECUTION_MODE_HINT": "PERFORMANCE"} if side == "fast" and calls else {}
        infer = irexec.compile_model(path, config=hint).create_infer_request().infer
    infer([np.array([[1]], np.int64)])
    print("first", flush=True)
    clock = time.process_time if threads == 1 else time.perf_counter
    times = {}
    for tokens in TOKENS if calls else ():
        ids = np.arange(tokens, dtype=np.int64)[None] % 1000
        found = []
        for _ in range(5 + max(5, calls // (1 if tokens == 1 else 4))):
            begin = clock()
            infer([ids])
            found.append(clock() - begin)
        times[tokens] = (min if threads == 1 else lambda x: sorted(x)[len(x) // 2])(found[5:]) * 1e3
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    print(json.dumps({"times": times, "peak": peak}), flush=True)


def run(side: str, path: Path, threads: int, calls: int) -> dict[str, float]:
    """Return the measurements of a new process: `first` in ms (elapsed), `1`, `16`, `128`, and `peak` in MB."""
    unset = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment = {**unset, **SIDES[side], "IREXEC_NUM_THREADS": str(threads)}
    command = [sys.executable, __file__, "--measure", side, str(path), "--threads", str(threads), "--calls", str(calls)]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        child.stdout.readline()
        first = time.perf_counter() - begin
        found = json.loads(child.stdout.readline())
    return {"first": first * 1e3, "peak": found["peak"], **found["times"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, choices=sorted(SIZES), default=60)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=["f16", "int8", "int4"])
    parser.add_argument("--sides", nargs="+", choices=sorted(SIDES), default=["openvino", "fast", "numpy"])
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3, help="of the first result")
    parser.add_argument("--folder", type=Path, help="where the models are kept")
    parser.add_argument("--measure", nargs=2, metavar=("SIDE", "MODEL"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measured(*args.measure, args.threads, args.calls)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        for format in args.formats:
            path = folder / f"{format}_{args.size}_{args.group}.xml"
            if not path.exists():
                build = [sys.executable, "-c", _BUILD, format, str(args.size), str(args.group), str(path)]
                subprocess.run(build, check=True, cwd=Path(__file__).parent)
            show(path, format, args)


_BUILD = """
import sys; sys.path.insert(0, '.')
import irexec, llm
format, size, group, path = sys.argv[1:]
irexec.save_model(llm.Decoder(format, llm.SIZES[int(size)], int(group)).model(), path)
"""


def show(path: Path, format: str, args: argparse.Namespace) -> None:
    print(f"{format}, {args.size} M parameters, {path.with_suffix('.bin').stat().st_size / 2**20:.0f} MB of weights")
    times = ("1 token", "16", "128") if args.calls else ()
    print(f"{'':10}" + "".join(f"{title:>16}" for title in ("first, ms", *times, "peak, MB")))
    reference: dict[str, float] = {}
    for side in args.sides:
        found = run(side, path, args.threads, args.calls)
        found["first"] = min(run(side, path, args.threads, 0)["first"] for _ in range(args.rounds))
        cells = []
        for key in ("first", *(map(str, TOKENS) if args.calls else ()), "peak"):
            ratio = f" ({found[key] / reference[key]:.2f})" if reference else ""
            cells.append(f"{found[key]:.1f}{ratio}".rjust(16))
        print(f"{side:10}" + "".join(cells), flush=True)
        reference = reference or found


if __name__ == "__main__":
    main()
