"""Growth of time and memory with the size of a file: read, validate, compile, first run and dispatch, with exponents.

    python benchmarks/growth.py [--layers 1000,10000,100000,200000] [--kinds chain,fan,deep,blocks,wrong,constants]
    python benchmarks/growth.py --models FOLDER ...

Each figure is the processor time of a separate process, the best of the rounds. The time grows with size^exponent from
the second size to the last; an exponent of 1 is linear growth. OpenVINO's `read_model` reads the same file in the same
round.

With `--models`, irexec and OpenVINO take turns in one process at reading (and checking) each `model.xml` in the
folders. Prints the best time of the rounds per layer of the file.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

LIMIT = 1.05
CONSTANTS = (10**4, 10**6, 10**8, 4 * 10**9)
STEPS = ("read", "validate", "compile", "first run", "dispatch")
_DEPTH = 24


# The files are written layer by layer: the largest have a hundred megabytes.


def port(number: int, dims: str = "1,4,4,4", precision: str = "FP32", names: str = "") -> str:
    extents = "".join(f"<dim>{extent}</dim>" for extent in dims.split(",")) if dims else ""
    named = f' names="{names}"' if names else ""
    return f'<port id="{number}" precision="{precision}"{named}>{extents}</port>'


def layer(number: int, type: str, data: str, inputs: int, dims: str = "1,4,4,4", given: str = "1,4,4,4") -> str:
    """Return a layer with the input ports 0 to `inputs` - 1, all of the shape `given`, and one output port."""
    taken = "".join(port(n, given) for n in range(inputs))
    made = "" if type == "Result" else f"<output>{port(inputs, dims, names=f'{type}:{number}')}</output>"
    return (
        f'<layer id="{number}" name="block/{number}/{type}" type="{type}" version="opset1">\n'
        f"{f'<data {data}/>' if data else ''}{f'<input>{taken}</input>' if taken else ''}{made}\n</layer>\n"
    )


def edge(source: int, source_port: int, target: int, target_port: int) -> str:
    start = f'from-layer="{source}" from-port="{source_port}"'
    return f'<edge {start} to-layer="{target}" to-port="{target_port}"/>\n'


PARAMETER = layer(0, "Parameter", 'shape="1,4,4,4" element_type="f32"', 0)
_CHAINED = [("ReLU", ""), ("Clamp", 'min="-6" max="6"'), ("Add", 'auto_broadcast="numpy"'), ("Sigmoid", "")]


def links(count: int, wrong: bool = False) -> tuple[str, str, tuple[int, int]]:
    """Return the layers 1 to `count` in a chain after layer 0, their edges, and the last output port."""
    layers, edges, last = [], [], (0, 0)
    for number in range(1, count + 1):
        type, data = _CHAINED[number % 4]
        inputs = 2 if type == "Add" else 1
        if wrong:
            layers.append(layer(number, type, f'{data} colour="{number}"', inputs, dims="1,4,4,5"))
        else:
            layers.append(layer(number, type, data, inputs))
        edges += [edge(*last, number, target) for target in range(inputs)]
        last = number, inputs
    return "".join(layers), "".join(edges), last


def chain(count: int, folder: Path, wrong: bool = False) -> str:
    layers, edges, last = links(count, wrong)
    return net(PARAMETER + layers + layer(count + 1, "Result", "", 1), edges + edge(*last, count + 1, 0))


def all_wrong(count: int, folder: Path) -> str:
    """Return a chain in which every layer has an unknown attribute and a wrong shape."""
    return chain(count, folder, wrong=True)


def fan(count: int, folder: Path) -> str:
    """Return `count` layers that read the same input, and one layer that reads all of them."""
    layers = [layer(number, "ReLU", "", 1) for number in range(1, count + 1)]
    layers += [layer(count + 1, "Concat", 'axis="0"', count, f"{count},4,4,4")]
    layers += [layer(count + 2, "Result", "", 1, given=f"{count},4,4,4")]
    edges = [edge(0, 0, number, 0) + edge(number, 1, count + 1, number - 1) for number in range(1, count + 1)]
    return net(PARAMETER + "".join(layers), "".join(edges) + edge(count + 1, count, count + 2, 0))


def deep(count: int, folder: Path) -> str:
    """Return nested bodies that share the layers evenly."""
    share, inner = max(1, count // _DEPTH), ""
    for _ in range(_DEPTH):
        layers, edges, last = links(share)
        if inner:
            taken = '<input external_port_id="0" internal_layer_id="0"/>'
            made = f'<output external_port_id="1" internal_layer_id="{share + 2}"/>'
            body = f"<port_map>{taken}{made}</port_map><back_edges/><body>{inner}</body></layer>"
            layers += layer(share + 1, "TensorIterator", "", 1).replace("</layer>", body)
            edges, last = edges + edge(*last, share + 1, 0), (share + 1, 1)
        layers = PARAMETER + layers + layer(share + 2, "Result", "", 1)
        inner = f"<layers>{layers}</layers><edges>{edges + edge(*last, share + 2, 0)}</edges>"
    return f'<net name="deep" version="11">{inner}</net>'


def constant(size: int, folder: Path) -> str:
    """Return a model that selects a row of a constant of this size. The file of weights is sparse."""
    rows = size // 4000
    with open(folder / "model.bin", "wb") as weights:
        weights.truncate(rows * 4000 + 12)
    text = "".join(
        [
            '<layer id="0" name="i" type="Parameter" version="opset1"><data shape="1" element_type="i32"/>',
            f"<output>{port(0, '1', 'I32')}</output></layer>",
            f'<layer id="1" name="t" type="Const" version="opset1"><data element_type="f32" shape="{rows},1000" '
            f'offset="0" size="{rows * 4000}"/><output>{port(0, f"{rows},1000")}</output></layer>',
            '<layer id="2" name="a" type="Const" version="opset1"><data element_type="i32" shape="1" '
            f'offset="{rows * 4000}" size="4"/><output>{port(0, "1", "I32")}</output></layer>',
            '<layer id="3" name="g" type="Gather" version="opset8"><data batch_dims="0"/><input>',
            f"{port(0, f'{rows},1000')}{port(1, '1', 'I32')}{port(2, '1', 'I32')}</input>",
            f"<output>{port(3, '1,1000')}</output></layer>",
            layer(4, "Result", "", 1, given="1,1000"),
        ]
    )
    return net(text, edge(1, 0, 3, 0) + edge(0, 0, 3, 1) + edge(2, 0, 3, 2) + edge(3, 3, 4, 0))


# The layers of a block of a transformer: type, opset, attributes, inputs (the block's input, an earlier layer of the
# block, or the values of a constant), and the extents of the result.
_STATES = "1,4,8"
_WEIGHTS, _BIAS = np.zeros((8, 8), np.float32), np.zeros((1, 1, 8), np.float32)
_BLOCK: list[tuple[str, int, str, list[object], str]] = [
    ("MVN", 6, 'eps="1e-05" eps_mode="inside_sqrt" normalize_variance="true"', ["x", np.int64([2])], _STATES),
    ("MatMul", 1, 'transpose_a="false" transpose_b="true"', [0, _WEIGHTS], _STATES),
    ("Add", 1, 'auto_broadcast="numpy"', [1, _BIAS], _STATES),
    ("Reshape", 1, 'special_zero="true"', [2, np.int64([0, 0, 2, 4])], "1,4,2,4"),
    ("Transpose", 1, "", [3, np.int64([0, 2, 1, 3])], "1,2,4,4"),
    ("SoftMax", 8, 'axis="-1"', [4], "1,2,4,4"),
    ("Transpose", 1, "", [5, np.int64([0, 2, 1, 3])], "1,4,2,4"),
    ("Reshape", 1, 'special_zero="true"', [6, np.int64([0, 0, 8])], _STATES),
    ("Add", 1, 'auto_broadcast="numpy"', ["x", 7], _STATES),
    ("MatMul", 1, 'transpose_a="false" transpose_b="true"', [8, _WEIGHTS], _STATES),
    ("Gelu", 7, 'approximation_mode="ERF"', [9], _STATES),
    ("MatMul", 1, 'transpose_a="false" transpose_b="true"', [10, _WEIGHTS], _STATES),
    ("Add", 1, 'auto_broadcast="numpy"', [8, 11], _STATES),
]
_PER_BLOCK = len(_BLOCK) + sum(isinstance(source, np.ndarray) for *_, sources, _ in _BLOCK for source in sources)


def blocks(count: int, folder: Path) -> str:
    """Return blocks as in exports of transformers: half of the layers are constants, each with its own bytes."""
    layers = [layer(0, "Parameter", f'shape="{_STATES}" element_type="f32"', 0, _STATES)]
    edges: list[str] = []
    weights = bytearray()
    states, number = (0, 0), 0
    for block in range(max(1, count // _PER_BLOCK)):
        made: list[tuple[tuple[int, int], str]] = []
        for type, opset, data, sources, dims in _BLOCK:
            taken = []
            for source in sources:
                if isinstance(source, np.ndarray):
                    number += 1
                    layers.append(_stored(number, source, weights))
                    taken.append(((number, 0), *_port_of(source)))
                else:
                    end, extents = (states, _STATES) if source == "x" else made[source]
                    taken.append((end, extents, "FP32"))
            number += 1
            inputs = "".join(port(n, extents, precision) for n, (_, extents, precision) in enumerate(taken))
            name = f"model.layers.{block}.{len(made)}.{type}"
            layers.append(
                f'<layer id="{number}" name="{name}" type="{type}" version="opset{opset}">\n'
                f"{f'<data {data}/>' if data else ''}<input>{inputs}</input>"
                f"<output>{port(len(taken), dims, names=name)}</output>\n</layer>\n"
            )
            edges += [edge(*end, number, n) for n, (end, *_) in enumerate(taken)]
            made.append(((number, len(taken)), dims))
        states = made[-1][0]
    layers.append(layer(number + 1, "Result", "", 1, given=_STATES))
    (folder / "model.bin").write_bytes(weights)
    return net("".join(layers), "".join(edges) + edge(*states, number + 1, 0))


def _port_of(value: np.ndarray) -> tuple[str, str]:
    return ",".join(map(str, value.shape)), "I64" if value.dtype == np.int64 else "FP32"


def _stored(number: int, value: np.ndarray, weights: bytearray) -> str:
    """Return a Const, and append its bytes to the weights."""
    dims, precision = _port_of(value)
    kind = "i64" if precision == "I64" else "f32"
    data = f'element_type="{kind}" shape="{dims}" offset="{len(weights)}" size="{value.nbytes}"'
    weights += value.tobytes()
    made = f"<output>{port(0, dims, precision)}</output>"
    return f'<layer id="{number}" name="c{number}" type="Const" version="opset1">\n<data {data}/>{made}\n</layer>\n'


def net(layers: str, edges: str) -> str:
    return f'<net name="m" version="11">\n<layers>\n{layers}</layers>\n<edges>\n{edges}</edges>\n</net>\n'


KINDS: dict[str, Callable[[int, Path], str]] = {
    "chain": chain,
    "fan": fan,
    "deep": deep,
    "blocks": blocks,
    "wrong": all_wrong,
    "constants": constant,
}


# The measurements, each in a new process.


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def measure(path: str) -> dict[str, float]:
    """Return the seconds of each step, and the bytes of memory that a model takes after it was read."""
    import irexec
    from irexec.frontends.reading import read
    from irexec.runtime.engine import CompiledModel

    irexec.validate(str(Path(path).with_name("warm.xml")))
    found: dict[str, float] = {}
    gc.collect()
    before = _resident()
    model = _timed(found, "read", lambda: read(path)).model
    gc.collect()
    found["memory"] = _resident() - before
    report = _timed(found, "validate", lambda: irexec.validate(path))
    if not report.ok or model is None:
        return found
    compiled = _timed(found, "compile", lambda: CompiledModel(model))
    inputs = [np.zeros(value.shape, value.element_type.dtype) for value in model.inputs]
    request = compiled.create_infer_request()
    _timed(found, "first run", lambda: request.infer(inputs))
    found["dispatch"] = min(_timed({}, "", lambda: request.infer(inputs), seconds=True) for _ in range(3))
    return found


def measure_openvino(path: str) -> dict[str, float]:
    import openvino

    core, found = openvino.Core(), {}
    core.read_model(str(Path(path).with_name("warm.xml")))
    before = _resident()
    model = _timed(found, "read", lambda: core.read_model(path))
    found["memory"] = _resident() - before
    del model
    return found


def _timed(found: dict[str, float], name: str, step: Callable[[], object], seconds: bool = False) -> object:
    begun = time.process_time()
    result = step()
    found[name] = time.process_time() - begun
    return found[name] if seconds else result


def measure_both(path: str, rounds: int) -> dict[str, float]:
    """Return the seconds in which each side reads a file, the best of the rounds."""
    import openvino

    from irexec.frontends.reading import read

    core, found = openvino.Core(), dict.fromkeys(("irexec", "openvino"), math.inf)
    for _ in range(rounds):
        for name, reader in (("irexec", read), ("openvino", core.read_model)):
            gc.collect()
            found[name] = min(found[name], _timed({}, "", lambda reader=reader: reader(path), seconds=True))
    return found


def in_process(which: str, path: Path, *options: str) -> dict[str, float]:
    """Return the measurements of a new process; empty if it fails, as OpenVINO does for invalid files."""
    command = [sys.executable, __file__, which, str(path), *options]
    run = subprocess.run(command, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1]) if run.returncode == 0 and run.stdout else {}


def best(path: Path, rounds: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the smallest figures of irexec and of OpenVINO, which take turns."""
    sides: tuple[dict[str, float], dict[str, float]] = {}, {}
    for _ in range(rounds):
        for side, which in zip(sides, ("--irexec", "--openvino"), strict=True):
            for name, value in in_process(which, path).items():
                side[name] = min(value, side.get(name, math.inf))
    return sides


