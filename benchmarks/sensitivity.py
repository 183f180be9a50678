"""Corrupted quantizers, found by `irexec.sensitivity`: `python benchmarks/sensitivity.py [FOLDER ...] [options]`.

Without a folder the ten small networks of tests/lib/support/spoilt.py are quantized; a folder contains model.xml and
io.npz (reexports.py writes such folders), and NNCF quantizes the model to int8. One quantizer is corrupted, `--count`
times in different ways: its range is too small or too large, its results are shifted or scaled, it has few levels, its
weights are clipped, shifted, or have one scale for all channels. irexec then ranks the quantizers by their effect.
Prints the rank of the corrupted quantizer, the suggested layers with the share of the loss that excluding them
recovers, and the seconds. Corruptions without an effect (less than 3 dB) are counted separately.

`--nncf`: compare with NNCF's accuracy control on the int8 model that it creates (without a folder, of the ten
networks); the target of both is to recover 90 % of the loss. Prints inferences, seconds and the excluded layers.
`--large`: a chain of 5,000 layers and a chain of 300 million weights, compared with the time and memory of running
both models, each in its own process.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "tests" / "lib")]

import numpy as np  # noqa: E402
from support import spoilt  # noqa: E402

import irexec  # noqa: E402
from irexec import opset15 as ops  # noqa: E402

SAMPLES = 8
# The loss in dB from which a spoilt quantizer has an effect on the results.
EFFECT = 3.0


def inputs_of(folder: Path) -> list[np.ndarray]:
    with np.load(folder / "io.npz") as arrays:
        return [arrays[f"in{index}"] for index in range(len(arrays.files))]


def varied(arrays: list[np.ndarray], seed: int) -> list[np.ndarray]:
    """Return other inputs that are similar to these."""
    rng = np.random.default_rng(seed)
    return [
        rng.permutation(a.reshape(-1)).reshape(a.shape)
        if a.dtype.kind in "iu"
        else (a + rng.normal(0, 0.1, a.shape)).astype(a.dtype)
        for a in arrays
    ]


def samples_of(folder: Path) -> list[list[np.ndarray]]:
    given = inputs_of(folder)
    return [given, *(varied(given, seed) for seed in range(1, SAMPLES))]


def quantized(folder: Path, samples: list[list[np.ndarray]]) -> Path:
    """Return the model in int8, as NNCF writes it."""
    import nncf
    import openvino as ov

    path = folder / "int8" / "model.xml"
    if not path.is_file():
        made = ov.Core().read_model(folder / "model.xml")
        made.reshape({port: list(array.shape) for port, array in zip(made.inputs, samples[0], strict=True)})
        path.parent.mkdir(exist_ok=True)
        ov.save_model(nncf.quantize(made, dataset(samples), subset_size=SAMPLES), path, compress_to_fp16=False)
    return path


def dataset(samples: list[list[np.ndarray]]) -> Any:
    import nncf

    return nncf.Dataset([s[0] if len(s) == 1 else s for s in samples])


def spoil(model: Any, rng: np.random.Generator) -> tuple[str, str]:
    """Spoil one quantizer; return the kind of damage and the quantizer's name."""
    weights = [n for n in spoilt.weight_quantizers(model) if n.type == "Multiply"]
    if rng.random() < 0.35 and weights:
        kinds, nodes = spoilt.WEIGHTS, weights
    else:
        kinds, nodes = spoilt.ACTIVATIONS, spoilt.activation_quantizers(model)
    kind, node = kinds[rng.integers(len(kinds))], nodes[rng.integers(len(nodes))]
    kind(node)
    return kind.__name__, node.friendly_name


def pairs(folders: list[Path], count: int) -> Iterator[tuple[str, Any, Any, list[Any], tuple[str, str]]]:
    """Yield name, float model, spoilt model, inputs, and the spoilt quantizer."""
    for number, name in enumerate([] if folders else spoilt.NETWORKS):
        model = spoilt.NETWORKS[name]()
        given = spoilt.samples(model)
        for seed in range(count):
            other = spoilt.quantized(model, given)
            yield name, model, other, given, spoil(other, np.random.default_rng([number, seed]))
    for number, folder in enumerate(folders):
        samples = samples_of(folder)
        path = quantized(folder, samples)
        for seed in range(count):
            other = irexec.read_model(path)
            done = spoil(other, np.random.default_rng([number, seed]))
            yield folder.name, irexec.read_model(folder / "model.xml"), other, samples[:2], done


def examined(folders: list[Path], count: int) -> Iterator[str]:
    healthy: dict[str, float] = {}
    first = scopes = effective = total = 0
    for name, model, other, given, (how, quantizer) in pairs(folders, count):
        if name not in healthy:
            own = spoilt.quantized(model, given) if not folders else irexec.read_model(quantized_of(folders, name))
            healthy[name] = irexec.sensitivity(model, own, given).coarse.snr
        begin = time.perf_counter()
        found = irexec.sensitivity(model, other, given)
        seconds = time.perf_counter() - begin
        rank = [row.name for row in found.rows].index(quantizer) + 1
        layers = [n for n in model.get_ops() if n.type not in ("Const", "Constant", "Parameter", "Result")]
        lost = healthy[name] - found.coarse.snr
        total += 1
        if lost >= EFFECT:
            few = len(found.layers) <= max(len(found.rows[0].layers), 0.05 * len(layers))
            effective, first, scopes = effective + 1, first + (rank == 1), scopes + few
        yield (
            f"{name}: {how} at {quantizer}: {lost:.1f} dB lost; rank {rank} of {len(found.rows)}; "
            f"{len(found.layers)} of {len(layers)} layers recover {100 * found.recovered:.1f} %; {seconds:.1f} s"
        )
    yield (
        f"{effective} of {total} with an effect: {first} named first; {scopes} scopes are at most 5 % of the layers, "
        "or the layers that read the spoilt quantizer"
    )


