"""The time that the engine adds to each layer, measured with long chains of layers that compute nothing.

Run it with `python benchmarks/dispatch.py [--layers 1000] [--runs 50]`. It prints microseconds per layer, including the
call of the kernel and the check of its result. The goal is at most 3.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Annotated

import numpy as np

import irexec
from irexec import Model, Node
from irexec.core.types import F32, Array, PartialShape, TensorType
from irexec.ops.rules.shapes import same_as
from irexec.ops.spec.operator import Check, Elements, Operator, operator
from irexec.runtime.engine import CompiledModel

Float = Annotated[Array, Elements("T", {F32})]
GOAL = 3.0


@operator("Nothing", "bench", shapes=same_as())
def nothing(x: Float, /) -> Float:
    """Return the input."""
    return x


@operator("Nothings", "bench")
def nothings(x: Float, /) -> tuple[Float, Float]:
    """Return the input twice."""
    return x, x


@nothings.shapes
def _(check: Check, x: TensorType) -> list[PartialShape]:
    return [x.shape, x.shape]


@operator("Hidden", "bench")
def hidden(x: Float, /) -> Float:
    """Return the input; the shape rule only knows that the result has one axis."""
    return x


@hidden.shapes
def _(check: Check, x: TensorType) -> PartialShape:
    return PartialShape([-1])


def chain(op: Operator, layers: int) -> CompiledModel:
    """Return a model of this number of layers in a row, compiled."""
    parameter = irexec.opset1.parameter([8], np.float32)
    value = parameter.outputs[0]
    for number in range(layers):
        node = Node(op, [value], name=f"n{number}")
        node.set_outputs(op.infer([value.type], {}))
        value = node.outputs[0]
    return irexec.compile_model(Model([value], [parameter]))


def median(call: Callable[[], object], runs: int) -> float:
    """Return the median time of a call, in microseconds."""
    times = []
    for _ in range(runs):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def per_layer(op: Operator, layers: int, runs: int) -> float:
    """Return the microseconds that each additional layer takes."""
    x = np.ones(8, np.float32)
    long, short = chain(op, layers), chain(op, 1)
    for compiled in (long, short):
        compiled([x])
    return (median(lambda: long([x]), runs) - median(lambda: short([x]), runs)) / (layers - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=50)
    args = parser.parse_args()
    print(f"microseconds per layer, {args.layers} layers, goal {GOAL}")
    for what, op in {"static shape": nothing, "two outputs": nothings, "shape known when running": hidden}.items():
        print(f"  {what:<26} {per_layer(op, args.layers, args.runs):6.2f}")


if __name__ == "__main__":
    main()