# The tables


def table(kind: str, sizes: list[int], rounds: int) -> Iterator[str]:
    found: list[dict[str, float]] = []
    unit = "bytes" if kind == "constants" else "layers"
    yield f"\n{kind}"
    yield f"{unit:>14}" + "".join(f"{step:>11}" for step in STEPS) + f"{'memory':>11}{'OpenVINO':>11}{'ratio':>7}"
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.xml")
            Path(folder, "warm.xml").write_text(chain(8, Path(folder)))
            path.write_text(KINDS[kind](size, Path(folder)))
            own, other = best(path, rounds)
        found.append(own)
        steps = "".join(f"{own[step]:>10.4f}s" if step in own else f"{'-':>11}" for step in STEPS)
        read = f"{other['read']:>10.4f}s" if "read" in other else f"{'-':>11}"
        ratio = f"{own['validate'] / other['read']:>7.2f}" if "read" in other else f"{'-':>7}"
        yield f"{size:>14,}{steps}{own.get('memory', 0) / 1e6:>9.1f}MB{read}{ratio}"
    if kind == "constants" or len(sizes) < 3:
        return
    exponents = [_exponent(sizes[1:], [own.get(step, 0) for own in found[1:]]) for step in (*STEPS, "memory")]
    shown = "".join(f"{'-' if e is None else f'{e:.2f}' + ('!' if e > LIMIT else ''):>11}" for e in exponents)
    yield f"{'exponent':>14}{shown}"