def quantized_of(folders: list[Path], name: str) -> Path:
    return next(folder for folder in folders if folder.name == name) / "int8" / "model.xml"


def written(place: Path) -> Iterator[Path]:
    """Yield the folders of the small networks, each with inputs."""
    for name, build in spoilt.NETWORKS.items():
        folder, model = place / name, build()
        folder.mkdir()
        irexec.save_model(model, folder / "model.xml", compress_to_fp16=False)
        given = spoilt.samples(model)[0]
        arrays = [given] if isinstance(given, np.ndarray) else [*given]
        np.savez(folder / "io.npz", **{f"in{index}": array for index, array in enumerate(arrays)})
        yield folder


def controlled(folder: Path) -> Iterator[str]:
    """Yield lines about NNCF's accuracy control of the model, and irexec's analysis for the same target."""
    import nncf
    import openvino as ov

    samples = samples_of(folder)
    path, some = quantized(folder, samples), samples[:2]
    begin = time.perf_counter()
    found = irexec.sensitivity(folder / "model.xml", path, some)
    seconds = time.perf_counter() - begin
    yield f"irexec: {found.inferences:.0f} inferences, {seconds:.1f} s, {len(found.layers)} layers excluded, "
    yield f"SNR {found.coarse.snr:.1f} -> {found.score.snr if found.score else 0:.1f} dB\n"
    made = ov.Core().read_model(folder / "model.xml")
    made.reshape({port: list(array.shape) for port, array in zip(made.inputs, samples[0], strict=True)})
    right = [ov.compile_model(made, "CPU")(sample)[0] for sample in some]
    count, infer = 0, ov.InferRequest.infer

    def counted(*args: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        return infer(*args, **options)

    def validate(model: Any, data: Any) -> tuple[float, None]:
        pairs = [(model(sample)[0], expected) for sample, expected in zip(data, right, strict=False)]
        noise = sum(float(np.square(mine - expected).sum()) for mine, expected in pairs)
        return 1 - noise / sum(float(np.square(expected).sum()) for _, expected in pairs), None

    begin, ov.InferRequest.infer = time.perf_counter(), counted
    try:
        result = nncf.quantize_with_accuracy_control(
            made,
            dataset(samples),
            dataset(some),
            validate,
            max_drop=0.1 * found.coarse.noise,
            subset_size=SAMPLES,
        )
    finally:
        ov.InferRequest.infer = infer
    seconds = time.perf_counter() - begin
    kept = sum(op.get_type_name() == "FakeQuantize" for op in result.get_ops())
    all_of = sum(op.get_type_name() == "FakeQuantize" for op in ov.Core().read_model(path).get_ops())
    noise = 1 - validate(ov.compile_model(result, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}), [*some])[0]
    yield f"NNCF accuracy control: {count} inferences, {seconds:.1f} s, "
    yield f"{all_of - kept} of {all_of} FakeQuantize removed, "
    yield f"SNR {-10 * np.log10(max(noise, 1e-30)):.1f} dB"


def chain(count: int, width: int, quantize: bool) -> Any:
    x = ops.parameter([4, width], "f32", name="x")
    rng, value = np.random.default_rng(0), x
    low, high = (np.array(v, np.float32) for v in (-4, 4))
    shared = rng.normal(0, width**-0.5, (width, width)).astype(np.float32) if count > 100 else None
    for number in range(count // 5 if count > 100 else count):
        weights = shared if shared is not None else rng.normal(0, width**-0.5, (width, width)).astype(np.float32)
        if quantize:
            value = ops.fake_quantize(value, low, high, low, high, 256, name=f"quantizer{number}")
        value = ops.matmul(value, weights, False, False, name=f"product{number}")
        for k in range(3):
            value = ops.tanh(ops.multiply(value, np.float32(1.5))) if k == 0 else value
    return irexec.Model([value], [x], "chain")


def large(count: int, width: int) -> None:
    """Print the costs of the analysis of a chain, and of running both models."""
    right, other = chain(count, width, False), chain(count, width, True)
    given = [np.random.default_rng(1).normal(0, 1, (4, width)).astype(np.float32)]
    begin = time.process_time()
    for model in (right, other):
        irexec.compile_model(model)(given)
    both, peak = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    begin = time.process_time()
    found = irexec.sensitivity(right, other, [given])
    seconds, after = time.process_time() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    computing = [n for n in other.get_ops() if n.type not in ("Const", "Constant", "Parameter", "Result")]
    print(f"{len(computing)} layers of width {width}, {len(found.rows)} quantizers: ", end="")
    print(
        f"{seconds:.1f} s of processor time, {found.inferences:.0f} inferences; running both once {both:.1f} s; ",
        end="",
    )
    print(f"{after:.0f} MB, running both {peak:.0f} MB", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=3, help="spoilt quantizers of each model")
    parser.add_argument("--nncf", action="store_true")
    parser.add_argument("--large", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.WARNING)
    if args.large:
        for sizes in ((5000, 16), (18, 4096)):
            alone = multiprocessing.get_context("spawn").Process(target=large, args=sizes)
            alone.start()
            alone.join()
        return 0
    if args.nncf:
        with tempfile.TemporaryDirectory() as temporary:
            for folder in args.folders or written(Path(temporary)):
                print(f"{folder.name}: {''.join(controlled(folder))}", flush=True)
    for line in () if args.nncf else examined(args.folders, args.count):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
