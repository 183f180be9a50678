"""Bundles that reproduce failures elsewhere: `python benchmarks/bundles.py PYTHON [--count N]`.

PYTHON is an interpreter with openvino and numpy, and without irexec. Models whose results differ from irexec's in some
bits because of one operator are reduced, packed by `irexec bundle`, and unpacked in another folder, where their
repro.py is run. Prints the output of each script, which should be `reproduced`.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import irexec
from irexec import Node
from irexec import opset15 as ops
from irexec.cli.main import main as command

RNG = np.random.default_rng(0)
SQUARE, KERNEL = RNG.normal(0, 1, (8, 8)).astype(np.float32), RNG.normal(0, 1, (3, 3, 3, 3)).astype(np.float32)
GATES = RNG.normal(0, 1, (24, 8)).astype(np.float32)
ROWS = RNG.normal(0, 1, (8,)).astype(np.float32)
AXIS = np.array([1])
UNARY = ("exp", "tanh", "sigmoid", "erf", "gelu", "swish", "softplus", "mish", "hswish", "elu", "sin", "cos", "atan")
UNARY += ("asinh", "sinh", "cosh", "softsign", "selu", "hsigmoid", "tan")


def image(x: Node) -> Node:
    return ops.reshape(x, np.array([1, 1, 8, 8]), False)


def flat(x: Node) -> Node:
    return ops.reshape(x, np.array([8, -1]), False)


MORE: dict[str, Callable[[Node], Node]] = {
    "matmul": lambda x: ops.matmul(x, SQUARE, False, False),
    "softmax": lambda x: ops.softmax(x, 1),
    "mvn": lambda x: ops.mvn(x, AXIS, True, 1e-5, "inside_sqrt"),
    "reduce_mean": lambda x: ops.reduce_mean(x, AXIS, True),
    "reduce_sum": lambda x: ops.reduce_sum(x, AXIS, True),
    "reduce_l2": lambda x: ops.reduce_l2(x, AXIS, True),
    "multiply": lambda x: ops.multiply(x, ROWS),
    "add": lambda x: ops.add(x, ROWS),
    "divide": lambda x: ops.divide(x, ROWS),
    "power": lambda x: ops.power(ops.abs(x), np.float32(1.7)),
    "prelu": lambda x: ops.prelu(x, ROWS),
    "cum_sum": lambda x: ops.cum_sum(x, np.array(1)),
    "log_softmax": lambda x: ops.log_softmax(x, 1),
    "normalize_l2": lambda x: ops.normalize_l2(x, AXIS, 1e-6, "add"),
    "squared_difference": lambda x: ops.squared_difference(x, ROWS),
    "acos": lambda x: ops.acos(ops.clamp(x, -0.9, 0.9)),
    "log": lambda x: ops.log(ops.add(ops.abs(x), np.float32(0.1))),
    "gelu_tanh": lambda x: ops.gelu(x, "tanh"),
    "convolution": lambda x: flat(ops.convolution(image(x), KERNEL[:1, :1], [1, 1], [1, 1], [1, 1], [1, 1])),
    "lrn": lambda x: flat(ops.lrn(image(x), AXIS + 1, 0.1, 0.75, 1.0, 3)),
    "interpolate": lambda x: flat(ops.interpolate(image(x), np.array([8, 9]), "cubic", "sizes", axes=np.array([2, 3]))),
    "attention": lambda x: flat(ops.scaled_dot_product_attention(image(x), image(x), image(x))),
    "gru_cell": lambda x: ops.gru_cell(x, ops.tanh(x), GATES, GATES, GATES[:, 0], 8),
}


def made(name: str) -> Node:
    if name not in MORE:
        return getattr(ops, name)(X, 1.0) if name == "elu" else selu() if name == "selu" else getattr(ops, name)(X)
    return MORE[name](X)


def selu() -> Node:
    return ops.selu(X, np.float32(1.67), np.float32(1.05))


X = ops.parameter([8, 8], "f32", name="x")


def reproduced(name: str, python: str, folder: Path) -> str:
    """Return the output of the script in the bundle of one failure, run in another folder."""
    middle = ops.relu(ops.add(ops.multiply(made(name), np.float32(1.5)), np.float32(0.25)), name="last")
    irexec.save_model(irexec.Model([middle], [X], name), folder / "model.xml")
    np.savez(folder / "in.npz", x=RNG.normal(0, 2, (8, 8)).astype(np.float32))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as errors:
        words = ["reduce", str(folder / "model.xml"), "--with", "openvino", "--config", "INFERENCE_PRECISION_HINT=f32"]
        words += ["--rtol", "1e-9"]
        words += ["--input", str(folder / "in.npz"), "-o", str(folder / "repro.xml")]
        if command(words) == 2 or command(["bundle", str(folder / "repro.xml")]) != 0:
            return f"not reduced: {errors.getvalue().strip()[:150]}"
    place = folder / "elsewhere"
    with zipfile.ZipFile(folder / "repro.zip") as archive:
        archive.extractall(place)
    script = next(path for path in place.rglob("*.py"))
    left = irexec.read_model(next(place.rglob("*.xml"))).get_ops()
    done = subprocess.run([python, "-I", script.name], cwd=script.parent, capture_output=True, text=True)
    types = " ".join(n.type for n in left if n.type not in ("Parameter", "Result", "Const"))
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return f"exit code {done.returncode}: {types}: {said[-1][:120] if said else ''}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python")
    parser.add_argument("--count", type=int, default=43)
    args = parser.parse_args()
    told: Counter[str] = Counter()
    for name in (*UNARY, *MORE)[: args.count]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = reproduced(name, args.python, Path(folder))
            except Exception as error:
                said = f"error: {type(error).__name__}: {error}"
        told[said.partition(":")[0]] += 1
        print(f"{name}: {said}", flush=True)
    print(", ".join(f"{count} {text}" for text, count in told.items()))
    return 0 if set(told) == {"exit code 1"} else 1


if __name__ == "__main__":
    raise SystemExit(main())