def files(paths: list[Path], rounds: int) -> Iterator[str]:
    """Yield the table of existing models."""
    yield f"{'layers':>8}{'read':>9}{'OpenVINO':>10}{'ratio':>7}  microseconds per layer"
    ratios = []
    for path in paths:
        found, layers = in_process("--both", path, "--rounds", str(rounds)), path.read_bytes().count(b"<layer ")
        if not found or not layers:
            yield f"{layers:>8,}{'-':>9}{'-':>10}{'-':>7}  {path}"
            continue
        own, other = (1e6 * found[side] / layers for side in ("irexec", "openvino"))
        ratios.append(own / other)
        yield f"{layers:>8,}{own:>9.1f}{other:>10.1f}{own / other:>7.2f}  {path}"
    if ratios:
        yield f"{'mean':>8}{'':>19}{math.exp(sum(map(math.log, ratios)) / len(ratios)):>7.2f}  geometric"


def _exponent(sizes: list[int], values: list[float]) -> float | None:
    """Return the slope of a straight line through the logarithms."""
    if not all(value > 0 for value in values):
        return None
    xs, ys = [math.log(size) for size in sizes], [math.log(value) for value in values]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / sum((a - x) ** 2 for a in xs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", default="1000,10000,100000,200000")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--models", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--rounds", type=int, help="3; of --models 15")
    parser.add_argument("--irexec", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--openvino", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--both", metavar="FILE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.both:
        print(json.dumps(measure_both(args.both, args.rounds)))
        return
    if args.irexec or args.openvino:
        print(json.dumps(measure(args.irexec) if args.irexec else measure_openvino(args.openvino)))
        return
    if args.models:
        paths = sorted(path for folder in args.models for path in folder.rglob("model.xml"))
        for line in files(paths, args.rounds or 15):
            print(line, flush=True)
        return
    for kind in args.kinds.split(","):
        sizes = list(CONSTANTS) if kind == "constants" else [int(size) for size in args.layers.split(",")]
        for line in table(kind, sizes, args.rounds or 3):
            print(line, flush=True)


if __name__ == "__main__":
    main()
