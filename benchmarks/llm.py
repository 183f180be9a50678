"""Language models with a cache and compressed weights: `python benchmarks/llm.py [--size 60|278] [--formats f16 int8]`.

Builds a decoder with random weights as optimum-intel exports it: keys and values are states that grow by the tokens of
each call (ReadValue, Gather by `beam_idx`, Concat, Assign), attention is ScaledDotProductAttention with a mask, and
positions are rotations. Weights are those of NNCF (f16; u8 with a scale and a zero point for each row; u4 in groups of
128 with zero points, first and last layer in int8; scales in f16, converted to f32). Each side runs in a new process:
time to the first result (the minimum over rounds), prompts of 16 and 128 tokens (the minimum of several), one token
while the cache grows from 32 to 600 (medians of its first and last 32 tokens, and the mean of all; `--until 2000`: to
2,000), and the largest resident memory. `--beams N`: calls have N beams, which each token draws again. Times are
processor time of one thread, with `--threads` above 1 by the clock; `clock` is the mean of all tokens by the clock.
Ratios are those to the first of `--sides`; below 1, the other needs less. OpenVINO computes in f32 and does not
quantize activations; with `--sides quantized fast` it quantizes them.
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
PROMPTS = (16, 128)
# The lengths of the cache before the first token that is measured, and after the last one.
CACHE = (32, 600)
COLUMNS = ("16", "128", "token at 32", "at the end", "mean", "clock")
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
        names = ("input_ids", "attention_mask", "position_ids")
        ids, mask, positions = (ops.parameter([-1, -1], np.int64, name=name) for name in names)
        self.beams = ops.parameter([-1], np.int32, name="beam_idx")
        self.batch = self.extent(ids, 0)
        allowed = self.allowed(ids, mask)
        rotation = self.rotation(positions)
        table = self.weights(self.words, self.hidden, is_outer=True)
        x = ops.gather(table, ids, np.array(0, np.int64))
        sinks: list[Any] = []
        for layer in range(self.layers):
            x = ops.add(x, self.attention(self.normalized(x), allowed, rotation, layer, sinks))
            x = ops.add(x, self.feed_forward(self.normalized(x)))
        logits = self.product(self.normalized(x), self.words, self.hidden, is_outer=True)
        inputs = [ids, mask, positions, self.beams]
        return self.irexec.Model([logits], inputs, f"decoder_{self.format}", sinks=sinks)

    def extent(self, x: Any, axis: int) -> Any:
        """Return an extent as a tensor of one element."""
        ops, np = self.ops, self.np
        return ops.gather(ops.shape_of(x, "i64"), np.array([axis], np.int64), np.array(0, np.int64))

    def allowed(self, ids: Any, mask: Any) -> Any:
        """Return the mask [batch, 1, tokens, cache]: keys that are not later than the query and not padding."""
        ops, np = self.ops, self.np
        total, one = ops.squeeze(self.extent(mask, 1)), np.array(1, np.int64)
        before = ops.subtract(total, ops.squeeze(self.extent(ids, 1)))
        keys = ops.range(np.array(0, np.int64), total, one, "i64")
        queries = ops.unsqueeze(ops.range(before, total, one, "i64"), np.array([1], np.int64))
        is_text = ops.unsqueeze(ops.convert(mask, "boolean"), np.array([1, 2], np.int64))
        is_allowed = ops.logical_and(ops.less_equal(keys, queries), is_text)
        return ops.select(is_allowed, np.float32(0), np.float32(-65504))

    def rotation(self, positions: Any) -> tuple[Any, Any]:
        ops, np = self.ops, self.np
        steps = (10000.0 ** (-np.arange(0, HEAD, 2, dtype=np.float32) / HEAD)).astype(np.float32)
        angles = ops.multiply(ops.convert(ops.unsqueeze(positions, np.array([1, 3], np.int64)), "f32"), steps)
        angles = ops.concat([angles, angles], -1)
        return ops.cos(angles), ops.sin(angles)

    def rotated(self, x: Any, rotation: tuple[Any, Any]) -> Any:
        ops, np = self.ops, self.np
        last, one, half = np.array([3], np.int64), np.array([1], np.int64), np.array([HEAD // 2], np.int64)
        first = ops.slice(x, np.array([0], np.int64), half, one, last)
        second = ops.slice(x, half, np.array([2**63 - 1], np.int64), one, last)
        turned = ops.concat([ops.multiply(second, np.float32(-1)), first], -1)
        return ops.add(ops.multiply(x, rotation[0]), ops.multiply(turned, rotation[1]))

    def cached(self, x: Any, name: str, sinks: list[Any]) -> Any:
        """Return the keys or values of all calls, those of this call last."""
        ops, np = self.ops, self.np
        heads = self.hidden // HEAD
        shape = ops.concat([self.batch, np.array([heads, 0, HEAD], np.int64)], 0)
        past = ops.read_value(ops.broadcast(np.float32(0), shape), name, "f32", [-1, heads, -1, HEAD])
        whole = ops.concat([ops.gather(past, self.beams, np.array(0, np.int64)), x], 2)
        sinks.append(ops.assign(whole, name))
        return whole

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

    def attention(self, x: Any, allowed: Any, rotation: tuple[Any, Any], layer: int, sinks: list[Any]) -> Any:
        ops, np = self.ops, self.np
        order = np.array([0, 2, 1, 3], np.int64)
        heads = np.array([0, 0, self.hidden // HEAD, HEAD], np.int64)
        query, key, value = (
            ops.transpose(ops.reshape(self.product(x, self.hidden, self.hidden), heads, special_zero=True), order)
            for _ in range(3)
        )
        keys = self.cached(self.rotated(key, rotation), f"past_key_values.{layer}.keypresent.{layer}.key", sinks)
        values = self.cached(value, f"past_key_values.{layer}.valuepresent.{layer}.value", sinks)
        mixed = ops.scaled_dot_product_attention(self.rotated(query, rotation), keys, values, allowed, causal=False)
        joined = np.array([0, 0, self.hidden], np.int64)
        return self.product(ops.reshape(ops.transpose(mixed, order), joined, special_zero=True), *[self.hidden] * 2)

    def feed_forward(self, x: Any) -> Any:
        gate = self.ops.swish(self.product(x, self.inner, self.hidden))
        return self.product(self.ops.multiply(gate, self.product(x, self.inner, self.hidden)), self.hidden, self.inner)


def measured(side: str, path: str, threads: int, calls: int, batch: int, end: int) -> None:
    """Print, in this new process, the times of `COLUMNS` and the largest resident memory."""
    import numpy as np

    request: Any
    if side in ("openvino", "quantized"):
        import openvino

        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1}
        settings["KV_CACHE_PRECISION"] = "f32"
        if side == "openvino":
            settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = "0"
        request = openvino.Core().compile_model(path, "CPU", settings).create_infer_request()
    else:
        import irexec

        hint = {"EXECUTION_MODE_HINT": "PERFORMANCE"} if side == "fast" and calls else {}
        request = irexec.compile_model(path, config=hint).create_infer_request()

    def infer(cache: int, tokens: int) -> tuple[float, float]:
        """Run on some tokens after those in the cache; return the processor time and the time by the clock, in ms."""
        positions = np.tile(np.arange(cache, cache + tokens), (batch, 1))
        inputs = {"input_ids": positions * 7 % 1000, "attention_mask": np.ones((batch, cache + tokens), np.int64)}
        beams = np.sort(np.random.default_rng(cache).integers(0, batch, batch)) if cache else np.arange(batch)
        inputs |= {"position_ids": positions, "beam_idx": beams.astype(np.int32)}
        began = time.process_time(), time.perf_counter()
        request.infer(inputs)
        return (time.process_time() - began[0]) * 1e3, (time.perf_counter() - began[1]) * 1e3

    infer(0, 1)
    print("first", flush=True)
    clock = 0 if threads == 1 else 1
    times = []
    for tokens in PROMPTS if calls else ():
        found = []
        for _ in range(5 + calls // 4):
            request.reset_state()
            found.append(infer(0, tokens)[clock])
        times.append(min(found[5:]))
    if calls:
        request.reset_state()
        infer(0, CACHE[0])
        steps = np.array([infer(cache, 1) for cache in range(CACHE[0], end)])
        ends = np.median(steps[:32, clock]), np.median(steps[-32:, clock])
        times += [float(each) for each in (*ends, *steps.mean(axis=0))]
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    print(json.dumps(dict(zip(COLUMNS, times, strict=False)) | {"peak": peak}), flush=True)


def run(side: str, path: Path, args: argparse.Namespace, calls: int) -> dict[str, float]:
    """Return the measurements of a new process: `first` in ms (elapsed), `COLUMNS`, and `peak` in MB."""
    unset = {key: value for key, value in os.environ.items() if not key.startswith("OPENBLAS_")}
    environment = {**unset, **SIDES[side], "IREXEC_NUM_THREADS": str(args.threads)}
    options = {"threads": args.threads, "calls": calls, "beams": args.beams, "until": args.until}
    command = [sys.executable, __file__, "--measure", side, str(path)]
    command += [word for name, value in options.items() for word in (f"--{name}", str(value))]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        assert child.stdout is not None
        child.stdout.readline()
        first = time.perf_counter() - begin
        found = json.loads(child.stdout.readline())
    return {"first": first * 1e3, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, choices=sorted(SIZES), default=60)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=["f16", "int8", "int4"])
    parser.add_argument("--sides", nargs="+", choices=sorted(SIDES), default=["openvino", "fast", "numpy"])
    parser.add_argument("--group", type=int, default=128)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--until", type=int, default=CACHE[1], help="the length of the cache after the last token")
    parser.add_argument("--rounds", type=int, default=3, help="of the first result")
    parser.add_argument("--folder", type=Path, help="where the models are kept")
    parser.add_argument("--measure", nargs=2, metavar=("SIDE", "MODEL"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measured(*args.measure, args.threads, args.calls, args.beams, args.until)
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
    times = COLUMNS if args.calls else ()
    print(f"{'':10}" + "".join(f"{title:>16}" for title in ("first, ms", *times, "peak, MB")))
    reference: dict[str, float] = {}
    for side in args.sides:
        found = run(side, path, args, args.calls)
        firsts = [run(side, path, args, 0)["first"] for _ in range(args.rounds)]
        found["first"] = min(firsts, default=found["first"])
        cells = []
        for key in ("first", *times, "peak"):
            ratio = f" ({found[key] / reference[key]:.2f})" if reference else ""
            cells.append(f"{found[key]:.1f}{ratio}".rjust(16))
        print(f"{side:10}" + "".join(cells), flush=True)
        reference = reference or found


if __name__ == "__main__":
    main()
