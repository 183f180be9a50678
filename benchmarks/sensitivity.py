"""Spoilt quantisers, found by `irexec.sensitivity`: `python benchmarks/sensitivity.py FOLDER ... [--nncf] [--large]`.

Each folder holds model.xml and io.npz (reexports.py writes such folders). NNCF quantises the model to int8, one
quantiser is spoilt (its range ten times too small, or 150 times too large), and irexec is asked which quantisers cost
the accuracy. Prints the rank of the spoilt one, the share of the loss that the suggested scope recovers, its share of
the layers, and seconds. `--nncf`: what NNCF's accuracy control does for the same model, in inferences and seconds.
`--large`: a chain of 5,000 layers and one of 300 million weights instead, beside the time and memory of running both
models.
"""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import irexec
from irexec import opset15 as ops
from irexec.graph.order import ordered

SAMPLES = 8


def inputs_of(folder: Path) -> list[np.ndarray]:
    with np.load(folder / "io.npz") as arrays:
        return [arrays[f"in{index}"] for index in range(len(arrays.files))]


def varied(arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """Other inputs like these."""
    rng = np.random.default_rng(seed)
    return [
        rng.permutation(a.reshape(-1)).reshape(a.shape) if a.dtype.kind in "iu" else a + rng.normal(0, 0.1, a.shape)
        for a in arrays
    ]


def quantised(folder: Path) -> tuple[Path, list[list[np.ndarray]]]:
    """The model in int8, as NNCF writes it, and inputs."""
    import nncf
    import openvino as ov

    given = inputs_of(folder)
    samples = [
        given,
        *([a.astype(b.dtype) for a, b in zip(varied(given, k), given, strict=True)] for k in range(1, SAMPLES)),
    ]
    path = folder / "int8" / "model.xml"
    if not path.is_file():
        made = ov.Core().read_model(folder / "model.xml")
        made.reshape({port: list(array.shape) for port, array in zip(made.inputs, given, strict=True)})
        quantized = nncf.quantize(
            made, nncf.Dataset([s[0] if len(s) == 1 else s for s in samples]), subset_size=SAMPLES
        )
        path.parent.mkdir(exist_ok=True)
        ov.save_model(quantized, path, compress_to_fp16=False)
    return path, samples


def spoilt(path: Path, seed: int) -> tuple[Any, str]:
    """The quantised model with one spoilt quantiser, and its name."""
    model = irexec.read_model(path)
    nodes = [node for node in model.get_ops() if node.type == "FakeQuantize"]
    node = nodes[np.random.default_rng(seed).integers(len(nodes))]
    factor = np.float32(0.1 if seed % 2 else 150)
    for port in range(1, 5):
        array = node.inputs[port].node.constant
        node.replace_input_with(port, ops.constant(array * factor).outputs[0])
    model.nodes = ordered([*model.parameters, *model.sinks, *model.results])
    return model, node.friendly_name


def examined(folder: Path, seed: int) -> Iterator[str]:
    path, samples = quantised(folder)
    model, name = spoilt(path, seed)
    file = path.with_name(f"spoilt{seed}.xml")
    irexec.save_model(model, file)
    begin = time.perf_counter()
    found = irexec.sensitivity(folder / "model.xml", file, samples[:2])
    seconds = time.perf_counter() - begin
    rank = [row.name for row in found.rows].index(name) + 1 if name in [row.name for row in found.rows] else 0
    layers = [n for n in model.get_ops() if n.type in ("MatMul", "Convolution", "GroupConvolution")]
    told = found.to_dict()
    yield f"spoilt quantiser ranked {rank} of {len(found.rows)}; chosen {len(found.chosen)} quantisers, "
    share = 100 * len(found.layers) / max(1, len(layers))
    yield f"{len(found.layers)} layers, {share:.1f} % of {len(layers)} products; "
    yield f"recovered {told.get('recovered')}; {seconds:.1f} s"


def controlled(folder: Path) -> str:
    """What NNCF's accuracy control takes for the model."""
    import nncf
    import openvino as ov

    _, samples = quantised(folder)
    made = ov.Core().read_model(folder / "model.xml")
    right = [ov.compile_model(made)(sample)[0] for sample in samples[:2]]
    count = 0

    def validate(model: Any, data: Any) -> tuple[float, None]:
        nonlocal count
        noise = []
        for sample, expected in zip(data, right, strict=False):
            count += 1
            noise.append(float(np.abs(model(sample)[0] - expected).mean() / np.abs(expected).mean()))
        return 1 - float(np.mean(noise)), None

    data = nncf.Dataset([s[0] if len(s) == 1 else s for s in samples])
    some = nncf.Dataset([s[0] if len(s) == 1 else s for s in samples[:2]])
    begin = time.perf_counter()
    nncf.quantize_with_accuracy_control(made, data, some, validate, max_drop=0.002, subset_size=SAMPLES)
    return f"NNCF accuracy control: {count} inferences, {time.perf_counter() - begin:.1f} s"


def chain(count: int, width: int, quantise: bool) -> Any:
    x = ops.parameter([4, width], "f32", name="x")
    rng, value = np.random.default_rng(0), x
    low, high = (np.array(v, np.float32) for v in (-4, 4))
    shared = rng.normal(0, width**-0.5, (width, width)).astype(np.float32) if count > 100 else None
    for number in range(count // 5 if count > 100 else count):
        weights = shared if shared is not None else rng.normal(0, width**-0.5, (width, width)).astype(np.float32)
        if quantise:
            value = ops.fake_quantize(value, low, high, low, high, 256, name=f"quantiser{number}")
        value = ops.matmul(value, weights, False, False, name=f"product{number}")
        for k in range(3):
            value = ops.tanh(ops.multiply(value, np.float32(1.5))) if k == 0 else value
    return irexec.Model([value], [x], "chain")


def large() -> Iterator[str]:
    rng = np.random.default_rng(1)
    for count, width in ((5000, 16), (18, 4096)):
        right, other = chain(count, width, False), chain(count, width, True)
        given = [rng.normal(0, 1, (4, width)).astype(np.float32)]
        begin = time.process_time()
        for model in (right, other):
            irexec.compile_model(model)(given)
        both, peak = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        begin = time.process_time()
        found = irexec.sensitivity(right, other, [given])
        seconds, after = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        yield f"{len(other.get_ops())} layers of width {width}, {len(found.rows)} quantisers: "
        yield f"{seconds:.1f} s of processor time, running both once {both:.1f} s; "
        yield f"{after:.0f} MB, running both {peak:.0f} MB\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--nncf", action="store_true")
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    for seed, folder in enumerate(args.folders):
        try:
            print(f"{folder.name}: {''.join(examined(folder, seed))}", flush=True)
            if args.nncf:
                print(f"{folder.name}: {controlled(folder)}", flush=True)
        except Exception as error:
            print(f"{folder.name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    for text in large() if args.large else ():
        print(text, end="", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
